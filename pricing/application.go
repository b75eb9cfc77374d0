package pricing

import (
	"math/bits"
	"slices"
)

// application computes the discount of one coupon in its lane. Amounts are counted in steps.
type application struct {
	quote    *Quote
	coupon   *QuotedCoupon
	terms    *Terms
	segments []segment
	takings  []taking // one taking per segment
	amount   int64    // of the discount, in the cart's currency
	most     int64    // the cap in minor units; 0 means no cap
	step     int64
}

// discount counts the units that the coupon covers. It returns the coupon's discount, before other
// coupons are considered.
func (a *application) discount() int64 {
	units := a.countAll()
	d := &a.terms.Discount
	if d.more != nil && d.more.MaxUnits > 0 {
		a.keepCheapest(d.more.MaxUnits, units)
	}
	off := int64(0)
	switch d.kind {
	case Percentage:
		off = a.percentage()
	case FixedAmount:
		off = a.fixedAmount()
	case FixedAmountPerUnit:
		off = a.amountPerUnit()
	case FixedUnitPrice:
		off = a.unitPrice()
	case CheapestUnits:
		off = a.cheapestUnits(units)
	case BuyXGetY:
		off = a.buyXGetY(units)
	case Tiered:
		off = a.tiered()
	}
	if a.most > 0 {
		off = min(off, a.most/a.step)
	}
	return off
}

// covered reports whether the coupon covers a line.
func (a *application) covered(line int) bool {
	return a.quote.Lines[line].Eligible && covers(a.terms.Eligible, line)
}

// countAll counts every unit of the eligible lines that can get a discount. It returns their number.
func (a *application) countAll() (units int64) {
	free := int64(0) // the greatest cost of a unit that gets no discount
	if a.terms.Discount.kind == FixedUnitPrice {
		free = a.amount
	}
	for i, s := range a.segments {
		a.takings[i] = taking{}
		if s.left > free && a.covered(s.line) {
			a.takings[i].counted = s.quantity
			units += s.quantity
		}
	}
	return units
}

// atCost sets each counted unit's discount to the full cost of the unit, and returns the sum.
func (a *application) atCost() (sum int64) {
	for i, s := range a.segments {
		t := &a.takings[i]
		t.each = s.left
		sum += t.counted * t.each
	}
	return sum
}

// spread spreads the discount over the counted units. It spreads by largest remainder over the lines,
// then over the units of each line.
func (a *application) spread(discount int64) {
	sum := a.claim()
	if discount >= sum {
		for i := range a.takings {
			a.takings[i].floor = a.takings[i].each
		}
		return
	}
	if discount == 0 {
		for i := range a.takings {
			a.takings[i].counted = 0
		}
		return
	}
	w := &a.quote.work
	w.parts = w.parts[:0]
	for i := range w.claims {
		w.parts = append(w.parts, w.claims[i].weight)
	}
	w.shares = largestRemainder(w.parts, discount, sum, w.shares)
	for i, c := range w.claims {
		w.within(a.takings[c.first:c.last], w.parts[i], c.weight)
	}
}

// claim collects the lines with a discount, each with its uncapped discount. It returns the sum.
func (a *application) claim() (sum int64) {
	w := &a.quote.work
	w.claims = w.claims[:0]
	for i := 0; i < len(a.segments); {
		c := claim{first: i}
		for line := a.segments[i].line; i < len(a.segments) && a.segments[i].line == line; i++ {
			t := &a.takings[i]
			if t.each == 0 {
				t.counted = 0
			}
			c.weight += t.counted * t.each
		}
		c.last = i
		if c.weight > 0 {
			w.claims = append(w.claims, c)
			sum += c.weight
		}
	}
	return sum
}

// within spreads a line's part over its units by largest remainder. Ties go to the earlier units. Among
// equal units, the last ones get the extra step. weight is the uncapped discount of the counted units.
func (w *workspace) within(takings []taking, part, weight int64) {
	if len(takings) == 1 {
		t := &takings[0]
		t.floor, t.extra = part, 0
		if t.counted > 1 {
			t.floor, t.extra = part/t.counted, part%t.counted
		}
		return
	}
	w.shares = w.shares[:0]
	spare := part
	for i := range takings {
		t := &takings[i]
		if t.counted == 0 {
			continue
		}
		high, low := bits.Mul64(uint64(part), uint64(t.each))     //nolint:gosec // not negative
		floor, remainder := bits.Div64(high, low, uint64(weight)) //nolint:gosec // a part is at most the weight
		t.floor = int64(floor)                                    //nolint:gosec // at most each
		spare -= t.floor * t.counted
		w.shares = append(w.shares, share{remainder: remainder, line: i})
	}
	slices.SortFunc(w.shares, share.compare)
	for _, s := range w.shares {
		t := &takings[s.line]
		t.extra = min(spare, t.counted)
		spare -= t.extra
	}
}

// keepCheapest keeps only the n cheapest of the counted units. units is the number of counted units.
// Ties go to the earlier units.
func (a *application) keepCheapest(n, units int64) {
	if n >= units {
		return
	}
	shares := a.byPrice()
	low, high := 0, len(shares)-1
	for budget := selectPasses * len(shares); low < high; {
		if budget -= high - low; budget < 0 {
			slices.SortFunc(shares[low:high+1], share.compare)
			break
		}
		left, right := partition(shares, low, high)
		sum := a.units(shares[low : left+1])
		if n <= sum {
			high = left
			continue
		}
		n -= sum
		if low = left + 1; right > low { // skip the pivot
			middle := a.units(shares[low:right])
			if n <= middle {
				break
			}
			n -= middle
		}
		low = right
	}
	for _, s := range shares[low:] {
		t := &a.takings[s.line]
		t.counted = min(n, t.counted)
		n -= t.counted
	}
}

// byPrice returns the segments with counted units as shares that sort the cheapest first.
func (a *application) byPrice() []share {
	w := &a.quote.work
	w.shares = w.shares[:0]
	for i, s := range a.segments {
		if a.takings[i].counted > 0 {
			w.shares = append(w.shares, share{remainder: ^uint64(s.left), line: i}) //nolint:gosec // not negative
		}
	}
	return w.shares
}

// units returns the number of counted units in the segments of the shares.
func (a *application) units(shares []share) (sum int64) {
	for _, s := range shares {
		sum += a.takings[s.line].counted
	}
	return sum
}
