package pricing

import "math"

// Effect tells what a coupon does to the total of a quote.
type Effect uint8

// These constants are the effects.
const (
	// Uncertain means that the quote does not tell whether the total is another without the coupon.
	// Price the cart without it to find out.
	Uncertain Effect = iota
	// Nothing means that the coupon takes nothing off, whatever the other coupons of its lane are.
	// Without it, the other coupons take off the same.
	Nothing
	// Redundant means that the total is the same without the coupon. The other coupons of its lane
	// then take off more.
	Redundant
	// Lowering means that the total is higher without the coupon.
	Lowering
)

// Effect returns what the coupon with the given index in Coupons does to the total. The effect of a
// coupon of the item lane is Uncertain if it changes what the coupons of the order lane see. In a
// quote that was read from JSON, every coupon that takes something off is Uncertain. A coupon that the
// quote does not have is Nothing.
func (q *Quote) Effect(coupon int) Effect {
	if coupon < 0 || coupon >= len(q.Coupons) {
		return Nothing
	}
	c, last := &q.Coupons[coupon], &q.Coupons[len(q.Coupons)-1]
	switch {
	case !c.gives && c.Discount == 0:
		return Nothing
	case !c.gives:
		return Uncertain
	case !c.lowers:
		return Redundant
	case c.Terms.lane == last.Terms.lane:
		return Lowering
	}
	return Uncertain
}

// effects sets the effects of coupons when no unit goes below zero. Each coupon then lowers the total
// by its amount.
func (q *Quote) effects() {
	for i := range q.Coupons {
		c := &q.Coupons[i]
		c.gives = c.Discount > 0
		c.lowers = c.gives
	}
}

// excess returns by how much the discounts of several coupons on one unit exceed the unit's cost. It is
// capped at the greatest int64.
func excess(amounts []int64, cost int64) (beyond int64) {
	for _, a := range amounts {
		part := min(a, cost)
		cost -= part
		beyond += min(a-part, math.MaxInt64-beyond)
	}
	return beyond
}

// lowering sets bit n if amount n of a unit lowers the price of the unit. An amount lowers the price
// if it is greater than beyond, the part of all amounts that exceeds the price.
func lowering(amounts []int64, beyond int64) (bits uint32) {
	for i, a := range amounts {
		if a > beyond {
			bits |= 1 << i
		}
	}
	return bits
}
