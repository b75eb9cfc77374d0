package eligibility

import (
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// cover finds the lines that each coupon covers, and checks the coupons at list prices.
func (e *evaluation) cover() {
	e.masks = slices.Grow(e.masks[:0], 2*len(e.cart.Lines)*len(e.members)) // members keep parts of masks, so it must not be reallocated
	for i := range e.members {
		c, on := e.coupon(i), &e.members[i].on
		on.measure(c, e.cart, e.mask(&c.Scope))
		if c.Discount.Type() == pricing.BuyXGetY && !c.Buys.IsZero() {
			on.bought = e.mask(&c.Buys)
		}
		e.Coupons[i].Decision.checkCart(c, on)
	}
}

// mask returns for each line whether the scope covers it.
func (e *evaluation) mask(s *coupon.Scope) []bool {
	first, end := len(e.masks), len(e.masks)+len(e.cart.Lines)
	e.masks = e.masks[:end]
	mask := e.masks[first:end:end]
	for i := range mask {
		mask[i] = s.Covers(&e.cart.Lines[i])
	}
	return mask
}

// refuseAlone decides about each coupon alone for the cart. It adds a budget reason only to a coupon that is
// already refused. It prices a coupon alone only if the price can change the decision.
func (e *evaluation) refuseAlone() error {
	e.cover()
	for i := range e.members {
		m, c, d := &e.members[i], e.coupon(i), &e.Coupons[i].Decision
		if !m.on.fits || !m.on.covered || d.Allowed() && !m.conflicts && !e.mayTakeMore(i) {
			continue
		}
		e.terms = m.on.appendTerms(e.terms[:0], c)
		if err := e.Quote.Reprice(*e.cart, e.terms...); err != nil {
			return err
		}
		discount := e.Quote.Discount
		m.alone = discount
		if d.checkTaken(c, &m.on, discount); !d.Allowed() {
			e.refuseBudget(i, discount)
		} else if e.exceeds(i, discount) {
			m.beyond = discount
		}
	}
	return nil
}

// mayTakeMore reports whether a coupon's discount may be greater with other coupons than alone. Other
// coupons can make its cheapest units free, and it then counts more expensive units.
func (e *evaluation) mayTakeMore(i int) bool {
	d := &e.coupon(i).Discount
	return len(e.members) > 1 && d.Lane() == pricing.OrderLane && d.Type() == pricing.Percentage && !d.Simple()
}

// price prices the cart with the coupons that are not refused. It refuses coupons that exceed their
// budget or have no effect.
func (e *evaluation) price() error {
	for again := true; again; {
		e.use(&e.priced, -1)
		if len(e.terms) == 0 {
			return e.listPrices()
		}
		err := e.Quote.Reprice(*e.cart, e.terms...)
		if err == nil {
			again, err = e.refuseLast()
		}
		if err != nil {
			return err
		}
	}
	for at := range e.Quote.Coupons {
		e.Coupons[e.priced[at]].Discount = e.Quote.Coupons[at].Discount
	}
	return nil
}

// use builds the terms of all usable coupons except one. The terms are in the order of the quote's
// coupons. priced gets the index of the coupon for each.
func (e *evaluation) use(priced *indexes, but int) {
	e.terms = e.terms[:0]
	for lane := pricing.ItemLane; lane <= pricing.OrderLane; lane++ {
		for i := range e.members {
			if c := e.coupon(i); i != but && c.Discount.Lane() == lane && e.Coupons[i].Decision.Allowed() {
				priced[len(e.terms)] = uint8(i)
				e.terms = e.members[i].on.appendTerms(e.terms, c)
			}
		}
	}
}

// refuseLast refuses the last coupon that exceeds its budget. If no coupon does, it refuses the last
// coupon without an effect. It continues while the cart need not be priced again. It reports whether
// the cart must be priced again.
func (e *evaluation) refuseLast() (again bool, err error) {
	if at := e.lastOverBudget(&e.Quote, &e.priced); at >= 0 {
		e.refuseBudget(int(e.priced[at]), e.Quote.Coupons[at].Discount)
		return true, nil
	}
	for at := len(e.Quote.Coupons) - 1; at >= 0; at-- {
		d := &e.Coupons[e.priced[at]].Decision
		switch effect := e.Quote.Effect(at); {
		case effect == pricing.Nothing: // the other coupons' discounts do not change
			d.refuse(coupon.NoDiscount, nil)
			again = true
		case e.Quote.Coupons[at].Discount == 0:
			d.refuse(coupon.NoDiscount, nil)
			return true, nil
		case effect == pricing.Redundant, effect == pricing.Uncertain && e.Quote.ReachesZero():
			needless, err := e.needless(int(e.priced[at]))
			if err != nil {
				return false, err
			}
			if needless {
				d.refuse(coupon.NoDiscount, nil)
				e.Quote, *e.without = *e.without, e.Quote
				e.priced = e.pricedWithout
				again, at = false, len(e.Quote.Coupons)
			}
		}
	}
	return again, nil
}

// needless prices the cart without one coupon. It reports whether the total stays the same and no
// budget is exceeded.
func (e *evaluation) needless(couponIndex int) (bool, error) {
	e.use(&e.pricedWithout, couponIndex)
	if e.without == nil {
		e.without = new(pricing.Quote)
	}
	if err := e.without.Reprice(*e.cart, e.terms...); err != nil {
		return false, err
	}
	return e.without.Total == e.Quote.Total && e.lastOverBudget(e.without, &e.pricedWithout) < 0, nil
}

// lastOverBudget returns the position in the quote of the last coupon that exceeds its budget, or -1.
// of has the indexes of the quote's coupons.
func (e *evaluation) lastOverBudget(q *pricing.Quote, of *indexes) int {
	for at := range slices.Backward(q.Coupons) {
		if e.exceeds(int(of[at]), q.Coupons[at].Discount) {
			return at
		}
	}
	return -1
}

// exceeds reports whether a discount is greater than the rest of the coupon's budget.
func (e *evaluation) exceeds(i int, discount int64) bool {
	c := e.candidate(i)
	return exceeds(c.Coupon, c.Usage.Spent, pricing.NewMoney(discount, e.cart.Currency))
}

// refuseBudget refuses a coupon whose discount exceeds its budget.
func (e *evaluation) refuseBudget(i int, discount int64) {
	c := e.candidate(i)
	e.Coupons[i].Decision.checkBudget(c.Coupon, c.Usage.Spent, pricing.NewMoney(discount, e.cart.Currency))
}

// listPrices prices the cart without a discount. A line is eligible if a coupon covers it.
func (e *evaluation) listPrices() error {
	if len(e.members) == 0 {
		return e.Quote.Reprice(*e.cart)
	}
	union := e.members[0].on.eligible
	for i := range e.members[1:] {
		for at, covered := range e.members[i+1].on.eligible {
			union[at] = union[at] || covered
		}
	}
	return e.Quote.Reprice(*e.cart, pricing.Terms{Eligible: union})
}
