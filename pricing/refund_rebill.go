package pricing

import (
	"cmp"
	"slices"
)

// lost returns the part of a coupon's discount that the remaining order no longer earns, in minor
// units. The more is returned, the greater it is; it never falls.
func (w *refundWork) lost(q *Quote, coupon int, before *Refunded) int64 {
	c := &q.Coupons[coupon]
	kept := c.Discount - w.returned[coupon]
	if c.Refund.Policy != Rebill || kept <= 0 {
		return 0
	}
	var list, units int64
	for i := range q.Lines {
		if q.covers(coupon, i) {
			if price := q.Lines[i].UnitPrice; price > 0 {
				left := w.left(q, i, before)
				list += left * price
				units += left
			}
		}
	}
	if list < c.Refund.MinPurchase || units < c.Refund.MinQuantity {
		return kept
	}
	earned := kept
	switch c.Terms.kind { //nolint:exhaustive // the other types have no threshold
	case Tiered:
		earned = w.earnedByTier(q, coupon, before, list, units)
	case BuyXGetY:
		earned = w.earnedByPurchase(q, coupon, before)
	}
	return kept - min(kept, earned)
}

// left returns how many units of a line are not returned.
func (w *refundWork) left(q *Quote, line int, before *Refunded) int64 {
	return q.Lines[line].Quantity - before.units(line) - w.now[line]
}

// earnedByTier returns the discount that the rest earns if it reaches a lower tier than the order did.
// It is the minimum over that tier and the tiers above it, up to the order's tier.
func (w *refundWork) earnedByTier(q *Quote, coupon int, before *Refunded, list, units int64) int64 {
	c := &q.Coupons[coupon]
	t := c.Terms.more
	reached, recorded := t.tierIndex(list, units), t.tierIndex(c.EligibleSubtotal, c.EligibleQuantity)
	switch {
	case reached >= recorded:
		return c.Discount
	case reached < 0:
		return 0
	}
	cost, step := w.entryCost(q, coupon, before), max(q.Step, 1)
	earned := c.Discount
	for i := reached; i < recorded; i++ {
		tier := &t.Tiers[i]
		off := min(tier.Amount, cost)
		if !tier.Percent.IsZero() {
			off = tier.Percent.Of(cost/step) * step
		}
		earned = min(earned, off)
	}
	if t.MaxDiscount > 0 {
		earned = min(earned, t.MaxDiscount/step*step)
	}
	return earned
}

// entryCost returns the price of the units that are left in a coupon's lines. The discounts of earlier
// lanes are subtracted.
func (w *refundWork) entryCost(q *Quote, coupon int, before *Refunded) (cost int64) {
	earlier, step, lane := 0, max(q.Step, 1), q.Coupons[coupon].Terms.lane
	for earlier < coupon && q.Coupons[earlier].Terms.lane < lane {
		earlier++
	}
	for i := range q.Lines {
		l := &q.Lines[i]
		if !q.covers(coupon, i) {
			continue
		}
		skip := l.Quantity - w.left(q, i, before)
		if skip == 0 && len(q.parts) > 0 { // single units are not needed
			cost += l.Subtotal
			for c := range earlier {
				cost -= q.partsOf(c)[i] * step
			}
			continue
		}
		w.load(q, i)
		for _, g := range w.rows {
			gone := min(skip, g.quantity)
			skip -= gone
			each := l.UnitPrice
			for _, amount := range g.amounts[:earlier] {
				each -= amount
			}
			cost += (g.quantity - gone) * each
		}
	}
	return cost
}

// gift is a group of discounted units among the units that are not returned.
type gift struct {
	amount, quantity int64
	bought           bool // its line counts as bought
}

// earnedByPurchase returns the greatest discounts of the rest for which enough other units are bought.
// Every getQuantity discounted units, or a part of that number, need buyQuantity other units.
func (w *refundWork) earnedByPurchase(q *Quote, coupon int, before *Refunded) (earned int64) {
	t := q.Coupons[coupon].Terms.more
	bought, gifts := w.collect(q, coupon, before)
	slices.SortStableFunc(w.gifts, func(a, b gift) int {
		return cmp.Or(cmp.Compare(b.amount, a.amount), compareBools(a.bought, b.bought))
	})
	low, high := int64(0), gifts
	for low < high {
		n := low + (high-low+1)/2
		times := (n-1)/t.GetQuantity + 1
		if others := bought - w.boughtGifts(n); others/t.BuyQuantity >= times {
			low = n
		} else {
			high = n - 1
		}
	}
	for _, g := range w.gifts {
		n := min(low, g.quantity)
		low -= n
		earned += n * g.amount
	}
	return earned
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// collect lists the discounted units among the units that are not returned. It returns the number of
// units that count as bought, and the number of discounted units. The discount is in the item lane,
// where a unit costs its list price.
func (w *refundWork) collect(q *Quote, coupon int, before *Refunded) (bought, gifts int64) {
	c := &q.Coupons[coupon]
	w.gifts = w.gifts[:0]
	for i := range q.Lines {
		l := &q.Lines[i]
		counts := q.covers(coupon, i)
		if c.bought != nil {
			counts = c.bought[i]
		}
		left := w.left(q, i, before)
		if counts && l.UnitPrice > 0 {
			bought += left
		}
		if !q.covers(coupon, i) {
			continue
		}
		w.load(q, i)
		skip := l.Quantity - left
		for _, g := range w.rows {
			gone := min(skip, g.quantity)
			skip -= gone
			if n := g.quantity - gone; n > 0 && g.amounts[coupon] > 0 {
				w.gifts = append(w.gifts, gift{g.amounts[coupon], n, counts})
				gifts += n
			}
		}
	}
	return bought, gifts
}

// boughtGifts returns how many of the first n discounted units count as bought.
func (w *refundWork) boughtGifts(n int64) (bought int64) {
	for _, g := range w.gifts {
		units := min(n, g.quantity)
		n -= units
		if g.bought {
			bought += units
		}
	}
	return bought
}
