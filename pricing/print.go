package pricing

import (
	"fmt"
	"strings"
)

// String returns the quote for logs and failed tests: subtotal, discount, shipping and total, then
// each line, then what each coupon takes off.
//
//	EUR 30.00 - 10.00 + 4.90 = 24.90; line A: 3 x 10.00 - 10.00 = 20.00; line S: 1 x 4.90 = 4.90; coupon cpn_1: 10.00
func (q Quote) String() string {
	amount := q.Currency.Format
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s - %s + %s = %s", q.Currency, amount(q.Subtotal), amount(q.Discount), amount(q.Shipping), amount(q.Total))
	for i := range q.Lines {
		l := &q.Lines[i]
		fmt.Fprintf(&text, "; line %s: %d x %s", l.ID, l.Quantity, amount(l.UnitPrice))
		if l.Eligible {
			fmt.Fprintf(&text, " - %s", amount(l.Discount))
		}
		fmt.Fprintf(&text, " = %s", amount(l.Total))
	}
	for i := range q.Coupons {
		fmt.Fprintf(&text, "; coupon %s: %s", q.Coupons[i].ID, amount(q.Coupons[i].Discount))
	}
	return text.String()
}

// GoString formats the quote for the messages of failed tests; see [Quote.String].
func (q Quote) GoString() string { return fmt.Sprintf("pricing.Quote(%s)", q) }

// String returns the refund for logs and failed tests: the amount, then the returned lines by their
// index in the quote, then the discount that each coupon takes back.
//
//	EUR 20.00 of 20.00 + 0.00; line 0: 2 for 13.33; coupon cpn_1: 6.67
func (r Refund) String() string {
	amount := r.Currency.Format
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s of %s + %s", r.Currency, amount(r.Amount), amount(r.Subtotal), amount(r.Shipping))
	for _, l := range r.Lines {
		fmt.Fprintf(&text, "; line %d: %d for %s", l.Line, l.Quantity, amount(l.Amount))
	}
	for _, c := range r.Coupons {
		fmt.Fprintf(&text, "; coupon %s: %s", c.ID, amount(c.Discount))
	}
	return text.String()
}

// GoString formats the refund for the messages of failed tests; see [Refund.String].
func (r Refund) GoString() string { return fmt.Sprintf("pricing.Refund(%s)", r) }
