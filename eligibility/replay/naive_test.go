package replay_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
)

// naive is a loop that tries every set of coupons for one cart after another, with all counters in a map.
type naive struct {
	coupons []*coupon.Coupon // that are active, by ID
	most    int
	keep    bool
	counts  map[string]int64
	last    time.Time
	report  replay.Report
	changes map[pricing.Currency][]int64
}

func newNaive(coupons []*coupon.Coupon, o replay.Options) *naive {
	n := &naive{most: cmp.Or(o.MaxCoupons, replay.DefaultMaxCoupons), keep: o.Keep, counts: map[string]int64{}, changes: map[pricing.Currency][]int64{}}
	for _, c := range coupons {
		if c.Active() {
			n.coupons = append(n.coupons, c)
		}
	}
	slices.SortFunc(n.coupons, func(a, b *coupon.Coupon) int { return cmp.Compare(a.ID, b.ID) })
	n.report.Currencies, n.report.Coupons = []replay.Sums{}, []replay.CouponSums{}
	for _, c := range n.coupons {
		s := replay.CouponSums{ID: c.ID, Code: c.Code, Name: c.Name, MaxUses: c.Limits.MaxUses, Discounts: []replay.Spent{}, Refusals: []replay.Refusal{}}
		for budget := range c.Limits.Budget.All() {
			s.Discounts = append(s.Discounts, replay.Spent{Currency: budget.Currency(), Discount: pricing.NewMoney(0, budget.Currency()), Budget: budget})
		}
		n.report.Coupons = append(n.report.Coupons, s)
	}
	return n
}

// best tries every set.
func (n *naive) best(e replay.Event, usage func(*coupon.Coupon) eligibility.Usage) (best eligibility.SetResult, used []*coupon.Coupon, err error) {
	q := eligibility.Question{At: e.At, Customer: e.Customer, Facts: e.Facts, AllowAnonymous: true}
	if best, err = eligibility.EvaluateSet(nil, e.Cart, q); err != nil {
		return best, nil, err
	}
	var try func(set []eligibility.Candidate, from int)
	try = func(set []eligibility.Candidate, from int) {
		if r, err := eligibility.EvaluateSet(set, e.Cart, q); err == nil && r.Err() == nil && len(set) > 0 {
			if d := r.Quote.Discount; d > best.Quote.Discount || d == best.Quote.Discount && d > 0 && len(set) < len(used) {
				best, used = r, nil
				for _, c := range set {
					used = append(used, c.Coupon)
				}
			}
		}
		for i := from; i < len(n.coupons) && len(set) < n.most; i++ {
			try(append(slices.Clip(set), eligibility.Candidate{Coupon: n.coupons[i], Usage: usage(n.coupons[i])}), i+1)
		}
	}
	try(nil, 0)
	return best, used, nil
}

func (n *naive) claimant(c *coupon.Coupon, e replay.Event) eligibility.Claimant {
	return eligibility.Claimant{Coupon: c, Identities: e.Customer.Identities(), At: e.At}
}

func (n *naive) add(e replay.Event) {
	if e.At.IsZero() || e.At.Before(n.last) || e.Cart.Validate() != nil {
		n.report.Refused++
		return
	}
	if n.last = e.At; n.report.Carts == 0 {
		n.report.From = e.At
	}
	n.report.Carts++
	n.report.Until = e.At
	none := func(*coupon.Coupon) eligibility.Usage { return eligibility.Usage{} }
	if slices.ContainsFunc(n.coupons, func(c *coupon.Coupon) bool { return c.Conditions.FirstOrder }) {
		defer n.take(eligibility.OrderClaims(e.Customer.Identities()))
	}
	wish, wished, _ := n.best(e, none)
	list := wish.Quote.Subtotal + wish.Quote.Shipping
	before := list
	if !e.Paid.Currency().IsZero() {
		before = e.Paid.Minor()
	}
	if n.keep && before <= list-wish.Quote.Discount {
		n.count(e, list, before, before, 0, true)
		return
	}
	got, used, _ := n.best(e, func(c *coupon.Coupon) eligibility.Usage {
		return eligibility.UsageOf(n.claimant(c, e).Limits(), func(counter string) int64 { return n.counts[counter] })
	})
	for i, c := range wished {
		if !slices.Contains(used, c) {
			n.refuse(c, e, wish.Coupons[i].Discount)
		}
	}
	if n.keep && before <= list-got.Quote.Discount {
		n.count(e, list, before, before, 0, true)
		return
	}
	for i, c := range used {
		d := pricing.NewMoney(got.Coupons[i].Discount, e.Cart.Currency)
		n.take(n.claimant(c, e).Claims())
		n.take(eligibility.BudgetClaims(c, d))
		n.use(c, e, d)
	}
	n.count(e, list, before, got.Quote.Total, got.Quote.Discount, false)
}

func (n *naive) take(claims []eligibility.Claim) {
	for _, c := range claims {
		n.counts[c.Counter] += c.Amount
	}
}

func (n *naive) of(c *coupon.Coupon) *replay.CouponSums {
	return &n.report.Coupons[slices.Index(n.coupons, c)]
}

func spent(s *replay.CouponSums, in pricing.Currency) *replay.Spent {
	at := slices.IndexFunc(s.Discounts, func(p replay.Spent) bool { return p.Currency == in })
	if at < 0 {
		at = len(s.Discounts)
		s.Discounts = append(s.Discounts, replay.Spent{Currency: in})
	}
	return &s.Discounts[at]
}

func (n *naive) use(c *coupon.Coupon, e replay.Event, d pricing.Money) {
	s := n.of(c)
	if s.Uses++; s.Uses == s.MaxUses {
		s.RanOutAt = e.At
	}
	p := spent(s, d.Currency())
	p.Discount = pricing.NewMoney(p.Discount.Minor()+d.Minor(), d.Currency())
	if !p.Budget.Currency().IsZero() && p.Discount.Minor() == p.Budget.Minor() && p.RanOutAt.IsZero() {
		p.RanOutAt = e.At
	}
}

// refuse asks the rules alone why a coupon of the best set without limits was refused.
func (n *naive) refuse(c *coupon.Coupon, e replay.Event, discount int64) {
	s := n.of(c)
	var reasons []coupon.RejectionCode
	for _, l := range n.claimant(c, e).Limits() {
		if l.Reason == coupon.BudgetExhausted {
			if l.Counter != eligibility.Budget(c.ID, e.Cart.Currency.Code()) {
				continue
			}
			l.Amount = discount
		}
		if l.Limit > 0 && n.counts[l.Counter]+l.Amount > l.Limit && !slices.Contains(reasons, l.Reason) {
			reasons = append(reasons, l.Reason)
			at := slices.IndexFunc(s.Refusals, func(r replay.Refusal) bool { return r.Reason == l.Reason })
			if at < 0 {
				at = len(s.Refusals)
				s.Refusals = append(s.Refusals, replay.Refusal{Reason: l.Reason, First: e.At})
			}
			s.Refusals[at].Carts++
			if p := spent(s, e.Cart.Currency); l.Reason == coupon.BudgetExhausted && p.RanOutAt.IsZero() {
				p.RanOutAt = e.At
			}
		}
	}
}

func (n *naive) count(e replay.Event, list, before, after, discount int64, kept bool) {
	in := e.Cart.Currency
	at := slices.IndexFunc(n.report.Currencies, func(s replay.Sums) bool { return s.Currency == in })
	if at < 0 {
		at = len(n.report.Currencies)
		none := replay.Share{Amount: pricing.NewMoney(0, in)}
		n.report.Currencies = append(n.report.Currencies, replay.Sums{Currency: in, Wins: none, Loses: none, Stays: none})
	}
	s := &n.report.Currencies[at]
	add := func(m *pricing.Money, minor int64) { *m = pricing.NewMoney(m.Minor()+minor, in) }
	s.Carts++
	if kept {
		s.Kept++
	}
	add(&s.List, list)
	add(&s.Before, before)
	add(&s.After, after)
	add(&s.Discount, discount)
	share := &s.Stays
	if after < before {
		share = &s.Wins
	} else if after > before {
		share = &s.Loses
	}
	share.Carts++
	add(&share.Amount, max(after-before, before-after))
	n.changes[in] = append(n.changes[in], after-before)
}

// result sorts the report, without its histograms.
func (n *naive) result() replay.Report {
	slices.SortFunc(n.report.Currencies, func(a, b replay.Sums) int { return cmp.Compare(a.Currency.Code(), b.Currency.Code()) })
	for i := range n.report.Coupons {
		s := &n.report.Coupons[i]
		s.Discounts = slices.DeleteFunc(s.Discounts, func(p replay.Spent) bool { return p.Budget.Currency().IsZero() && p.Discount.IsZero() })
		slices.SortFunc(s.Discounts, func(a, b replay.Spent) int { return cmp.Compare(a.Currency.Code(), b.Currency.Code()) })
		slices.SortFunc(s.Refusals, func(a, b replay.Refusal) int { return a.Reason.Rank() - b.Reason.Rank() })
	}
	return n.report
}
