package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// quoter answers documents one after another, in the same memory.
type quoter struct {
	document document
	result   eligibility.SetResult
	units    []pricing.UnitGroup
}

// appendResult appends the answer to a document as one line of JSON.
func (q *quoter) appendResult(dst, raw []byte, now func() time.Time) ([]byte, error) {
	if err := q.document.decode(raw, now); err != nil {
		return dst, err
	}
	if err := q.result.Reevaluate(q.document.set, q.document.cart, q.document.question); err != nil {
		return dst, err
	}
	return q.append(dst)
}

func (q *quoter) append(dst []byte) ([]byte, error) {
	quote := &q.result.Quote
	dst = appendText(append(dst, `{"id":`...), q.document.id)
	dst = append(dst, `,"applied":`...)
	dst = strconv.AppendBool(dst, len(quote.Coupons) > 0)
	dst = appendText(append(dst, `,"currency":`...), quote.Currency.Code())
	amount := func(name string, minor int64) { dst = appendAmount(dst, name, quote.Currency, minor) }
	amount("subtotal", quote.Subtotal)
	amount("eligibleSubtotal", quote.EligibleSubtotal)
	amount("discount", quote.Discount)
	amount("shipping", quote.Shipping)
	amount("total", quote.Total)
	dst = append(dst, `,"lines":[`...)
	for i := range quote.Lines {
		dst = q.appendLine(appendComma(dst, i), i)
	}
	dst = append(dst, ']')
	if q.document.listed {
		var err error
		if dst, err = q.appendCoupons(dst); err != nil {
			return dst, err
		}
	}
	var all []coupon.Reason
	for _, o := range q.result.Coupons {
		all = append(all, o.Decision.Reasons()...)
	}
	slices.SortStableFunc(all, coupon.CompareReasons)
	dst, err := appendReasons(append(dst, `,"rejections":`...), all)
	return append(dst, '}'), err
}

// appendCoupons appends the result of each coupon, in the order of the list.
func (q *quoter) appendCoupons(dst []byte) ([]byte, error) {
	dst = append(dst, `,"coupons":[`...)
	var err error
	for i := range q.document.set {
		o := q.outcome(q.document.set[i].Coupon.ID)
		dst = appendText(append(appendComma(dst, i), `{"code":`...), o.Code.String())
		dst = strconv.AppendBool(append(dst, `,"applied":`...), o.Decision.Allowed())
		dst = appendAmount(dst, "discount", q.result.Quote.Currency, o.Discount)
		if dst, err = appendReasons(append(dst, `,"rejections":`...), o.Decision.Reasons()); err != nil {
			return dst, err
		}
		dst = append(dst, '}')
	}
	return append(dst, ']'), nil
}

func (q *quoter) outcome(couponID string) eligibility.Outcome {
	at := slices.IndexFunc(q.result.Coupons, func(o eligibility.Outcome) bool { return o.CouponID == couponID })
	return q.result.Coupons[at] // each coupon of the document has an outcome
}

func (q *quoter) appendLine(dst []byte, line int) []byte {
	quote := &q.result.Quote
	l, currency := &quote.Lines[line], quote.Currency
	dst = appendText(append(dst, `{"id":`...), l.ID)
	dst = strconv.AppendBool(append(dst, `,"eligible":`...), l.Eligible)
	dst = appendAmount(dst, "subtotal", currency, l.Subtotal)
	dst = appendAmount(dst, "discount", currency, l.Discount)
	dst = appendAmount(dst, "total", currency, l.Total)
	dst = append(dst, `,"units":[`...)
	q.units = quote.AppendUnits(q.units[:0], line)
	for i, u := range q.units {
		dst = strconv.AppendInt(append(appendComma(dst, i), `{"quantity":`...), u.Quantity, 10)
		dst = append(appendAmount(dst, "unitPrice", currency, u.UnitPrice), '}')
	}
	return append(dst, `]}`...)
}

func appendReasons(dst []byte, reasons []coupon.Reason) ([]byte, error) {
	if len(reasons) == 0 {
		return append(dst, `[]`...), nil
	}
	text, err := json.Marshal(reasons)
	return append(dst, text...), err
}

func appendComma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

// appendAmount appends a field with an amount, after another field.
func appendAmount(dst []byte, name string, c pricing.Currency, minor int64) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	return append(append(dst, c.Format(minor)...), '"')
}

// appendText appends a JSON string in the format of encoding/json.
func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		if b := text[i]; b < ' ' || b > '~' || b == '"' || b == '\\' || b == '<' || b == '>' || b == '&' {
			quoted, err := json.Marshal(text)
			if err != nil { // cannot fail for a string
				quoted = []byte(`""`)
			}
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}
