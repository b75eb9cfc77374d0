package pricing

import (
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

// Validate checks that the amounts of the quote are consistent. Validate returns a
// [*validation.Error] in these cases:
//
//   - The currency is missing.
//   - The step of the quote is negative.
//   - The quote has more than [MaxLines] lines.
//   - An ID or an ItemID has more than [MaxLineIDLength] code points.
//   - The kind, the interval, the quantity or the unit price of a line is invalid; see
//     [Cart.Validate].
//   - The subtotal of a line is not its unit price times its quantity.
//   - The discount of a line is negative or greater than its subtotal.
//   - The total of a line is not its subtotal minus its discount.
//   - A line has a discount but is not eligible.
//   - A shipping line is eligible.
//   - A unit price or a discount is not a multiple of the step.
//   - A sum in the quote does not match the lines.
//   - The sum of the lines does not fit in an int64.
//
// Validate also checks that the coupons are sorted, that they cover eligible lines, and that
// their amounts and the groups of units sum to the discounts.
//
// Validate does not check how the discount was spread over the lines. The zero Quote is
// valid.
func (q Quote) Validate() error {
	var faults validation.Error
	for i := range q.Lines[:min(len(q.Lines), MaxLines)] {
		q.Lines[i].idFaults(i, &faults)
	}
	err := q.checkAmounts()
	faults.Merge("", err)
	if err == nil {
		faults.Merge("", q.checkCoupons())
	}
	return faults.Err()
}

// checkAmounts makes the checks of Validate except for the lengths of IDs. Quotes that were stored
// before that limit stay valid.
func (q Quote) checkAmounts() error {
	var faults validation.Error
	if q.Currency.IsZero() && !q.Equal(Quote{}) {
		faults.Add("currency", validation.Required, "a quote needs a currency")
	}
	stepFaults(q.Step, &faults)
	if len(q.Lines) > MaxLines {
		faults.Add("lines", validation.TooLong, tooManyLines())
		return faults.Err()
	}
	sums, fits := Quote{Currency: q.Currency}, true
	for i := range q.Lines {
		l := &q.Lines[i]
		before := len(faults.Fields)
		l.quotedFaults(i, &faults)
		l.stepFaults(i, &q, &faults)
		fits = fits && len(faults.Fields) == before && sums.add(l)
	}
	if fits {
		sums.Total = sums.Subtotal - sums.Discount + sums.Shipping
		sums.compare(&q, &faults)
	} else if len(faults.Fields) == 0 {
		faults.Add("total", validation.Overflow, "the sum of the lines is too large")
	}
	return faults.Err()
}

func (l *QuotedLine) quotedFaults(i int, faults *validation.Error) {
	l.faults(i, faults)
	if subtotal, ok := l.subtotal(); ok && l.Subtotal != subtotal {
		faults.Add(linePath(i, "subtotal"), validation.Mismatch, "must be the price times the quantity")
	}
	switch {
	case l.Discount < 0:
		faults.Add(linePath(i, "discount"), validation.TooSmall, "a discount is not negative")
	case l.Discount > l.Subtotal:
		faults.Add(linePath(i, "discount"), validation.TooLarge, "a discount is at most the subtotal")
	case l.Discount > 0 && !l.Eligible:
		faults.Add(linePath(i, "discount"), validation.NotAllowed, "only an eligible line is discounted")
	}
	if l.Eligible && l.ClassOf() == ShippingClass {
		faults.Add(linePath(i, "eligible"), validation.NotAllowed, "shipping is never discounted")
	}
	if l.Total != l.Subtotal-l.Discount {
		faults.Add(linePath(i, "total"), validation.Mismatch, "must be the subtotal less the discount")
	}
}

// stepFaults checks price and discount. The other amounts are multiples, sums and differences of these
// two.
func (l *QuotedLine) stepFaults(i int, q *Quote, faults *validation.Error) {
	if q.Step == 0 {
		return // without a step every amount is valid; return before paths are built
	}
	offStep(linePath(i, "unitPrice"), l.UnitPrice, q.Currency, q.Step, faults)
	offStep(linePath(i, "discount"), l.Discount, q.Currency, q.Step, faults)
}

// add adds a line without faults to the sums of q. ok is false on overflow.
func (q *Quote) add(l *QuotedLine) (ok bool) {
	if l.ClassOf() == ShippingClass {
		q.Shipping, ok = addAmounts(q.Shipping, l.Subtotal)
	} else {
		q.Subtotal, ok = addAmounts(q.Subtotal, l.Subtotal)
	}
	if _, within := addAmounts(q.Shipping, q.Subtotal); !ok || !within {
		return false
	}
	if l.Eligible {
		q.EligibleSubtotal += l.Subtotal // at most Subtotal
		q.Discount += l.Discount         // at most EligibleSubtotal
	}
	return true
}

// compare reports the totals of claimed that differ from the sums in q.
func (q *Quote) compare(claimed *Quote, faults *validation.Error) {
	for _, total := range [...]struct {
		field         string
		claimed, want int64
	}{
		{"subtotal", claimed.Subtotal, q.Subtotal},
		{"eligibleSubtotal", claimed.EligibleSubtotal, q.EligibleSubtotal},
		{"discount", claimed.Discount, q.Discount},
		{"shipping", claimed.Shipping, q.Shipping},
		{"total", claimed.Total, q.Total},
	} {
		if total.claimed != total.want {
			faults.Add(total.field, validation.Mismatch, fmt.Sprintf("is %s, but the lines add up to %s",
				q.Currency.Format(total.claimed), q.Currency.Format(total.want)))
		}
	}
}
