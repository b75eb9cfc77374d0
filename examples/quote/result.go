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

// quoter answers one document after another in the same memory.
type quoter struct {
	document document
	result   eligibility.Result
	set      eligibility.SetResult
	none     []bool // no line is eligible
	units    []pricing.UnitGroup
}

// appendResult appends the answer to a document as one line of JSON.
func (q *quoter) appendResult(dst, raw []byte, now func() time.Time) ([]byte, error) {
	if err := q.document.decode(raw, now); err != nil {
		return dst, err
	}
	if err := q.price(); err != nil {
		return dst, err
	}
	return q.append(dst)
}

// price fills the result.
func (q *quoter) price() error {
	d := &q.document
	if d.listed {
		return q.set.Reevaluate(d.set, d.cart, d.question)
	}
	if d.couponed {
		return q.result.Reevaluate(d.coupon, d.cart, d.question)
	}
	q.none = append(q.none[:0], make([]bool, len(d.cart.Lines))...)
	q.result.Decision = eligibility.Decision{}
	return q.result.Quote.Reprice(d.cart, pricing.Terms{Eligible: q.none})
}

func (q *quoter) append(dst []byte) ([]byte, error) {
	quote := q.quote()
	dst = appendText(append(dst, `{"id":`...), q.document.id)
	dst = append(dst, `,"applied":`...)
	dst = strconv.AppendBool(dst, q.applied())
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
		return q.appendCoupons(dst)
	}
	dst, err := appendReasons(append(dst, `,"rejections":`...), q.result.Decision.Reasons())
	return append(dst, '}'), err
}

// quote is the priced cart of the document.
func (q *quoter) quote() *pricing.Quote {
	if q.document.listed {
		return &q.set.Quote
	}
	return &q.result.Quote
}

// applied reports whether a coupon applies.
func (q *quoter) applied() bool {
	if q.document.listed {
		return len(q.set.Quote.Coupons) > 0
	}
	return q.document.couponed && q.result.Decision.Allowed()
}

// appendCoupons appends what each coupon of the list does, in the order of the list, and the
// reasons of all.
func (q *quoter) appendCoupons(dst []byte) ([]byte, error) {
	dst = append(dst, `,"coupons":[`...)
	var err error
	for i := range q.document.set {
		o := q.outcome(q.document.set[i].Coupon.ID)
		dst = appendText(append(appendComma(dst, i), `{"code":`...), o.Code.String())
		dst = strconv.AppendBool(append(dst, `,"applied":`...), o.Decision.Allowed())
		dst = appendAmount(dst, "discount", q.set.Quote.Currency, o.Discount)
		if dst, err = appendReasons(append(dst, `,"rejections":`...), o.Decision.Reasons()); err != nil {
			return dst, err
		}
		dst = append(dst, '}')
	}
	var all []coupon.Reason
	for _, o := range q.set.Coupons {
		all = append(all, o.Decision.Reasons()...)
	}
	slices.SortStableFunc(all, coupon.CompareReasons)
	dst, err = appendReasons(append(dst, `],"rejections":`...), all)
	return append(dst, '}'), err
}

func (q *quoter) outcome(couponID string) eligibility.Outcome {
	at := slices.IndexFunc(q.set.Coupons, func(o eligibility.Outcome) bool { return o.CouponID == couponID })
	return q.set.Coupons[at] // each coupon of the document has an outcome
}

func (q *quoter) appendLine(dst []byte, line int) []byte {
	quote := q.quote()
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

// appendAmount appends a field of money behind another field.
func appendAmount(dst []byte, name string, c pricing.Currency, minor int64) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	return append(append(dst, c.Format(minor)...), '"')
}

// appendText appends a JSON string as encoding/json writes it.
func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		if b := text[i]; b < ' ' || b > '~' || b == '"' || b == '\\' || b == '<' || b == '>' || b == '&' {
			quoted, err := json.Marshal(text)
			if err != nil { // no string makes it fail
				quoted = []byte(`""`)
			}
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}
