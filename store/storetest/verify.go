package storetest

import (
	"cmp"
	"context"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func verifyClauses() []clause {
	return []clause{
		{"wrong counters are found", "Verify yields each number that the records do not confirm, and nothing else", wrongCounters},
	}
}

// verified adds a fault for each number that a Verifier does not confirm.
func (c *checker) verified(ctx context.Context, s store.Store) error {
	v, is := store.As[store.Verifier](s)
	if !is {
		return nil
	}
	for d, err := range v.Verify(ctx) {
		if err != nil {
			return err
		}
		c.fault("Verify tells %+v", d)
	}
	return nil
}

func wrongCounters(p *probe) {
	v, is := store.As[store.Verifier](p.s)
	if !is {
		p.stop("the store is no Verifier, though Capabilities.Miscount is given")
	}
	c := p.coupon()
	paid := p.reserve(p.checkout("ann", c))
	p.apply(redemption.Event{Kind: redemption.Paid, At: at(30), OrderID: paid.Order.ID, SessionID: "cs_paid"})
	p.reserve(p.checkout("ben", c))
	p.exchanged("cleo", p.coupon(func(c *coupon.Coupon) { c.Distribution, c.PointsRequired = coupon.PointsRedeemable, 5 }))
	p.issued(c, "spring", 3)
	same(p, p.differences(v), nil, "the differences of a store that was never changed by hand")

	uses, planted := eligibility.CouponUses(c.ID), eligibility.SharedCounter("planted", "by hand")
	p.can.Miscount(p.T, p.s, uses, eligibility.Count{Reserved: 2, Completed: -1})
	p.can.Miscount(p.T, p.s, planted, eligibility.Count{Reserved: 1})
	want := []store.Difference{
		{Counter: uses, Number: store.CompletedClaims, Counted: 0, Recounted: 1},
		{Counter: uses, Number: store.ReservedClaims, Counted: 3, Recounted: 1},
		{Counter: planted, Number: store.ReservedClaims, Counted: 1},
	}
	slices.SortFunc(want, byCounter)
	same(p, p.differences(v), want, "the differences of two counters that were changed by hand")
	for d, err := range v.Verify(p.Context()) { // a loop may end early
		p.ok(err, "Verify")
		if !slices.Contains(want, d) {
			p.stop("the first difference is %+v", d)
		}
		break
	}
	p.can.Miscount(p.T, p.s, uses, eligibility.Count{Reserved: -2, Completed: 1})
	p.can.Miscount(p.T, p.s, planted, eligibility.Count{Reserved: -1})
	same(p, p.differences(v), nil, "the differences after the counters were corrected")
	ended, end := context.WithCancel(p.Context())
	end()
	for _, err := range v.Verify(ended) {
		p.fails(err, context.Canceled, "Verify with a context that has ended")
	}
}

func byCounter(a, b store.Difference) int {
	return cmp.Or(cmp.Compare(a.Counter, b.Counter), cmp.Compare(a.Number, b.Number))
}

// differences returns what a Verifier tells, sorted.
func (p *probe) differences(v store.Verifier) (found []store.Difference) {
	p.Helper()
	for d, err := range v.Verify(p.Context()) {
		p.ok(err, "Verify")
		found = append(found, d)
	}
	slices.SortFunc(found, byCounter)
	return found
}
