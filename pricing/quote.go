package pricing

import (
	"fmt"
	"slices"
)

// QuotedLine is a line of a cart with its price in the quote. All amounts are in minor
// units. A QuotedLine cannot be marshaled to JSON on its own. Marshal the whole [Quote]
// instead.
type QuotedLine struct {
	Line
	// Eligible reports whether the discount covers the line.
	Eligible bool
	// Subtotal is the list price of the line: UnitPrice times Quantity.
	Subtotal int64
	// Discount is the amount that is taken off the line. It is at least 0 and at most
	// Subtotal.
	Discount int64
	// Total is the price of the line after the discount: Subtotal - Discount.
	Total int64
	// Step is the step of the quote, in minor units.
	Step int64
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
	// EligibleSubtotal is the list price of the eligible lines. The discount is
	// computed from EligibleSubtotal. A coupon's minimum purchase is compared with
	// EligibleSubtotal.
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

	shares []share // scratch memory that Reprice keeps
}

// Price computes the price of a cart with a discount on the eligible lines. The slice
// eligible has one entry for each line of the cart. If the slice eligible is nil, all lines
// except shipping lines are eligible. Shipping lines are never discounted. With the zero
// [Discount], the quote has list prices.
//
// Price returns a [*ValidationError] in these cases:
//
//   - The cart is invalid; see [Cart.Validate].
//   - The discount does not fit the cart; see [Discount.FitsCart].
//   - The length of the slice eligible differs from the number of lines.
func Price(cart Cart, discount Discount, eligible []bool) (Quote, error) {
	q := Quote{Lines: make([]QuotedLine, 0, min(len(cart.Lines), MaxLines))}
	if err := q.Reprice(cart, discount, eligible); err != nil {
		return Quote{}, err
	}
	q.shares = nil
	return q, nil
}

// Reprice is like [Price] but stores the result in the quote and reuses its memory.
// Repeated calls with carts of the same size allocate no memory. Reprice can be called on
// the zero Quote. On error, the quote is empty. While Reprice runs, no other goroutine may
// use the quote or a copy that shares its lines.
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
	all, units, step := int64(0), int64(0), q.Step
	for i := range cart.Lines {
		line, quoted := &cart.Lines[i], &q.Lines[i]
		subtotal, ok := line.subtotal()
		if !ok || !line.wellFormed() || !onStep(line.UnitPrice, step) {
			return false
		}
		if all, ok = addAmounts(all, subtotal); !ok {
			return false
		}
		if units, ok = addAmounts(units, line.Quantity); !ok {
			return false
		}
		class := line.class()
		covered := class != ShippingClass && (eligible == nil || eligible[i])
		quoted.Line = *line
		quoted.Eligible, quoted.Subtotal, quoted.Discount, quoted.Total = covered, subtotal, 0, subtotal
		quoted.Step = step
		if class == ShippingClass {
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

// Clone returns a copy of the quote that shares no memory with the original.
func (q Quote) Clone() Quote {
	q.Lines = slices.Clone(q.Lines)
	q.shares = nil
	return q
}

// Equal reports whether q and r have the same prices and lines. Equal treats nil Lines like
// empty Lines. Package go-cmp uses Equal to compare values.
func (q Quote) Equal(r Quote) bool {
	return q.Currency == r.Currency && q.Step == r.Step && q.Subtotal == r.Subtotal && q.EligibleSubtotal == r.EligibleSubtotal &&
		q.Discount == r.Discount && q.Shipping == r.Shipping && q.Total == r.Total && slices.Equal(q.Lines, r.Lines)
}

// UnitGroup is a group of units with the same price.
type UnitGroup struct {
	// Quantity is the number of units in the group. It is at least 1.
	Quantity int64
	// UnitPrice is the price of one unit after the discount, in minor units.
	UnitPrice int64
}

// Units groups the units of the line by price. Units returns at most two groups. The group
// with the higher price comes first. The prices of two groups differ by one step, or by one
// minor unit if the line has no step. The prices of all units sum to the Total of the line.
// If the Quantity of the line is 0 or less, Units returns nil.
func (l QuotedLine) Units() []UnitGroup { return l.AppendUnits(nil) }

// AppendUnits is like [QuotedLine.Units] but appends the groups to a slice and returns the
// extended slice.
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
