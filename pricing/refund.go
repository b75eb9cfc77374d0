package pricing

import (
	"math"
	"slices"
)

// Returns tells what is returned of a quote.
type Returns struct {
	// Lines are the returned units, line by line. No line occurs twice.
	Lines []LineReturn
	// Shipping returns all units of shipping lines that were not returned before.
	Shipping bool
	// All returns everything that was not returned before. If All is true, Lines is empty and
	// Shipping is false.
	All bool
}

// LineReturn tells what is returned of one line.
type LineReturn struct {
	// Line is an index in Quote.Lines; see [Quote.LineIndex].
	Line int
	// Quantity is the number of returned units. It must be at least 1.
	Quantity int64
	// Whole returns all units of the line that were not returned before. If Whole is true,
	// Quantity must be 0.
	Whole bool
}

// Refunded is the sum of all earlier refunds of a quote; see [Refunded.Add]. The zero Refunded
// is that of a quote without a refund.
type Refunded struct {
	// Amount is the amount that was refunded, in minor units.
	Amount int64
	// Units has the number of returned units of each line. Units may be shorter than
	// Quote.Lines. Nothing was returned of the other lines.
	Units []int64
	// Discounts has the discount that each coupon has taken back, in minor units. Discounts may
	// be shorter than Quote.Coupons.
	Discounts []int64
}

// Add adds a refund to the sum. A sum that does not fit in an int64 becomes math.MaxInt64, and no
// quote accepts it.
func (r *Refunded) Add(refund Refund) {
	r.Amount = saturated(r.Amount, refund.Amount)
	for _, l := range refund.Lines {
		if l.Line < 0 || l.Line >= MaxLines {
			r.Amount = math.MaxInt64
			continue
		}
		r.Units = addAt(r.Units, l.Line, l.Quantity)
	}
	for i, c := range refund.Coupons {
		r.Discounts = addAt(r.Discounts, i, c.Discount)
	}
}

func addAt(sums []int64, i int, n int64) []int64 {
	if missing := i + 1 - len(sums); missing > 0 {
		sums = append(sums, make([]int64, missing)...)
	}
	sums[i] = saturated(sums[i], n)
	return sums
}

func saturated(a, b int64) int64 {
	if sum, ok := addAmounts(a, b); ok && a >= 0 && b >= 0 {
		return sum
	}
	return math.MaxInt64
}

func (r *Refunded) units(line int) int64 {
	if line < len(r.Units) {
		return r.Units[line]
	}
	return 0
}

func (r *Refunded) discount(coupon int) int64 {
	if coupon < len(r.Discounts) {
		return r.Discounts[coupon]
	}
	return 0
}

// Refund is what a customer gets back for returned units. All amounts are in minor units of its
// Currency. Amount and the discounts of the coupons sum to Subtotal and Shipping.
type Refund struct {
	Currency Currency
	// Amount is the amount that the customer gets back.
	Amount int64
	// Subtotal is the list price of the returned units except shipping.
	Subtotal int64
	// Shipping is the price of the returned shipping.
	Shipping int64
	// Lines are the returned units, in the order of Quote.Lines.
	Lines []RefundedLine
	// Coupons has an entry for each coupon of the quote, in the order of Quote.Coupons.
	Coupons []RefundedCoupon

	work refundWork // memory that Recompute reuses
}

// RefundedLine tells what was returned of one line.
type RefundedLine struct {
	// Line is an index in Quote.Lines.
	Line int
	// Quantity is the number of returned units.
	Quantity int64
	// Amount is what the customer has paid for the returned units, in minor units. With the
	// policy [Rebill], the refund may be another amount.
	Amount int64
}

// RefundedCoupon is the part of one coupon in a refund.
type RefundedCoupon struct {
	ID string
	// Discount is the discount that the coupon takes back, in minor units. It is at least 0. It
	// is the discount of the returned units and, with the policy [Rebill], the discount that the
	// rest of the order no longer earns.
	Discount int64
}

// LineIndex returns the index of the line with the given ID. If no line or several lines have the
// ID, LineIndex returns false.
func (q Quote) LineIndex(id string) (index int, ok bool) {
	for i := range q.Lines {
		if q.Lines[i].ID != id {
			continue
		}
		if ok {
			return 0, false
		}
		index, ok = i, true
	}
	return index, ok
}

// Refund computes what is refunded for returned units. The argument before is the sum of the
// earlier refunds of the quote. Refund reads the recorded allocations and never prices the cart
// again. The units of a line are returned from the most expensive to the cheapest, and like units
// in the order of [Quote.Allocations]. docs/refunds.md has the arithmetic.
//
// Refunds have these properties:
//
//   - If everything is returned, the refunds sum to the Total of the quote.
//   - The refunds never sum to more than what was paid for the returned units if all coupons have
//     the policy [Keep]. They never sum to more than the Total of the quote.
//   - If all coupons have the policy [Keep], units that are returned one by one give the same sum
//     as units that are returned together.
//
// Refund returns a [*validation.Error] that names every invalid field in these cases:
//
//   - A quantity is below 1, or greater than what is left of the line (returns[1].quantity).
//   - A line does not exist, or is returned twice (returns[1].line).
//   - Nothing is returned, or nothing is left.
//   - The argument before is not the sum of refunds of the quote (before.units[2]).
//   - The coupons of the quote are inconsistent; see [Quote.Validate].
func (q Quote) Refund(before Refunded, now Returns) (Refund, error) {
	var r Refund
	if err := r.Recompute(&q, before, now); err != nil {
		return Refund{}, err
	}
	r.work = refundWork{}
	return r, nil
}

// Recompute is like [Quote.Refund] but stores the result in the refund and reuses its memory.
// Repeated calls with quotes of the same size allocate no memory. On error, the refund is empty.
// While Recompute runs, no other goroutine may use the refund or a copy that shares its memory.
func (r *Refund) Recompute(q *Quote, before Refunded, now Returns) error {
	r.reset(q.Currency)
	if !q.explained() || !r.work.take(q, &before, &now) {
		r.reset(Currency{})
		return refundFaults(q, before, now)
	}
	r.count(q, &before)
	if !r.settle(q, &before) {
		faults := r.beforeFaults(q, &before)
		r.reset(Currency{})
		return faults
	}
	return nil
}

func (r *Refund) reset(c Currency) {
	r.Currency, r.Amount, r.Subtotal, r.Shipping = c, 0, 0, 0
	r.Lines, r.Coupons = r.Lines[:0], r.Coupons[:0]
}

// explained reports whether the quote has the discount of each coupon on each unit.
func (q *Quote) explained() bool {
	lines, coupons := len(q.Lines), len(q.Coupons)
	for i := range q.Coupons {
		c := &q.Coupons[i]
		if c.eligible != nil && len(c.eligible) != lines || c.bought != nil && len(c.bought) != lines {
			return false
		}
	}
	switch {
	case coupons > MaxCoupons:
		return false
	case len(q.ends) > 0:
		return len(q.ends) == lines && q.ends[lines-1] == len(q.groups) && len(q.amounts) == len(q.groups)*coupons
	case len(q.parts) > 0:
		return len(q.parts) == lines*coupons
	}
	return coupons < 2 || lines == 0
}

// refundWork is the memory of Recompute.
type refundWork struct {
	now      []int64 // units returned now, by line
	returned []int64 // discounts of all returned units, by coupon
	wants    []int64 // by coupon: the discount that it takes back now
	rows     []refundRow
	derived  []UnitGroup
	amounts  []int64
	units    workspace
	gifts    []gift
	listed   int64 // list price of the units returned before
}

// refundRow is a group of equal units of one line.
type refundRow struct {
	quantity, price int64
	amounts         []int64 // discount of a unit by each coupon
}

// take reads the requested return. It reports whether the request is well formed.
func (w *refundWork) take(q *Quote, before *Refunded, now *Returns) bool {
	if len(before.Units) > len(q.Lines) || len(before.Discounts) > len(q.Coupons) || len(now.Lines) > MaxLines {
		return false
	}
	w.now = resize(w.now, len(q.Lines))
	clear(w.now)
	for i := range before.Units {
		if before.Units[i] < 0 || before.Units[i] > q.Lines[i].Quantity {
			return false
		}
	}
	if now.All {
		return len(now.Lines) == 0 && !now.Shipping && w.rest(q, before, false)
	}
	for _, l := range now.Lines {
		if l.Line < 0 || l.Line >= len(q.Lines) || w.now[l.Line] != 0 {
			return false
		}
		left, quantity := q.Lines[l.Line].Quantity-before.units(l.Line), l.Quantity
		if l.Whole {
			quantity += left
		}
		if l.Whole != (l.Quantity == 0) || quantity < 1 || quantity > left {
			return false
		}
		w.now[l.Line] = quantity
	}
	if now.Shipping {
		return w.rest(q, before, true)
	}
	return len(now.Lines) > 0
}

// rest requests all remaining units, or all remaining shipping. It reports whether any remain. The
// request must not have shipping yet.
func (w *refundWork) rest(q *Quote, before *Refunded, shipping bool) bool {
	found := false
	for i := range q.Lines {
		l := &q.Lines[i]
		if shipping && l.ClassOf() != ShippingClass {
			continue
		}
		if w.now[i] != 0 {
			return false
		}
		w.now[i] = l.Quantity - before.units(i)
		found = found || w.now[i] > 0
	}
	return found
}

// count adds up the returned units and their discounts by coupon.
func (r *Refund) count(q *Quote, before *Refunded) {
	w := &r.work
	w.returned = resize(w.returned, len(q.Coupons))
	clear(w.returned)
	w.listed = 0
	for i := range q.Lines {
		l, earlier, units := &q.Lines[i], before.units(i), w.now[i]
		if earlier+units == 0 {
			continue
		}
		w.load(q, i)
		w.listed += earlier * l.UnitPrice
		paid, skip, left := int64(0), earlier, units
		for _, g := range w.rows {
			was := min(skip, g.quantity)
			is := min(left, g.quantity-was)
			skip, left = skip-was, left-is
			paid += is * g.price
			for c, amount := range g.amounts {
				w.returned[c] += (was + is) * amount
			}
		}
		if units == 0 {
			continue
		}
		r.Lines = append(r.Lines, RefundedLine{Line: i, Quantity: units, Amount: paid})
		if l.ClassOf() == ShippingClass {
			r.Shipping += units * l.UnitPrice
		} else {
			r.Subtotal += units * l.UnitPrice
		}
	}
}

// load reads the groups of equal units of a line, in the order of their return.
func (w *refundWork) load(q *Quote, line int) {
	l, coupons := &q.Lines[line], len(q.Coupons)
	w.rows = w.rows[:0]
	switch {
	case len(q.ends) > 0:
		groups, amounts := q.grouped(line)
		for i, g := range groups {
			w.row(g.Quantity, g.UnitPrice, amounts[i*coupons:][:coupons])
		}
	case len(q.parts) > 0:
		w.units.unfold(q, line)
		for i, s := range w.units.segments {
			w.row(s.quantity, s.left*max(q.Step, 1), w.units.amounts[i*coupons:][:coupons])
		}
	default:
		w.derived, w.amounts = l.derive(w.derived[:0], q.Step), w.amounts[:0]
		for _, g := range w.derived {
			w.amounts = append(w.amounts, l.UnitPrice-g.UnitPrice)
		}
		for i, g := range w.derived {
			w.row(g.Quantity, g.UnitPrice, w.amounts[i:][:coupons])
		}
	}
}

// row inserts a group after the groups that cost the same or more.
func (w *refundWork) row(quantity, price int64, amounts []int64) {
	at := len(w.rows)
	for at > 0 && w.rows[at-1].price < price {
		at--
	}
	w.rows = slices.Insert(w.rows, at, refundRow{quantity, price, amounts})
}

// settle computes the discount that each coupon takes back, and the amount for the customer. It reports
// whether the earlier refunds belong to the quote.
func (r *Refund) settle(q *Quote, before *Refunded) bool {
	w, step := &r.work, max(q.Step, 1)
	w.wants = resize(w.wants, len(q.Coupons))
	taken, sum, fits := int64(0), int64(0), true
	for c := range q.Coupons {
		earlier := before.discount(c)
		given := w.returned[c] + w.lost(q, c, before)
		w.wants[c] = given - earlier
		if earlier < 0 || earlier > given || !onStep(earlier, q.Step) {
			return false
		}
		taken += earlier
		var ok bool
		sum, ok = addAmounts(sum, w.wants[c])
		fits = fits && ok
	}
	if before.Amount != w.listed-taken || before.Amount < 0 {
		return false
	}
	listed := r.Subtotal + r.Shipping
	if r.Amount = listed - sum; !fits || r.Amount < 0 {
		r.Amount = 0
		for c := range w.wants {
			w.wants[c] = inSteps(w.wants[c], step)
		}
		cut(w.wants, inSteps(listed, step))
		for c := range w.wants {
			w.wants[c] *= step
		}
	}
	for c := range q.Coupons {
		r.Coupons = append(r.Coupons, RefundedCoupon{ID: q.Coupons[c].ID, Discount: w.wants[c]})
	}
	return true
}

// Clone returns a copy of the refund that shares no memory with the original.
func (r Refund) Clone() Refund {
	r.Lines, r.Coupons, r.work = slices.Clone(r.Lines), slices.Clone(r.Coupons), refundWork{}
	return r
}

// Equal reports whether r and s are the same refund. Equal treats nil slices like empty slices.
// Package go-cmp uses Equal to compare values.
func (r Refund) Equal(s Refund) bool {
	return r.Currency == s.Currency && r.Amount == s.Amount && r.Subtotal == s.Subtotal && r.Shipping == s.Shipping &&
		slices.Equal(r.Lines, s.Lines) && slices.Equal(r.Coupons, s.Coupons)
}
