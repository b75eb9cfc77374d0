package pricing

import "slices"

// segment is a group of units of one line that cost the same and that every coupon treats
// alike. Amounts of the engine are counted in steps of the cart.
type segment struct {
	line     int
	quantity int64
	left     int64 // what a unit still costs
}

// taking is what one coupon takes of one segment. Of the first units, which are counted, the
// last ones, which are extra, give one step more than the others.
type taking struct {
	counted int64
	each    int64 // what a counted unit would give if nothing capped the discount
	floor   int64
	extra   int64
}

// of returns what a unit gives, and where the units end that give as much.
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
	order    [MaxCoupons]uint8 // per coupon of the quote the index of its terms
	segments []segment         // at the entry of the lane, in line order
	amounts  []int64           // per segment what a unit gives to each coupon of the earlier lanes

	nextSegments []segment // what the lane leaves
	nextAmounts  []int64

	takings []taking // of the lane's coupons, one after another, each per segment
	claims  []claim
	parts   []int64 // of the discount, per claim
	shares  []share

	left []int64 // of byLines: what each line costs at the entry of the lane, if it is eligible

	// Bit n is set if coupon n of the lane gives something, and if it lowers the price of a unit.
	gives, lowers uint32
}

// resize returns a slice of the length, whose content is undefined.
func resize[T any](s []T, length int) []T { return slices.Grow(s[:0], length)[:length] }

// combine takes the discounts off the lines, lane by lane.
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

// lane computes the coupons of one lane from the segments at its entry.
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

// overlay cuts the segments where a coupon of the lane gives another amount, and takes the
// amounts off. before is the number of the coupons of the earlier lanes, count that of the
// lane's.
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

// add appends a segment whose row of amounts is the last one. Neighbours that are alike become
// one.
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

// settle writes what the segments say into the quote.
func (q *Quote) settle(step int64) {
	w, coupons := &q.work, len(q.Coupons)
	q.groups, q.amounts = resize(q.groups, len(w.segments)), resize(q.amounts, len(w.amounts))
	q.Discount = 0
	for i := range q.Lines {
		q.Lines[i].Total = 0
	}
	for i := range q.Coupons {
		q.Coupons[i].Amount = 0
	}
	for i, s := range w.segments {
		q.groups[i] = UnitGroup{Quantity: s.quantity, UnitPrice: s.left * step}
		q.Lines[s.line].Total += s.quantity * s.left * step
		for c, amount := range w.amounts[i*coupons:][:coupons] {
			q.amounts[i*coupons+c] = amount * step
			q.Coupons[c].Amount += amount * s.quantity * step
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
