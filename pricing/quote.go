package pricing

import (
	"math/bits"
	"slices"
)

// QuotedLine is a line of a cart with its price in the quote. All amounts are in minor
// units. A QuotedLine cannot be marshaled to JSON on its own. Marshal the whole [Quote]
// instead.
type QuotedLine struct {
	Line
	// Eligible reports whether a coupon covers the line.
	Eligible bool
	// Subtotal is the list price of the line: UnitPrice times Quantity.
	Subtotal int64
	// Discount is the amount that is taken off the line. It is at least 0 and at most
	// Subtotal.
	Discount int64
	// Total is the price of the line after the discount: Subtotal - Discount.
	Total int64
}

// Quote is a priced cart. All amounts in a Quote are in minor units of its Currency. Copies
// of a Quote share their Lines. [Quote.Reprice] overwrites the Lines that copies share. Use
// [Quote.Clone] to make an independent copy.
type Quote struct {
	// Currency is the currency of all amounts in the quote.
	Currency Currency
	// Step is the smallest amount that can be charged, in minor units. Every amount in the
	// quote is a multiple of Step. A Step of 0 allows every whole number of minor units.
	Step int64
	// Subtotal is the list price of all lines except shipping lines.
	Subtotal int64
	// EligibleSubtotal is the list price of the lines that at least one coupon covers.
	EligibleSubtotal int64
	// Discount is the sum of the line discounts. It is at least 0 and at most
	// EligibleSubtotal.
	Discount int64
	// Shipping is the price of all shipping lines.
	Shipping int64
	// Total is the amount that the customer pays: Subtotal - Discount + Shipping.
	Total int64
	// Lines are the priced lines of the cart, in the same order as in the cart.
	Lines []QuotedLine
	// Coupons are the coupons that were priced, by lane and then by ID.
	Coupons []QuotedCoupon

	// These fields have the discount of each coupon on each unit. They are empty if the discounts
	// follow from the lines. Otherwise the quote has either parts, or groups with their ends and
	// amounts.
	parts   []int64     // discount of each coupon on each line, coupon by coupon, in steps
	groups  []UnitGroup // groups of equal units, line by line
	ends    []int       // end of each line's groups
	amounts []int64     // discount of a unit by each coupon, group by group

	masks []bool // memory for the coupons' fields eligible and bought
	units int64  // units in the eligible lines whose price is not 0

	work workspace // memory that Reprice reuses
}

// Price computes the price of a cart with a set of coupons. Shipping lines are never discounted.
// Without coupons, the quote has list prices and no line is eligible. The order of the coupons
// does not matter.
//
// Price returns a [*validation.Error] in these cases:
//
//   - The cart is invalid; see [Cart.Validate].
//   - A discount does not fit the cart; see [Discount.FitsCart].
//   - The length of a slice Eligible or Bought differs from the number of lines.
//   - There are more than [MaxCoupons] coupons.
//   - Two of several coupons have the same ID or cannot be combined; see [Combinable].
func Price(cart Cart, terms ...Terms) (Quote, error) {
	q := Quote{Lines: make([]QuotedLine, 0, min(len(cart.Lines), MaxLines))}
	if err := q.Reprice(cart, terms...); err != nil {
		return Quote{}, err
	}
	q.work = workspace{}
	return q, nil
}

// Reprice is like [Price] but stores the result in the quote and reuses its memory.
// Repeated calls with carts and sets of the same size allocate no memory. Reprice can be called
// on the zero Quote. On error, the quote is empty. While Reprice runs, no other goroutine may
// use the quote or a copy that shares its memory.
func (q *Quote) Reprice(cart Cart, terms ...Terms) error {
	q.reset(cart.Currency, cart.Step)
	if !q.combines(&cart, terms) || !q.take(&cart, terms) {
		q.reset(Currency{}, 0)
		return faultsOf(cart, terms)
	}
	q.Total = q.Subtotal + q.Shipping
	switch {
	case len(q.Coupons) == 0:
	case len(terms) == 1 && terms[0].Discount.countsLines():
		q.one(&terms[0])
	default:
		q.several(&cart, terms)
	}
	return nil
}

// reset empties q field by field. Assigning a new Quote would be slower, because it is built first and
// then copied.
func (q *Quote) reset(currency Currency, step int64) {
	q.Currency, q.Step = currency, normalStep(step)
	q.Subtotal, q.EligibleSubtotal, q.Discount, q.Shipping, q.Total = 0, 0, 0, 0, 0
	q.Lines, q.Coupons = q.Lines[:0], q.Coupons[:0]
	q.parts, q.groups, q.ends, q.amounts = q.parts[:0], q.groups[:0], q.ends[:0], q.amounts[:0]
	q.masks, q.units = q.masks[:0], 0
}

// combines reports whether the coupons can be priced together on the cart. It sorts the coupons that
// have a discount.
func (q *Quote) combines(cart *Cart, terms []Terms) bool {
	if len(terms) == 1 { // the most frequent case
		if terms[0].Discount.kind != 0 {
			q.work.order[0] = 0
			q.Coupons = resize(q.Coupons, 1)
		}
		return terms[0].fits(cart)
	}
	if len(terms) > MaxCoupons {
		return false
	}
	order, coupons := &q.work.order, 0
	for i := range terms {
		t := &terms[i]
		if !t.fits(cart) || t.ID == "" {
			return false
		}
		for j := range i {
			if t.ID == terms[j].ID || !Combinable(t.Group, terms[j].Group) {
				return false
			}
		}
		if t.Discount.kind == 0 {
			continue
		}
		at := coupons
		for ; at > 0 && t.before(&terms[order[at-1]]); at-- {
			order[at] = order[at-1]
		}
		order[at] = uint8(i)
		coupons++
	}
	q.Coupons = resize(q.Coupons, coupons)
	return true
}

// take copies the lines and adds them up. It reports whether cart and terms are well formed.
func (q *Quote) take(cart *Cart, terms []Terms) bool {
	lines := cart.Lines
	if cart.Currency.IsZero() || cart.Step < 0 || len(lines) > MaxLines {
		return false
	}
	q.Lines = slices.Grow(q.Lines, len(lines))[:len(lines)]
	shipping, known := q.classify(lines)
	if !known || !q.sum(lines) || !linesOnStep(lines, q.Step) {
		return false
	}
	if shipping {
		q.ship()
	}
	if !allCovered(terms) {
		q.uncover(terms)
	}
	return true
}

// classify marks all lines except shipping as eligible. It reports whether there is shipping, and
// whether the kinds and texts of all lines are well formed.
func (q *Quote) classify(lines []Line) (shipping, ok bool) {
	quoted := q.Lines[:len(lines)]
	for i := range lines {
		l := &lines[i]
		class, known := l.Kind.implied()
		if !known || !l.ordinary() {
			if class, known = l.wellFormed(); !known {
				return false, false
			}
		}
		quoted[i].Eligible = class != ShippingClass
		if class == ShippingClass {
			shipping = true
		}
	}
	return shipping, true
}

// sum copies the lines and adds them up, as if all were eligible. It reports whether all amounts are
// within bounds. It collects the signs and checks them once at the end, because that is faster.
func (q *Quote) sum(lines []Line) bool {
	var all, units, free, negative int64
	quotedLines := q.Lines[:len(lines)]
	for i := range lines {
		line, quoted := &lines[i], &quotedLines[i]
		high, low := bits.Mul64(uint64(line.UnitPrice), uint64(line.Quantity)) //nolint:gosec // negative looks at the signs
		subtotal, excess := int64(low), int64(high)                            //nolint:gosec // below 2^62 without a sign
		all += subtotal
		units += line.Quantity
		free += line.Quantity & ((line.UnitPrice - 1) >> 63)
		negative |= line.UnitPrice | (line.Quantity - 1) | subtotal | -excess | all | units
		quoted.Line = *line
		quoted.Subtotal, quoted.Discount, quoted.Total = subtotal, 0, subtotal
	}
	q.Subtotal, q.EligibleSubtotal, q.units = all, all, units-free
	return negative >= 0
}

// ship moves the lines that are not eligible from the subtotal to the shipping cost.
func (q *Quote) ship() {
	for i := range q.Lines {
		if l := &q.Lines[i]; !l.Eligible {
			q.Shipping += l.Subtotal
			q.units -= l.pricedUnits()
		}
	}
	q.Subtotal -= q.Shipping
	q.EligibleSubtotal = q.Subtotal
}

// pricedUnits returns the number of units of the line, or 0 if they are free.
func (l *QuotedLine) pricedUnits() int64 {
	if l.UnitPrice == 0 {
		return 0
	}
	return l.Quantity
}

func linesOnStep(lines []Line, step int64) bool {
	return step <= 1 || !slices.ContainsFunc(lines, func(l Line) bool { return l.UnitPrice%step != 0 })
}

func allCovered(terms []Terms) bool {
	for i := range terms {
		if terms[i].Eligible == nil {
			return true
		}
	}
	return false
}

// uncover marks lines that no coupon covers as not eligible.
func (q *Quote) uncover(terms []Terms) {
	for i := range q.Lines {
		l := &q.Lines[i]
		if l.Eligible && !anyCovers(terms, i) {
			l.Eligible = false
			q.EligibleSubtotal -= l.Subtotal
			q.units -= l.pricedUnits()
		}
	}
}

func anyCovers(terms []Terms, line int) bool {
	for i := range terms {
		if terms[i].Eligible[line] {
			return true
		}
	}
	return false
}

// one prices a single coupon whose discount needs only the subtotals of lines.
func (q *Quote) one(t *Terms) {
	c := &q.Coupons[0]
	c.copy(t)
	c.EligibleSubtotal, c.EligibleQuantity = q.EligibleSubtotal, q.units
	c.Discount = t.Discount.ofLines(q, q.EligibleSubtotal)
	c.gives, c.lowers = c.Discount > 0, c.Discount > 0
	q.apply(c.Discount)
}

// several prices coupons whose discounts may depend on single lines and units.
func (q *Quote) several(cart *Cart, terms []Terms) {
	for i := range q.Coupons {
		q.list(i, &terms[q.work.order[i]])
	}
	if !q.byLines(terms) {
		q.combine(cart, terms)
	}
}

// copy copies the terms without the masks.
func (c *QuotedCoupon) copy(t *Terms) {
	c.ID, c.Group, c.Terms, c.Refund, c.Discount, c.eligible, c.bought = t.ID, t.Group, t.Discount, t.Refund, 0, nil, nil
	c.Refund.Policy = t.Refund.Policy.For(t.Discount.kind)
}

// list writes a coupon without its amount to the quote.
func (q *Quote) list(i int, t *Terms) {
	c := &q.Coupons[i]
	c.copy(t)
	if t.Bought != nil {
		c.bought = q.mask(t.Bought)
	}
	if t.Eligible == nil { // a nil mask covers all lines that can be eligible
		c.EligibleSubtotal, c.EligibleQuantity = q.EligibleSubtotal, q.units
		return
	}
	c.EligibleSubtotal, c.EligibleQuantity = 0, 0
	c.eligible = q.mask(t.Eligible)
	for j, covered := range c.eligible {
		l := &q.Lines[j]
		if covered {
			c.EligibleSubtotal += l.Subtotal
			c.EligibleQuantity += l.pricedUnits()
		}
	}
}

// mask copies a mask and clears shipping lines. A cart without lines needs no mask.
func (q *Quote) mask(of []bool) []bool {
	if len(of) == 0 {
		return nil
	}
	first := len(q.masks)
	for i, set := range of {
		q.masks = append(q.masks, set && q.Lines[i].ClassOf() != ShippingClass)
	}
	return q.masks[first:len(q.masks):len(q.masks)]
}

// apply spreads the discount over the lines. The discount must be within [0, EligibleSubtotal] and a
// multiple of the step.
func (q *Quote) apply(discount int64) {
	q.Discount = discount
	q.Total = q.Subtotal - discount + q.Shipping
	switch discount {
	case 0:
		return
	case q.EligibleSubtotal:
		for i := range q.Lines {
			if l := &q.Lines[i]; l.Eligible {
				l.Discount, l.Total = l.Subtotal, 0
			}
		}
		return
	}
	var few [16]share // up to 16 lines need no heap memory
	shares := few[:min(len(q.Lines), len(few))]
	if len(q.Lines) > len(few) {
		q.work.shares = resize(q.work.shares, len(q.Lines))
		shares = q.work.shares
	}
	allocate(q.Lines, discount, q.EligibleSubtotal, max(q.Step, 1), shares)
}

// Clone returns a copy of the quote that shares no memory with the original.
func (q Quote) Clone() Quote {
	q.Lines, q.Coupons = slices.Clone(q.Lines), slices.Clone(q.Coupons)
	q.parts, q.groups, q.ends, q.amounts = slices.Clone(q.parts), slices.Clone(q.groups), slices.Clone(q.ends), slices.Clone(q.amounts)
	for i := range q.Coupons {
		c := &q.Coupons[i]
		c.eligible, c.bought = slices.Clone(c.eligible), slices.Clone(c.bought)
	}
	q.masks, q.work = nil, workspace{}
	return q
}

// Equal reports whether q and r have the same prices, lines, coupons and allocations. Equal
// treats nil slices like empty slices. Package go-cmp uses Equal to compare values.
func (q Quote) Equal(r Quote) bool {
	if q.Currency != r.Currency || q.Step != r.Step || q.Subtotal != r.Subtotal || q.EligibleSubtotal != r.EligibleSubtotal ||
		q.Discount != r.Discount || q.Shipping != r.Shipping || q.Total != r.Total {
		return false
	}
	return slices.Equal(q.Lines, r.Lines) && slices.EqualFunc(q.Coupons, r.Coupons, QuotedCoupon.Equal) &&
		slices.Equal(q.Allocations(), r.Allocations())
}

// Allocation is what one coupon takes off like units of one line.
type Allocation struct {
	// Coupon is an index in Quote.Coupons, and Line one in Quote.Lines.
	Coupon int
	Line   int
	// Unit is the first of the units, counted from 0 within the line.
	Unit int64
	// Quantity is the number of units.
	Quantity int64
	// Amount is what the coupon takes off each unit, in minor units. It is greater than 0.
	Amount int64
}

// Allocations returns what each coupon takes off which units, by line, unit and coupon. The
// amounts of a coupon sum to its Discount. A quote whose Lines or Coupons were changed since it was
// priced may have none.
func (q Quote) Allocations() (list []Allocation) {
	coupons := len(q.Coupons)
	if coupons == 0 || !q.explained() {
		return nil
	}
	for i := range q.Lines {
		if q.Lines[i].Discount == 0 {
			continue
		}
		groups, amounts := q.rows(i, new(rowRoom))
		unit := int64(0)
		for j, g := range groups {
			for c := range coupons {
				list = appendAllocation(list, Allocation{c, i, unit, g.Quantity, amounts[j*coupons+c]})
			}
			unit += g.Quantity
		}
	}
	return list
}

// rowRoom is memory for the groups of a line with at most two groups.
type rowRoom struct {
	groups  [2]UnitGroup
	amounts [2]int64
}

// rows returns the groups of units of a line, and per group the discount of a unit by each coupon. Both
// are valid until room is used again.
func (q *Quote) rows(line int, room *rowRoom) (groups []UnitGroup, amounts []int64) {
	switch l := &q.Lines[line]; {
	case len(q.ends) > 0:
		return q.grouped(line)
	case len(q.parts) > 0:
		return q.unfold(line)
	default:
		groups, amounts = l.derive(room.groups[:0], q.Step), room.amounts[:0]
		for _, g := range groups {
			if len(q.Coupons) > 0 {
				amounts = append(amounts, l.UnitPrice-g.UnitPrice)
			}
		}
		return groups, amounts
	}
}

// grouped returns the groups that the quote stores for a line. It must be called only if the quote has
// groups.
func (q *Quote) grouped(line int) (groups []UnitGroup, amounts []int64) {
	first, end, coupons := 0, q.ends[line], len(q.Coupons)
	if line > 0 {
		first = q.ends[line-1]
	}
	return q.groups[first:end], q.amounts[first*coupons : end*coupons]
}

func appendAllocation(dst []Allocation, a Allocation) []Allocation {
	if a.Amount == 0 {
		return dst
	}
	return append(dst, a)
}

// UnitGroup is a group of units with the same price.
type UnitGroup struct {
	// Quantity is the number of units in the group. It is at least 1.
	Quantity int64
	// UnitPrice is the price of one unit after the discounts, in minor units.
	UnitPrice int64
}
