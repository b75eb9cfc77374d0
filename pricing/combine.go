package pricing

import "slices"

// segment is a group of units of one line with the same cost and the same discount from every coupon.
// The amounts here are counted in steps of the cart.
type segment struct {
	line     int
	quantity int64
	left     int64 // remaining price of a unit
}

// taking is the discount of one coupon on one segment. The first counted units have a discount. The
// last extra units among them get one step more than the others.
type taking struct {
	counted int64
	each    int64 // uncapped discount of a counted unit
	floor   int64
	extra   int64
}

// of returns the discount of a unit, and the end of the run of units with the same discount.
func (t *taking) of(unit, end int64) (amount, until int64) {
	switch {
	case unit < t.counted-t.extra:
		return t.floor, min(end, t.counted-t.extra)
	case unit < t.counted:
		return t.floor + 1, min(end, t.counted)
	}
	return 0, end
}

// claim is the part of a discount that one line takes.
type claim struct {
	first, last int // the line's segments
	weight      int64
}

// workspace is the memory of the engine, which Reprice keeps.
type workspace struct {
	order    [MaxCoupons]uint8 // per coupon of the quote: the index of its terms
	segments []segment         // at the start of the lane, in line order
	amounts  []int64           // per segment: the discount of a unit by each coupon of the earlier lanes

	nextSegments []segment // segments at the end of the lane
	nextAmounts  []int64

	takings []taking // of the lane's coupons, one after another, each with an entry per segment
	claims  []claim
	parts   []int64 // of the discount, per claim
	shares  []share

	left []int64 // used by byLines: the price of each eligible line at the start of the lane

	// Bit n is set in gives if coupon n of the lane has a discount, and in lowers if it lowers the
	// price of a unit.
	gives, lowers uint32
}

// resize returns a slice of the given length. Its content is undefined.
func resize[T any](s []T, length int) []T { return slices.Grow(s[:0], length)[:length] }

// combine subtracts the discounts from the lines, lane by lane.
func (q *Quote) combine(cart *Cart, terms []Terms) {
	w, step := &q.work, max(q.Step, 1)
	w.segments, w.amounts = resize(w.segments, len(q.Lines)), w.amounts[:0]
	for i := range q.Lines {
		w.segments[i] = segment{line: i, quantity: q.Lines[i].Quantity, left: inSteps(q.Lines[i].UnitPrice, step)}
	}
	for done, end := 0, 0; done < len(q.Coupons); done = end {
		for end < len(q.Coupons) && terms[w.order[end]].Discount.lane == terms[w.order[done]].Discount.lane {
			end++
		}
		q.lane(cart, terms, done, end)
	}
	q.settle(step)
}

func inSteps(minor, step int64) int64 {
	if step == 1 {
		return minor
	}
	return minor / step
}

// lane computes the coupons of one lane. It starts from the segments left by the lanes before.
func (q *Quote) lane(cart *Cart, terms []Terms, from, to int) {
	w := &q.work
	n := len(w.segments)
	w.takings = resize(w.takings, n*(to-from))
	for c := from; c < to; c++ {
		t := &terms[w.order[c]]
		of := application{
			quote: q, coupon: &q.Coupons[c], terms: t, segments: w.segments, takings: w.takings[(c-from)*n:][:n], step: max(q.Step, 1),
		}
		amounts, _ := t.Discount.in(cart.Currency)
		of.amount, of.most = inSteps(amounts.Amount, of.step), amounts.MaxDiscount
		of.spread(of.discount())
	}
	w.overlay(from, to-from)
	w.segments, w.nextSegments = w.nextSegments, w.segments
	w.amounts, w.nextAmounts = w.nextAmounts, w.amounts
	for c := from; c < to; c++ {
		bit := uint32(1) << (c - from)
		q.Coupons[c].gives, q.Coupons[c].lowers = w.gives&bit != 0, w.lowers&bit != 0
	}
}

// overlay splits the segments where the discount of a coupon of the lane changes, and subtracts the
// discounts. before is the number of coupons in the earlier lanes. count is the number of coupons in
// this lane.
func (w *workspace) overlay(before, count int) {
	w.nextSegments, w.nextAmounts = w.nextSegments[:0], w.nextAmounts[:0]
	w.gives, w.lowers = 0, 0
	n, width := len(w.segments), before+count
	for i, s := range w.segments {
		earlier := w.amounts[i*before:][:before]
		for unit := int64(0); unit < s.quantity; {
			end, left, short, gives := s.quantity, s.left, false, uint32(0)
			w.nextAmounts = append(w.nextAmounts, earlier...)
			for c := range count {
				var amount int64
				amount, end = w.takings[c*n+i].of(unit, end)
				w.nextAmounts = append(w.nextAmounts, amount)
				short = short || amount > left
				left -= min(amount, left)
				if amount > 0 {
					gives |= 1 << c
				}
			}
			row := w.nextAmounts[len(w.nextAmounts)-width:]
			w.gives |= gives
			if short {
				left = 0
				w.lowers |= lowering(row[before:], excess(row[before:], s.left))
				cut(row[before:], s.left)
			} else {
				w.lowers |= gives
			}
			w.add(segment{line: s.line, quantity: end - unit, left: left}, row)
			unit = end
		}
	}
}

// add appends a segment. Its amounts are the last row. A segment equal to its neighbor is merged with
// it.
func (w *workspace) add(s segment, row []int64) {
	if last := len(w.nextSegments) - 1; last >= 0 && w.nextSegments[last].line == s.line && w.nextSegments[last].left == s.left {
		rest := len(w.nextAmounts) - len(row)
		if slices.Equal(w.nextAmounts[rest-len(row):rest], row) {
			w.nextSegments[last].quantity += s.quantity
			w.nextAmounts = w.nextAmounts[:rest]
			return
		}
	}
	w.nextSegments = append(w.nextSegments, s)
}

// settle writes the discounts of the segments into the quote.
func (q *Quote) settle(step int64) {
	w, coupons := &q.work, len(q.Coupons)
	q.groups, q.amounts = resize(q.groups, len(w.segments)), resize(q.amounts, len(w.amounts))
	q.Discount = 0
	for i := range q.Lines {
		q.Lines[i].Total = 0
	}
	for i := range q.Coupons {
		q.Coupons[i].Discount = 0
	}
	for i, s := range w.segments {
		q.groups[i] = UnitGroup{Quantity: s.quantity, UnitPrice: s.left * step}
		q.Lines[s.line].Total += s.quantity * s.left * step
		for c, amount := range w.amounts[i*coupons:][:coupons] {
			q.amounts[i*coupons+c] = amount * step
			q.Coupons[c].Discount += amount * s.quantity * step
		}
	}
	at := 0
	q.ends = resize(q.ends, len(q.Lines))
	for i := range q.Lines {
		l := &q.Lines[i]
		for at < len(w.segments) && w.segments[at].line == i {
			at++
		}
		q.ends[i] = at
		l.Discount = l.Subtotal - l.Total
		q.Discount += l.Discount
	}
	q.Total = q.Subtotal - q.Discount + q.Shipping
}
