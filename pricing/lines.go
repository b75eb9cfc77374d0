package pricing

import "math/bits"

// This file prices whole lines, without single units. That is exact if every coupon treats the units of
// a line alike and no unit goes below zero. The price of each unit then follows from the coupons'
// discounts on the line.

// countsLines reports whether the discount needs only the subtotals of its lines.
func (d *Discount) countsLines() bool {
	return (d.kind == Percentage || d.kind == FixedAmount) && (d.more == nil || d.more.MaxUnits == 0)
}

// alike reports whether the discount treats the units of a line alike.
func (d *Discount) alike() bool {
	return d.kind != CheapestUnits && d.kind != BuyXGetY && (d.more == nil || d.more.MaxUnits == 0)
}

// ofLines returns the discount in minor units, for a discount type that counts lines.
func (d *Discount) ofLines(q *Quote, base int64) int64 {
	if d.more == nil && q.Step == 0 {
		if d.kind == Percentage {
			return d.percent.Of(base)
		}
		return min(d.amount.minor, base)
	}
	terms, _ := d.in(q.Currency)
	step, off := max(q.Step, 1), int64(0)
	if d.kind == FixedAmount {
		off = min(terms.Amount, base)
	} else {
		off = d.percent.Of(base/step) * step
	}
	if terms.MaxDiscount > 0 {
		off = min(off, terms.MaxDiscount/step*step)
	}
	return off
}

// byLines prices the coupons line by line. If units have to be priced one by one, it returns false and
// does not change the lines.
func (q *Quote) byLines(terms []Terms) bool {
	w, step := &q.work, max(q.Step, 1)
	for c := range q.Coupons {
		if !terms[w.order[c]].Discount.alike() {
			return false
		}
	}
	items, coupons := q.itemCoupons(), len(q.Coupons)
	w.left, q.parts = resize(w.left, len(q.Lines)), resize(q.parts, coupons*len(q.Lines))
	for i := range q.Lines {
		w.left[i] = 0
		if l := &q.Lines[i]; l.Eligible {
			w.left[i] = inSteps(l.Subtotal, step)
		}
	}
	for c := range q.Coupons {
		if c == items && !q.leave(0, items) {
			return false
		}
		q.partOf(c, &terms[w.order[c]].Discount, step)
	}
	last := items
	if items == coupons {
		last = 0
	}
	if !q.leave(last, coupons) {
		return false
	}
	q.settleLines(step)
	q.effects()
	return true
}

// itemCoupons returns how many coupons are in the item lane. These coupons come first.
func (q *Quote) itemCoupons() (n int) {
	for n < len(q.Coupons) && q.Coupons[n].Terms.lane == ItemLane {
		n++
	}
	return n
}

// partsOf returns the discount of one coupon on each line, in steps.
func (q *Quote) partsOf(c int) []int64 { return q.parts[c*len(q.Lines):][:len(q.Lines)] }

// partOf computes the discount of one coupon on each line. It starts from the prices of the lines at
// the start of the coupon's lane.
func (q *Quote) partOf(c int, d *Discount, step int64) {
	amounts, _ := d.in(q.Currency)
	amount, parts := inSteps(amounts.Amount, step), q.partsOf(c)
	sum := q.weigh(parts, c, d, amount, step)
	off := q.offLines(c, d, sum, amount, step)
	if amounts.MaxDiscount > 0 {
		off = min(off, inSteps(amounts.MaxDiscount, step))
	}
	q.Coupons[c].Discount = off * step
	switch off {
	case sum:
	case 0:
		clear(parts)
	default:
		q.work.shares = largestRemainder(parts, off, sum, q.work.shares)
	}
}

// weigh writes each line's uncapped discount by a coupon to weights, and returns the sum. All amounts
// are in steps.
func (q *Quote) weigh(weights []int64, c int, d *Discount, amount, step int64) (sum int64) {
	if d.kind == FixedAmountPerUnit || d.kind == FixedUnitPrice {
		sum = q.weighUnits(weights, d.kind, amount, step)
	} else {
		for i, left := range q.work.left {
			weights[i] = left
			sum += left
		}
	}
	if mask := q.Coupons[c].eligible; mask != nil {
		for i := range weights {
			if !mask[i] {
				sum -= weights[i]
				weights[i] = 0
			}
		}
	}
	return sum
}

// weighUnits is weigh for a coupon whose discount depends on the price of a unit.
func (q *Quote) weighUnits(weights []int64, kind DiscountType, amount, step int64) (sum int64) {
	lines := q.Lines[:len(weights)]
	for i := range weights {
		l := &lines[i]
		price := inSteps(l.UnitPrice, step)
		off := min(amount, price)
		if kind == FixedUnitPrice {
			off = price - off
		}
		if !l.Eligible {
			off = 0
		}
		weights[i] = off * l.Quantity
		sum += weights[i]
	}
	return sum
}

// offLines returns the whole discount of a coupon, in steps, before its cap.
func (q *Quote) offLines(c int, d *Discount, sum, amount, step int64) int64 {
	switch d.kind { //nolint:exhaustive // the other types take all that the lines give
	case Percentage:
		return d.percent.Of(sum)
	case FixedAmount:
		return min(amount, sum)
	case Tiered:
		tier := d.more.tier(q.Coupons[c].EligibleSubtotal, q.Coupons[c].EligibleQuantity)
		switch {
		case tier == nil:
			return 0
		case tier.Percent.IsZero():
			return min(inSteps(tier.Amount, step), sum)
		}
		return tier.Percent.Of(sum)
	}
	return sum
}

// leave subtracts the discounts of the coupons [from, to) from the lines. These coupons form a lane. If
// a unit could go below zero, leave drops all parts and returns false.
func (q *Quote) leave(from, to int) bool {
	w, n, negative := &q.work, len(q.Lines), int64(0)
	left, parts := w.left[:n], q.parts[from*n:to*n] // one coupon after another
	for i := range left {
		rest, givers := left[i], int64(0)
		for at := i; at < len(parts); at += n {
			part := parts[at]
			rest -= part
			negative |= rest
			if part > 0 {
				givers++
			}
		}
		if negative < 0 || givers > 1 && !w.clear(i, q.Lines[i].Quantity, left[i]-rest, int64(from), givers) {
			q.parts = q.parts[:0]
			return false
		}
		left[i] = rest
	}
	return true
}

// clear reports whether several coupons surely leave every unit of a line at zero or more. After the
// coupons of earlier lanes, the prices of two units differ by fewer steps than there were coupons.
// Rounding costs a unit at most one step for each coupon.
func (w *workspace) clear(line int, quantity, taken, before, givers int64) bool {
	left := w.left[line]
	if before == 0 {
		return covered(left-taken, quantity, givers)
	}
	return taken <= left/2 && covered(left, quantity, 2*givers+before)
}

// covered reports whether an amount has at least the given steps for each unit.
func covered(amount, quantity, steps int64) bool {
	high, low := bits.Mul64(uint64(quantity), uint64(steps)) //nolint:gosec // not negative
	return high == 0 && low <= uint64(amount)                //nolint:gosec // not negative
}

// settleLines writes the prices of the lines after all coupons into the quote.
func (q *Quote) settleLines(step int64) {
	for i, left := range q.work.left {
		if l := &q.Lines[i]; l.Eligible {
			l.Total = left * step
			l.Discount = l.Subtotal - l.Total
			q.Discount += l.Discount
		}
	}
	q.Total = q.Subtotal - q.Discount + q.Shipping
}

// unfold computes the units of a line. It returns the groups of units, and per group the discount of a
// unit by each coupon.
func (q *Quote) unfold(line int) (groups []UnitGroup, amounts []int64) {
	var w workspace
	w.unfold(q, line)
	for _, s := range w.segments {
		groups = append(groups, UnitGroup{Quantity: s.quantity, UnitPrice: s.left * max(q.Step, 1)})
	}
	return groups, w.amounts
}

// unfold writes the groups of units of a line to the segments and amounts, in steps.
func (w *workspace) unfold(q *Quote, line int) {
	l, step, items, coupons := &q.Lines[line], max(q.Step, 1), q.itemCoupons(), len(q.Coupons)
	w.segments = append(w.segments[:0], segment{quantity: l.Quantity, left: inSteps(l.UnitPrice, step)})
	w.amounts = w.amounts[:0]
	for _, lane := range [...]struct{ from, to int }{{0, items}, {items, coupons}} {
		if lane.from == lane.to {
			continue
		}
		n := len(w.segments)
		w.takings = resize(w.takings, n*(lane.to-lane.from))
		clear(w.takings)
		for c := lane.from; c < lane.to; c++ {
			w.give(w.takings[(c-lane.from)*n:][:n], q.partsOf(c)[line])
		}
		w.overlay(lane.from, lane.to-lane.from)
		w.segments, w.nextSegments = w.nextSegments, w.segments
		w.amounts, w.nextAmounts = w.nextAmounts, w.amounts
	}
	for i := range w.amounts {
		w.amounts[i] *= step
	}
}

// give spreads a part over all units of the line in proportion to their cost.
func (w *workspace) give(takings []taking, part int64) {
	if part == 0 {
		return
	}
	weight := int64(0)
	for i, s := range w.segments {
		if s.left > 0 || len(w.segments) == 1 {
			takings[i] = taking{counted: s.quantity, each: s.left}
		}
		weight += s.quantity * s.left
	}
	w.within(takings, part, weight)
}
