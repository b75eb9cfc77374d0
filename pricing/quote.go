package pricing

import (
	"fmt"
	"slices"
)

// QuotedLine is a line of a cart with its price. Amounts are minor units. Only whole
// quotes have a JSON form; see [Quote.MarshalJSON].
type QuotedLine struct {
	Line
	// Eligible reports whether the discount covers the line.
	Eligible bool
	// Subtotal is the list price: UnitPrice times Quantity.
	Subtotal int64
	// Discount is the line's part of the discount, from 0 to Subtotal.
	Discount int64
	// Total is Subtotal - Discount.
	Total int64
	// Step is the step of the quote in minor units.
	Step int64
}

// Quote is a priced cart. Amounts are minor units of Currency. Copies of a quote share
// their lines: use [Quote.Clone] before [Quote.Reprice] if the copy is still read. The
// zero Quote is ready for Reprice.
type Quote struct {
	// Currency is the currency of the cart.
	Currency Currency
	// Step is the step of the cart. Every amount is a multiple of the step. 0 means no
	// step.
	Step int64
	// Subtotal is the list price of all lines except shipping.
	Subtotal int64
	// EligibleSubtotal is the list price of the eligible lines. The discount and a
	// coupon's minimum purchase refer to this amount.
	EligibleSubtotal int64
	// Discount is the sum of the line discounts, from 0 to EligibleSubtotal.
	Discount int64
	// Shipping is the price of the shipping lines.
	Shipping int64
	// Total is what the customer pays: Subtotal - Discount + Shipping.
	Total int64
	// Lines are the lines of the cart, in the same order.
	Lines []QuotedLine

	shares []share // scratch memory that Reprice keeps
}

// Price prices the cart with a discount on the eligible lines. eligible has one entry
// per line; nil means every line. Shipping lines are never discounted. The zero
// [Discount] prices the cart at list prices.
//
// Price returns a [*ValidationError] that lists every fault:
//
//   - the faults of [Cart.Validate]
//   - a fixed amount that [Discount.FitsCart] refuses
//   - an eligible slice of another length than the lines
func Price(cart Cart, discount Discount, eligible []bool) (Quote, error) {
	q := Quote{Lines: make([]QuotedLine, 0, min(len(cart.Lines), MaxLines))}
	if err := q.Reprice(cart, discount, eligible); err != nil {
		return Quote{}, err
	}
	q.shares = nil
	return q, nil
}

// Reprice prices a cart into q as [Price] does, and reuses the memory of q. Reprice
// allocates nothing if q has already held as many lines. After an error q is empty.
// While Reprice runs, no other goroutine may use q or a copy of q.
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

// Clone returns a copy that shares no memory with q.
func (q Quote) Clone() Quote {
	q.Lines = slices.Clone(q.Lines)
	q.shares = nil
	return q
}

// Equal reports whether q and r have the same prices and lines. Nil and empty lines are
// equal. go-cmp uses it.
func (q Quote) Equal(r Quote) bool {
	return q.Currency == r.Currency && q.Step == r.Step && q.Subtotal == r.Subtotal && q.EligibleSubtotal == r.EligibleSubtotal &&
		q.Discount == r.Discount && q.Shipping == r.Shipping && q.Total == r.Total && slices.Equal(q.Lines, r.Lines)
}

// UnitGroup is a number of units of a line with the same price.
type UnitGroup struct {
	// Quantity is the number of units, at least 1.
	Quantity int64
	// UnitPrice is the price of one unit after the discount, in minor units.
	UnitPrice int64
}

// Units splits the line into one or two groups of units with equal prices. The group
// with the higher price comes first. The prices differ by one step, or by one minor
// unit without a step. The groups sum to Total exactly. A line with a quantity of 0 or
// less returns nil.
func (l QuotedLine) Units() []UnitGroup { return l.AppendUnits(nil) }

// AppendUnits appends the groups of [QuotedLine.Units] to dst and returns the result.
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
