package pricing

import "slices"

// Units groups the units of a line by price. The line is an index in Lines. The group with the
// highest price comes first. The prices of all units sum to the Total of the line. A discount that
// covers whole lines gives at most two groups, whose prices differ by one step, or by one minor
// unit if the quote has no step. If there is no such line, or its Quantity is 0 or less, Units returns nil.
func (q Quote) Units(line int) []UnitGroup { return q.AppendUnits(nil, line) }

// AppendUnits is like [Quote.Units] but appends the groups to a slice and returns the extended
// slice.
func (q Quote) AppendUnits(dst []UnitGroup, line int) []UnitGroup {
	if line < 0 || line >= len(q.Lines) {
		return dst
	}
	if len(q.ends)+len(q.parts) == 0 || !q.explained() {
		return q.Lines[line].derive(dst, q.Step)
	}
	groups, _ := q.rows(line, new(rowRoom))
	first := len(dst)
	for _, g := range groups {
		at := len(dst)
		for at > first && dst[at-1].UnitPrice < g.UnitPrice {
			at--
		}
		if at > first && dst[at-1].UnitPrice == g.UnitPrice {
			dst[at-1].Quantity += g.Quantity
			continue
		}
		dst = slices.Insert(dst, at, g)
	}
	return dst
}

// ReachesZero reports whether the coupons take the whole price of a unit. A unit with a list price
// of 0 does not count.
func (q *Quote) ReachesZero() bool {
	for i := range q.Lines {
		if q.Lines[i].Discount > 0 && q.reachesZero(i) {
			return true
		}
	}
	return false
}

// reachesZero implements ReachesZero for a line with a discount.
func (q *Quote) reachesZero(line int) bool {
	l, units := &q.Lines[line], len(q.ends)+len(q.parts) > 0 && q.explained()
	steps := int64(1)
	if units && len(q.ends) == 0 {
		// Each coupon in each lane rounds, so the units of a line may differ.
		steps += 2 * int64(len(q.Coupons))
	}
	switch left := inSteps(l.Total, max(q.Step, 1)); {
	case left < l.Quantity:
		return true
	case !units || len(q.ends) == 0 && covered(left, l.Quantity, steps):
		return false
	}
	groups, _ := q.rows(line, new(rowRoom))
	return slices.ContainsFunc(groups, func(g UnitGroup) bool { return g.UnitPrice == 0 })
}

// derive appends the groups of a line whose units all have the same discount before rounding.
func (l *QuotedLine) derive(dst []UnitGroup, step int64) []UnitGroup {
	if l.Quantity < 1 {
		return dst
	}
	if step < 1 || l.Total%step != 0 {
		step = 1
	}
	total := l.Total / step
	price, dearer := total/l.Quantity*step, total%l.Quantity
	if dearer > 0 {
		dst = append(dst, UnitGroup{Quantity: dearer, UnitPrice: price + step})
	}
	return append(dst, UnitGroup{Quantity: l.Quantity - dearer, UnitPrice: price})
}
