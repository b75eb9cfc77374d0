package couponkit

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// A customer who checks out again hands the uses of an open order over to a new order, where
// they would be in their own way otherwise (contract section 5.3). There are three steps:
//
//  1. One transaction of the store stores the new order and cancels the old one. If it fails,
//     the old order stays as it was.
//  2. The session of the old order is ended. If the customer has finished it, the old order
//     takes its claims back, and the new order is cancelled.
//  3. The session of the new order is opened. If the processor refuses it, the new order keeps
//     the claims until its deadline, and the customer can hand them over again.
//
// A repeated key does what is left of these steps. The sweep does step 2 for an order that
// nobody has come back for.

// maxCandidates is how many of a customer's open orders may be replaced, the newest of them.
const maxCandidates = store.MaxHeld

// A handOver is what a new order takes over from its customer. The zero value is nothing.
type handOver struct {
	replaced store.Settled             // the open order that the new order replaces
	points   map[string]redemption.Use // the use that was bought with points, by coupon ID
}

// held is how much the customer hands over of each counter.
func (h handOver) held() map[string]eligibility.Count {
	held := redemption.Holdings(h.replaced.Order, h.replaced.Uses...)
	for _, u := range h.points {
		if u.OrderID != "" {
			continue // a use of the replaced order
		}
		for counter, count := range redemption.Holdings(redemption.Order{}, u) {
			held[counter] = held[counter].Plus(count)
		}
	}
	return held
}

// A decision is how choose decides about the coupons of a request.
type decision struct {
	// evaluate decides about a set of coupons.
	evaluate func([]eligibility.Candidate) (eligibility.SetResult, error)
	// fingerprints are those of the orders that the same request has made.
	fingerprints []string
	// skipRefused leaves out the coupons that are refused.
	skipRefused bool
}

// choose decides about the coupons of a request and what its order takes over for them (contract
// section 5.3). Quotes, explanations and checkouts choose here, so that a quote is what a checkout
// would do.
//
// The candidates are nothing and the customer's newest open orders. The first candidate with which
// no limit refuses a coupon is chosen. Without such a candidate, it is the first of those with which
// limits refuse the fewest coupons.
func (s *Service) choose(ctx context.Context, d *decided, by decision) error {
	nothing := handOver{points: d.freePoints(coupon.PointsRedeemable)}
	if err := d.choose(nothing, by); err != nil {
		return err
	}
	reached := d.limitsReached()
	if reached.coupons == 0 {
		return nil
	}
	candidates, err := s.candidates(ctx, d, reached, by.fingerprints)
	if err != nil {
		return err
	}
	best, fewest := *d, reached.coupons
	for _, h := range candidates {
		if err := d.choose(h, by); err != nil {
			return err
		}
		if n := d.limitsReached().coupons; n < fewest {
			best, fewest = *d, n
		}
		if fewest == 0 {
			break
		}
	}
	*d = best
	if !by.skipRefused || fewest == reached.coupons || d.result.Err() == nil {
		return nil
	}
	if d.leaveOutRefused(); !d.isEmpty() {
		return s.choose(ctx, d, by) // the coupons that are left may need nothing
	}
	d.takes = nothing
	return nil
}

// candidates returns what the order can take over so that fewer coupons may be refused, in the
// order in which it is tried: the order of the same request first, then orders whose payment has not
// begun, then those whose session is known, then the oldest.
func (s *Service) candidates(ctx context.Context, d *decided, reached limitsReached, fingerprints []string) ([]handOver, error) {
	if d.customer.ID == "" {
		return nil, nil
	}
	if !d.opened {
		if _, err := s.open(ctx, d, nil); err != nil {
			return nil, err
		}
	}
	open := slices.Clone(d.open)
	rank := func(o redemption.Order) (rank int) {
		if !slices.Contains(fingerprints, o.Fingerprint) {
			rank = 3
		}
		if !o.BegunAt.IsZero() {
			rank++
			if o.SessionID == "" {
				rank++ // it may be created right now
			}
		}
		return rank
	}
	slices.SortFunc(open, func(a, b store.Settled) int {
		return cmp.Or(cmp.Compare(rank(a.Order), rank(b.Order)), a.Order.CreatedAt.Compare(b.Order.CreatedAt), cmp.Compare(a.Order.ID, b.Order.ID))
	})
	var list []handOver
	free := d.freePoints(coupon.PointsRedeemable, coupon.General, coupon.UserSpecific)
	if len(free) > len(d.takes.points) { // for a coupon that costs no points any more
		list = append(list, handOver{points: free})
	}
	for _, o := range open {
		if reached.anyOf(o) {
			list = append(list, replacing(o, free))
		}
	}
	return list, nil
}

// replacing takes over an order with its uses that were bought with points. A points reservation
// that is in no order is taken before those.
func replacing(o store.Settled, free map[string]redemption.Use) handOver {
	h := handOver{replaced: o, points: maps.Clone(free)}
	for _, u := range o.Uses {
		if _, has := h.points[u.CouponID]; !has && u.ExchangeID != "" {
			h.points[u.CouponID] = u
		}
	}
	return h
}

// limitsReached are the limits for which coupons are refused.
type limitsReached struct {
	coupons  int             // that are refused for a limit
	counters map[string]bool // of these limits
	points   map[string]bool // the coupons that cost points
}

// anyOf reports whether the order holds a part of a limit.
func (l limitsReached) anyOf(o store.Settled) bool {
	for counter := range redemption.Holdings(o.Order, o.Uses...) {
		if l.counters[counter] {
			return true
		}
	}
	return slices.ContainsFunc(o.Uses, func(u redemption.Use) bool { return u.ExchangeID != "" && l.points[u.CouponID] })
}
