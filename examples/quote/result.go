package main

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// quoter answers one document after another in the same memory.
type quoter struct {
	document document
	result   eligibility.Result
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
	if d.couponed {
		return q.result.Reevaluate(d.coupon, d.cart, d.question)
	}
	q.none = append(q.none[:0], make([]bool, len(d.cart.Lines))...)
	q.result.Decision = eligibility.Decision{}
	return q.result.Quote.Reprice(d.cart, pricing.Terms{Eligible: q.none})
}

func (q *quoter) append(dst []byte) ([]byte, error) {
	quote := &q.result.Quote
	dst = appendText(append(dst, `{"id":`...), q.document.id)
	dst = append(dst, `,"applied":`...)
	dst = strconv.AppendBool(dst, q.document.couponed && q.result.Decision.Allowed())
	dst = appendText(append(dst, `,"currency":`...), quote.Currency.Code())
	amount := func(name string, minor int64) { dst = appendAmount(dst, name, quote.Currency, minor) }
	amount("subtotal", quote.Subtotal)
	amount("eligibleSubtotal", quote.EligibleSubtotal)
	amount("discount", quote.Discount)
	amount("shipping", quote.Shipping)
	amount("total", quote.Total)
	dst = append(dst, `,"lines":[`...)
	for i := range quote.Lines {
		dst = q.appendLine(appendComma(dst, i), &quote.Lines[i])
	}
	dst = append(dst, `],"rejections":`...)
	dst, err := appendReasons(dst, q.result.Decision)
	return append(dst, '}'), err
}

func (q *quoter) appendLine(dst []byte, l *pricing.QuotedLine) []byte {
	currency := q.result.Quote.Currency
	dst = appendText(append(dst, `{"id":`...), l.ID)
	dst = strconv.AppendBool(append(dst, `,"eligible":`...), l.Eligible)
	dst = appendAmount(dst, "subtotal", currency, l.Subtotal)
	dst = appendAmount(dst, "discount", currency, l.Discount)
	dst = appendAmount(dst, "total", currency, l.Total)
	dst = append(dst, `,"units":[`...)
	q.units = l.AppendUnits(q.units[:0])
	for i, u := range q.units {
		dst = strconv.AppendInt(append(appendComma(dst, i), `{"quantity":`...), u.Quantity, 10)
		dst = append(appendAmount(dst, "unitPrice", currency, u.UnitPrice), '}')
	}
	return append(dst, `]}`...)
}

func appendReasons(dst []byte, d eligibility.Decision) ([]byte, error) {
	if d.Allowed() {
		return append(dst, `[]`...), nil
	}
	text, err := json.Marshal(d.Reasons())
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
