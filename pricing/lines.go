package pricing

import "math/bits"

// This file prices without telling units apart. That is enough where every coupon treats the
// units of a line alike and no unit goes below zero: then the units of a line follow from what
// each coupon takes off the line; see lineDetail.

// lineDetail is what a line needs to tell its units apart.
type lineDetail struct {
	groups []UnitGroup // in the order of the units; nil if they follow from parts
	parts  []int64     // what each coupon takes off the line, in minor units
	items  int         // how many of the coupons are in the item lane
}

// countsLines reports whether the discount is computed from the subtotals of its lines.
func (d *Discount) countsLines() bool {
	return (d.kind == Percentage || d.kind == FixedAmount) && (d.more == nil || d.more.MaxUnits == 0)
}

// alike reports whether the discount treats the units of a line alike.
func (d *Discount) alike() bool {
	return d.kind != CheapestUnits && d.kind != BuyXGetY && (d.more == nil || d.more.MaxUnits == 0)
}

// ofLines returns a discount that counts lines, in minor units.
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

// byLines prices the coupons line by line. It reports false, and leaves the lines as they are, if
// units have to be told apart.
func (q *Quote) byLines(terms []Terms) bool {
	w, coupons, step := &q.work, len(q.Coupons), max(q.Step, 1)
	items := 0
	for _, at := range w.order {
		d := &terms[at].Discount
		if !d.alike() {
			return false
		}
		if d.lane == ItemLane {
			items++
		}
	}
	w.left = resize(w.left, len(q.Lines))
	w.weights = resize(w.weights, len(q.Lines))
	q.parts = resize(q.parts, coupons*len(q.Lines))
	for i := range q.Lines {
		w.left[i] = inSteps(q.Lines[i].Subtotal, step)
	}
	for c, at := range w.order {
		if c == items && c > 0 && !q.leave(0, items) {
			return false
		}
		q.partOf(c, &terms[at], step)
	}
	last := items
	if items == coupons {
		last = 0
	}
	if !q.leave(last, coupons) {
		return false
	}
	q.detail(items, step)
	return true
}

// partOf computes what one coupon takes off each line, from what the lines cost at the entry of
// its lane.
func (q *Quote) partOf(c int, t *Terms, step int64) {
	w, coupons := &q.work, len(q.Coupons)
	amounts, _ := t.Discount.in(q.Currency)
	sum := q.weigh(c, &t.Discount, inSteps(amounts.Amount, step), step)
	off := q.offLines(c, &t.Discount, sum, inSteps(amounts.Amount, step), step)
	if amounts.MaxDiscount > 0 {
		off = min(off, inSteps(amounts.MaxDiscount, step))
	}
	switch {
	case off >= sum:
		for i, weight := range w.weights {
			q.parts[i*coupons+c] = weight
		}
		return
	case off == 0:
		for i := range w.weights {
			q.parts[i*coupons+c] = 0
		}
		return
	}
	r, spare, shares := newRatio(off, sum), off, w.shares[:0]
	for i, weight := range w.weights {
		part, remainder := r.of(weight)
		q.parts[i*coupons+c] = int64(part) //nolint:gosec // at most the weight
		spare -= int64(part)               //nolint:gosec // at most the weight
		if remainder > 0 {
			shares = append(shares, share{remainder: remainder, line: i})
		}
	}
	if spare > 0 {
		selectFirst(shares, int(spare))
	}
	for _, s := range shares[:spare] {
		q.parts[s.line*coupons+c]++
	}
	w.shares = shares
}

// weigh writes what each line would give to a coupon if nothing capped the discount, and returns
// the sum. All amounts are in steps.
func (q *Quote) weigh(c int, d *Discount, amount, step int64) (sum int64) {
	lines, weights, left, mask := q.Lines, q.work.weights[:len(q.Lines)], q.work.left[:len(q.Lines)], q.Coupons[c].eligible
	perUnit, unitPrice := d.kind == FixedAmountPerUnit, d.kind == FixedUnitPrice
	for i := range lines {
		l := &lines[i]
		weight := left[i]
		switch {
		case !l.Eligible || mask != nil && !mask[i]:
			weight = 0
		case perUnit:
			weight = min(amount, inSteps(l.UnitPrice, step)) * l.Quantity
		case unitPrice:
			weight = max(0, inSteps(l.UnitPrice, step)-amount) * l.Quantity
		}
		weights[i] = weight
		sum += weight
	}
	return sum
}

// offLines returns what a coupon takes off in all, in steps and before its cap.
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

// leave takes the parts of a lane's coupons, from and to, off the lines. It reports false if a
// unit could go below zero.
func (q *Quote) leave(from, to int) bool {
	w, coupons := &q.work, len(q.Coupons)
	for i := range q.Lines {
		row := q.parts[i*coupons:][:coupons]
		taken, givers := int64(0), int64(0)
		for _, part := range row[from:to] {
			if part > w.left[i]-taken {
				return false
			}
			taken += part
			if part > 0 {
				givers++
			}
		}
		if givers > 1 && !w.clear(i, q.Lines[i].Quantity, taken, int64(from), givers) {
			return false
		}
		w.left[i] -= taken
	}
	return true
}

// clear reports whether it is certain that several coupons leave every unit of a line at zero or
// more. The coupons of the lane before have left units that differ by less than their number, and
// rounding costs a unit at most one step for each coupon.
func (w *workspace) clear(line int, quantity, taken, before, givers int64) bool {
	left := w.left[line]
	if before == 0 {
		return covered(left-taken, quantity, givers)
	}
	return taken <= left/2 && covered(left, quantity, 2*givers+before)
}

// covered reports whether an amount is at least as many steps for each unit.
func covered(amount, quantity, steps int64) bool {
	high, low := bits.Mul64(uint64(quantity), uint64(steps)) //nolint:gosec // not negative
	return high == 0 && low <= uint64(amount)                //nolint:gosec // not negative
}

// detail writes what the parts say into the quote.
func (q *Quote) detail(items int, step int64) {
	coupons := len(q.Coupons)
	q.details = resize(q.details, len(q.Lines))
	for i := range q.Lines {
		l := &q.Lines[i]
		row := q.parts[i*coupons:][:coupons:coupons]
		off := int64(0)
		for c := range row {
			row[c] *= step
			off += row[c]
			q.Coupons[c].Amount += row[c]
		}
		l.Discount, l.Total = off, l.Subtotal-off
		q.Discount += off
		q.details[i] = lineDetail{parts: row, items: items}
		l.detail = &q.details[i]
	}
	q.Total = q.Subtotal - q.Discount + q.Shipping
}

// unfold tells the units of a line apart: the groups of units, and per group what a unit gives to
// each coupon.
func (l *QuotedLine) unfold() (groups []UnitGroup, amounts []int64) {
	var w workspace
	l.unfoldInto(&w)
	for _, s := range w.segments {
		groups = append(groups, UnitGroup{Quantity: s.quantity, UnitPrice: s.left * max(l.Step, 1)})
	}
	return groups, w.amounts
}

// unfoldInto is unfold into the segments, in steps, and the amounts of a workspace.
func (l *QuotedLine) unfoldInto(w *workspace) {
	d, step := l.detail, max(l.Step, 1)
	w.segments = append(w.segments[:0], segment{quantity: l.Quantity, left: inSteps(l.UnitPrice, step)})
	w.amounts = w.amounts[:0]
	for _, lane := range [...]struct{ from, to int }{{0, d.items}, {d.items, len(d.parts)}} {
		if lane.from == lane.to {
			continue
		}
		n := len(w.segments)
		w.takings = resize(w.takings, n*(lane.to-lane.from))
		clear(w.takings)
		for c := lane.from; c < lane.to; c++ {
			w.give(w.takings[(c-lane.from)*n:][:n], inSteps(d.parts[c], step))
		}
		w.overlay(lane.from, lane.to-lane.from)
		w.segments, w.nextSegments = w.nextSegments, w.segments
		w.amounts, w.nextAmounts = w.nextAmounts, w.amounts
	}
	for i := range w.amounts {
		w.amounts[i] *= step
	}
}

// give spreads a part over all units of the line by what they cost.
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
