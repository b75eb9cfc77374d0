package eligibility

import (
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// cover finds the lines of each coupon, and compares the coupons with the list prices.
func (r *SetResult) cover(cart *pricing.Cart) {
	r.masks = slices.Grow(r.masks[:0], 2*len(cart.Lines)*len(r.members)) // it must not move
	for i := range r.members {
		m := &r.members[i]
		m.on.measure(&m.Coupon, cart, r.mask(&m.Coupon.Scope, cart.Lines))
		if m.Coupon.Discount.Type() == pricing.BuyXGetY && !m.Coupon.Buys.IsZero() {
			m.on.bought = r.mask(&m.Coupon.Buys, cart.Lines)
		}
		r.Coupons[i].Decision.checkCart(&m.Coupon, &m.on)
	}
}

// mask tells for each line whether a scope covers it.
func (r *SetResult) mask(s *coupon.Scope, lines []pricing.Line) []bool {
	first := len(r.masks)
	r.masks = appendLines(r.masks, s, lines)
	return r.masks[first:len(r.masks):len(r.masks)]
}

// refuseAlone adds the reasons that depend on what a coupon takes off alone. A budget is a reason
// only of a coupon that is refused anyway. A coupon is priced alone only where that can matter.
func (r *SetResult) refuseAlone(cart pricing.Cart) error {
	for i := range r.members {
		m, d := &r.members[i], &r.Coupons[i].Decision
		if !m.on.fits || !m.on.covered || d.Allowed() && !m.conflicts && !r.mayTakeMore(i) {
			continue
		}
		r.terms = m.on.appendTerms(r.terms[:0], &m.Coupon)
		if err := r.Quote.Reprice(cart, r.terms...); err != nil {
			return err
		}
		discount := r.Quote.Discount
		if d.checkTaken(&m.Coupon, &m.on, discount); !d.Allowed() {
			r.refuseBudget(i, discount)
		} else if exceeds(&m.Coupon, m.Usage.Spent, pricing.NewMoney(discount, m.on.currency)) {
			m.beyond = discount
		}
	}
	return nil
}

// mayTakeMore reports whether a coupon may take more off beside other coupons than alone. The others
// can make its cheapest units free, so that it counts units that cost more.
func (r *SetResult) mayTakeMore(i int) bool {
	d := &r.members[i].Coupon.Discount
	return len(r.members) > 1 && d.Lane() == pricing.OrderLane && d.Type() == pricing.Percentage && !d.Simple()
}

// price prices the cart with the coupons that are not refused, and refuses those that exceed their
// budget or have no effect.
func (r *SetResult) price(cart pricing.Cart) error {
	for again := true; again; {
		r.use(&r.priced, -1)
		if len(r.terms) == 0 {
			return r.listPrices(cart)
		}
		err := r.Quote.Reprice(cart, r.terms...)
		if err == nil {
			again, err = r.refuseLast(cart)
		}
		if err != nil {
			return err
		}
	}
	for at := range r.Quote.Coupons {
		r.Coupons[r.priced[at]].Discount = r.Quote.Coupons[at].Amount
	}
	return nil
}

// use makes the terms of the coupons that are not refused, but for one of them. The terms have the
// order of the coupons in a quote. The indexes become those of their coupons.
func (r *SetResult) use(priced *indexes, but int) {
	r.terms = r.terms[:0]
	for lane := pricing.ItemLane; lane <= pricing.OrderLane; lane++ {
		for i := range r.members {
			m := &r.members[i]
			if i != but && m.Coupon.Discount.Lane() == lane && r.Coupons[i].Decision.Allowed() {
				priced[len(r.terms)] = uint8(i)
				r.terms = m.on.appendTerms(r.terms, &m.Coupon)
			}
		}
	}
}

// refuseLast refuses the last coupon that exceeds its budget. If no coupon does, refuseLast refuses
// the last one without an effect. It goes on as long as the quote tells what comes next, and reports
// whether the cart has to be priced again.
func (r *SetResult) refuseLast(cart pricing.Cart) (again bool, err error) {
	if at := r.lastOverBudget(&r.Quote, &r.priced); at >= 0 {
		r.refuseBudget(int(r.priced[at]), r.Quote.Coupons[at].Amount)
		return true, nil
	}
	for at := len(r.Quote.Coupons) - 1; at >= 0; at-- {
		d := &r.Coupons[r.priced[at]].Decision
		switch effect := r.Quote.Effect(at); {
		case effect == pricing.Nothing: // the other coupons take off the same
			d.refuse(coupon.NoDiscount, nil)
			again = true
		case r.Quote.Coupons[at].Amount == 0:
			d.refuse(coupon.NoDiscount, nil)
			return true, nil
		case effect == pricing.Redundant, effect == pricing.Uncertain && r.Quote.ReachesZero():
			needless, err := r.needless(cart, int(r.priced[at]))
			if err != nil {
				return false, err
			}
			if needless {
				d.refuse(coupon.NoDiscount, nil)
				r.Quote, *r.without = *r.without, r.Quote
				r.priced = r.pricedWithout
				again, at = false, len(r.Quote.Coupons)
			}
		}
	}
	return again, nil
}

// needless prices the cart without a coupon. It reports whether the total is then the same, and no
// budget is exceeded.
func (r *SetResult) needless(cart pricing.Cart, couponIndex int) (bool, error) {
	r.use(&r.pricedWithout, couponIndex)
	if r.without == nil {
		r.without = new(pricing.Quote)
	}
	if err := r.without.Reprice(cart, r.terms...); err != nil {
		return false, err
	}
	return r.without.Total == r.Quote.Total && r.lastOverBudget(r.without, &r.pricedWithout) < 0, nil
}

// lastOverBudget returns the position of the last coupon in a quote that exceeds its budget, or -1.
// The indexes are those of the quote's coupons.
func (r *SetResult) lastOverBudget(q *pricing.Quote, of *indexes) int {
	for at := range slices.Backward(q.Coupons) {
		if m := &r.members[of[at]]; exceeds(&m.Coupon, m.Usage.Spent, pricing.NewMoney(q.Coupons[at].Amount, q.Currency)) {
			return at
		}
	}
	return -1
}

// refuseBudget refuses a coupon whose discount exceeds its budget.
func (r *SetResult) refuseBudget(i int, discount int64) {
	m := &r.members[i]
	r.Coupons[i].Decision.checkBudget(&m.Coupon, m.Usage.Spent, pricing.NewMoney(discount, m.on.currency))
}

// listPrices prices the cart without a discount. A line is eligible if a coupon covers it.
func (r *SetResult) listPrices(cart pricing.Cart) error {
	if len(r.members) == 0 {
		return r.Quote.Reprice(cart)
	}
	union := r.members[0].on.eligible
	for i := range r.members[1:] {
		for at, covered := range r.members[i+1].on.eligible {
			union[at] = union[at] || covered
		}
	}
	return r.Quote.Reprice(cart, pricing.Terms{Eligible: union})
}
