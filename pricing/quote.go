package pricing

import (
	"fmt"
	"slices"
)

// QuotedLine is a line of the cart with what it costs. Amounts are minor units. Like its
// [Line] it has no JSON form by itself; its [Quote] has.
type QuotedLine struct {
	Line
	// Eligible reports whether the discount covers the line.
	Eligible bool
	// Subtotal is the list price: UnitPrice times Quantity.
	Subtotal int64
	// Discount is this line's part of the discount, within [0, Subtotal].
	Discount int64
	// Total is Subtotal - Discount.
	Total int64
	// Step is the quote's: the amounts of the line and the prices of its units are
	// multiples of it.
	Step int64
}

// Quote is a priced cart. Amounts are minor units of Currency. These hold by
// construction: Subtotal is the sum of the lines that are not shipping, Shipping
// of those that are, Discount of the lines' discounts, and
// Total = Subtotal - Discount + Shipping.
//
// A Quote is a value, but its lines are a slice: use [Quote.Clone] before you
// reprice one that somebody else still reads. The zero Quote is that of no cart,
// ready for [Quote.Reprice]. It is stored as JSON; see [Quote.MarshalJSON].
type Quote struct {
	// Currency is the cart's.
	Currency Currency
	// Step is the cart's: every amount is a multiple of it. 0 is no step.
	Step int64
	// Subtotal is the list price of all lines but shipping.
	Subtotal int64
	// EligibleSubtotal is the list price of the eligible lines: the base of the
	// discount, and what a minimum purchase is compared with.
	EligibleSubtotal int64
	// Discount is taken off the eligible lines, within [0, EligibleSubtotal].
	Discount int64
	// Shipping is the price of the shipping lines.
	Shipping int64
	// Total is what the customer pays: Subtotal - Discount + Shipping.
	Total int64
	// Lines are the cart's lines, in its order.
	Lines []QuotedLine

	shares []share // scratch memory that Reprice keeps
}

// Price prices the cart with one discount over the eligible lines. eligible has
// one entry a line; nil means every line. A shipping line is never discounted,
// whatever eligible says. The zero [Discount] prices the cart at list prices.
//
// A malformed cart (see [Cart.Validate]), a fixed amount that does not fit it (see
// [Discount.FitsCart]) and an eligible slice of another length than the lines are
// a [*ValidationError] that lists every fault, and the quote is empty.
func Price(cart Cart, discount Discount, eligible []bool) (Quote, error) {
	q := Quote{Lines: make([]QuotedLine, 0, min(len(cart.Lines), MaxLines))}
	if err := q.Reprice(cart, discount, eligible); err != nil {
		return Quote{}, err
	}
	q.shares = nil
	return q, nil
}

// Reprice is [Price] into q, reusing its memory: once q has held a cart of this
// many lines, nothing is allocated. After an error q is empty. It must not run
// while another goroutine reads q or a copy of it.
func (q *Quote) Reprice(cart Cart, discount Discount, eligible []bool) error {
	q.reset(cart.Currency, cart.Step)
	if !q.take(cart, eligible) || discount.Fits(cart.Currency) != nil ||
		discount.kind == FixedAmount && !onStep(discount.amount.minor, cart.Step) {
		q.reset(Currency{}, 0)
		return faultsOf(cart, discount, eligible)
	}
	if q.Step == 0 { // saves a copy of the discount
		q.apply(discount.Of(q.EligibleSubtotal))
	} else {
		q.apply(discount.InSteps(q.EligibleSubtotal, q.Step))
	}
	return nil
}

// reset empties q field by field: a new Quote would be made beside and copied.
func (q *Quote) reset(currency Currency, step int64) {
	q.Currency, q.Step = currency, normalStep(step)
	q.Subtotal, q.EligibleSubtotal, q.Discount, q.Shipping, q.Total = 0, 0, 0, 0, 0
	q.Lines, q.shares = q.Lines[:0], q.shares[:0]
}

// take copies the lines and sums them; it reports whether all is well formed.
func (q *Quote) take(cart Cart, eligible []bool) bool {
	if cart.Currency.IsZero() || cart.Step < 0 || len(cart.Lines) > MaxLines ||
		eligible != nil && len(eligible) != len(cart.Lines) {
		return false
	}
	q.Lines = slices.Grow(q.Lines, len(cart.Lines))[:len(cart.Lines)]
	all, step := int64(0), q.Step
	for i := range cart.Lines {
		line, quoted := &cart.Lines[i], &q.Lines[i]
		subtotal, ok := line.subtotal()
		if !ok || !line.wellFormed() || !onStep(line.UnitPrice, step) {
			return false
		}
		if all, ok = addAmounts(all, subtotal); !ok {
			return false
		}
		covered := line.Kind != Shipping && (eligible == nil || eligible[i])
		quoted.Line = *line
		quoted.Eligible, quoted.Subtotal, quoted.Discount, quoted.Total = covered, subtotal, 0, subtotal
		quoted.Step = step
		if line.Kind == Shipping {
			q.Shipping += subtotal
		}
		if covered {
			q.EligibleSubtotal += subtotal
		}
	}
	q.Subtotal = all - q.Shipping
	return true
}

// faultsOf finds out, at leisure, everything that Reprice stumbled over.
func faultsOf(cart Cart, discount Discount, eligible []bool) error {
	var faults ValidationError
	faults.Merge("", cart.Validate())
	if eligible != nil && len(eligible) != len(cart.Lines) {
		faults.Add("eligible", FieldMismatch, fmt.Sprintf("%d entries for %d lines", len(eligible), len(cart.Lines)))
	}
	if !cart.Currency.IsZero() {
		faults.Merge("", discount.FitsCart(cart))
	}
	return faults.Err()
}

// apply spreads the discount, which is within [0, EligibleSubtotal] and on the step.
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
	q.shares = allocate(q.Lines, discount, q.EligibleSubtotal, max(q.Step, 1), q.shares)
}

// Clone returns a quote that shares no memory with q.
func (q Quote) Clone() Quote {
	q.Lines = slices.Clone(q.Lines)
	q.shares = nil
	return q
}

// Equal reports whether two quotes price the same lines the same way; go-cmp
// finds it. No lines equal an empty list of lines.
func (q Quote) Equal(r Quote) bool {
	return q.Currency == r.Currency && q.Step == r.Step && q.Subtotal == r.Subtotal && q.EligibleSubtotal == r.EligibleSubtotal &&
		q.Discount == r.Discount && q.Shipping == r.Shipping && q.Total == r.Total && slices.Equal(q.Lines, r.Lines)
}

// UnitGroup is a number of units of a line that cost the same. Its JSON form is the
// [Quote]'s.
type UnitGroup struct {
	// Quantity is at least 1.
	Quantity int64
	// UnitPrice is what one unit costs after the discount, in minor units.
	UnitPrice int64
}

// Units splits the line into units of equal price: with Total counted in steps, Total
// mod Quantity units at one step more than the rest, and without a step at one
// minor unit more. There are one or two groups, the dearer first, and they sum to
// Total exactly, in minor units where Total is off the step. A line of no quantity
// has none.
func (l QuotedLine) Units() []UnitGroup { return l.AppendUnits(nil) }

// AppendUnits appends the groups of [QuotedLine.Units] to dst and returns it.
func (l QuotedLine) AppendUnits(dst []UnitGroup) []UnitGroup {
	if l.Quantity < 1 {
		return dst
	}
	step := int64(1)
	if l.Step > 1 && l.Total%l.Step == 0 {
		step = l.Step
	}
	total := l.Total / step
	price, dearer := total/l.Quantity*step, total%l.Quantity
	if dearer > 0 {
		dst = append(dst, UnitGroup{Quantity: dearer, UnitPrice: price + step})
	}
	return append(dst, UnitGroup{Quantity: l.Quantity - dearer, UnitPrice: price})
}
