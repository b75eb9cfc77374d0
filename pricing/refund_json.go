package pricing

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// MaxReturnsDocument is the maximum size of [Returns] in JSON, in bytes.
const MaxReturnsDocument = 2 << 20

type returnsDocument[Lines any] struct {
	Returns  Lines `json:"returns,omitempty"`
	Shipping bool  `json:"shipping,omitempty"`
	All      bool  `json:"all,omitempty"`
}

type lineReturnDocument struct {
	Line     json.Number `json:"line"`
	Quantity json.Number `json:"quantity,omitempty"`
	Whole    bool        `json:"whole,omitempty"`
}

var (
	returnsReader    = strictjson.For[returnsDocument[json.RawMessage]]()
	lineReturnReader = strictjson.For[lineReturnDocument]()
)

// MarshalJSON returns what is returned as JSON. Fields that are false or empty are omitted:
//
//	{"returns":[{"line":0,"quantity":2},{"line":3,"whole":true}],"shipping":true}
func (n Returns) MarshalJSON() ([]byte, error) {
	d := returnsDocument[[]lineReturnDocument]{Shipping: n.Shipping, All: n.All}
	for _, l := range n.Lines {
		d.Returns = append(d.Returns, lineReturnDocument{integer(int64(l.Line)), optional(l.Quantity), l.Whole})
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads the JSON form that [Returns.MarshalJSON] writes. The field "line" is
// required. A field that is absent or null is read as its zero value. [Quote.Refund] checks the
// values.
//
// For malformed input, UnmarshalJSON returns a [*validation.Error] that lists unknown, repeated and
// malformed fields, and leaves its receiver unchanged. At most [MaxLines] lines and
// [MaxReturnsDocument] bytes are read.
func (n *Returns) UnmarshalJSON(data []byte) error {
	if len(data) > MaxReturnsDocument {
		return validation.New("", validation.TooLong, fmt.Sprintf("at most %d bytes are allowed", MaxReturnsDocument))
	}
	var d returnsDocument[json.RawMessage]
	var r reader
	if !r.read(returnsReader.Object(data, &d)) {
		return r.faults.Err()
	}
	read := Returns{Lines: list(&r, "returns", d.Returns, MaxLines, readReturn), Shipping: d.Shipping, All: d.All}
	if err := r.faults.Err(); err != nil {
		return err
	}
	*n = read
	return nil
}

func readReturn(data json.RawMessage) (l LineReturn, err error) {
	var d lineReturnDocument
	var r reader
	if !r.read(lineReturnReader.Object(data, &d)) {
		return l, r.faults.Err()
	}
	r.required("line", d.Line != "")
	at, _ := r.whole("line", d.Line)
	l.Line, l.Whole = lineOf(at), d.Whole
	l.Quantity, _ = r.whole("quantity", d.Quantity)
	return l, r.faults.Err()
}

// lineOf converts an index of a line to an int. Indexes outside every quote become -1 or MaxLines.
func lineOf(at int64) int { return int(max(-1, min(at, MaxLines))) }

// maxRefundDocument is the maximum size of a refund in JSON, in bytes. Every valid refund is smaller.
const maxRefundDocument = 2 << 20

// RefundVersion is the version of the JSON form of a [Refund].
const RefundVersion = 1

type refundDocument struct {
	Version  int             `json:"version"`
	Currency string          `json:"currency"`
	Amount   Number          `json:"amount"`
	Subtotal Number          `json:"subtotal"`
	Shipping Number          `json:"shipping"`
	Lines    refundedLines   `json:"lines"`
	Coupons  refundedCoupons `json:"coupons,omitempty"`
}

type refundedLineDocument struct {
	Line     json.Number `json:"line"`
	Quantity json.Number `json:"quantity"`
	Amount   Number      `json:"amount"`
}

type refundedCouponDocument struct {
	ID       string `json:"id"`
	Discount Number `json:"discount"`
}

// Decoding of these lists stops at their maximum number of entries.
type (
	refundedLines   []refundedLineDocument
	refundedCoupons []refundedCouponDocument
)

// MaxEntries returns [MaxLines].
func (refundedLines) MaxEntries() int { return MaxLines }

// MaxEntries returns [MaxCoupons].
func (refundedCoupons) MaxEntries() int { return MaxCoupons }

var refundReader = strictjson.For[refundDocument]()

// Validate checks that the amounts of the refund are consistent. Validate returns a
// [*validation.Error] that names every invalid field in these cases:
//
//   - The currency is missing.
//   - An amount is negative, or a quantity is below 1.
//   - The lines are not in ascending order, or there are more than [MaxLines] lines.
//   - There are more than [MaxCoupons] coupons, or an ID is too long or not valid UTF-8.
//   - Amount and the discounts of the coupons do not sum to Subtotal and Shipping.
//
// The zero Refund is not valid.
func (r Refund) Validate() error {
	var faults validation.Error
	if r.Currency.IsZero() {
		faults.Add("currency", validation.Required, "a refund needs a currency")
	}
	notNegative := func(field string, amount int64) {
		if amount < 0 {
			faults.Add(field, validation.TooSmall, "an amount is not negative")
		}
	}
	notNegative("amount", r.Amount)
	notNegative("subtotal", r.Subtotal)
	notNegative("shipping", r.Shipping)
	if len(r.Lines) > MaxLines || len(r.Coupons) > MaxCoupons {
		faults.Add("", validation.TooLong, fmt.Sprintf("a refund has at most %d lines and %d coupons", MaxLines, MaxCoupons))
		return faults.Err()
	}
	last := -1
	for i, l := range r.Lines {
		if l.Line <= last || l.Line >= MaxLines {
			faults.Add(linePath(i, "line"), validation.Mismatch, "must be indexes of lines in ascending order")
		}
		last = l.Line
		if l.Quantity < 1 {
			faults.Add(linePath(i, "quantity"), validation.TooSmall, "a quantity is at least 1")
		}
		notNegative(linePath(i, "amount"), l.Amount)
	}
	sum := r.Amount
	for i, c := range r.Coupons {
		var own validation.Error
		nameFaults("id", c.ID, &own)
		faults.Merge(fmt.Sprintf("coupons[%d]", i), own.Err())
		notNegative(couponPath(i, "discount"), c.Discount)
		sum = saturated(sum, c.Discount)
	}
	if len(faults.Fields) == 0 && sum != saturated(r.Subtotal, r.Shipping) {
		faults.Add("amount", validation.Mismatch, "amount and discounts are not the subtotal and shipping")
	}
	return faults.Err()
}

// MarshalJSON returns the refund as JSON for storage:
//
//	{"version":1,"currency":"EUR","amount":"6.67","subtotal":"10.00","shipping":"0.00",
//	 "lines":[{"line":0,"quantity":1,"amount":"6.67"}],
//	 "coupons":[{"id":"cpn_1","discount":"3.33"}]}
//
// Amounts are strings in major units. If the refund is invalid, MarshalJSON returns a
// [*validation.Error]; see [Refund.Validate].
func (r Refund) MarshalJSON() ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	amount := r.Currency.Number
	d := refundDocument{
		Version: RefundVersion, Currency: r.Currency.Code(), Amount: amount(r.Amount),
		Subtotal: amount(r.Subtotal), Shipping: amount(r.Shipping), Lines: make(refundedLines, len(r.Lines)),
	}
	for i, l := range r.Lines {
		d.Lines[i] = refundedLineDocument{integer(int64(l.Line)), integer(l.Quantity), amount(l.Amount)}
	}
	for _, c := range r.Coupons {
		d.Coupons = append(d.Coupons, refundedCouponDocument{c.ID, amount(c.Discount)})
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads and checks the JSON form that [Refund.MarshalJSON] writes. Unknown fields
// are ignored. The JSON value null leaves the refund unchanged.
//
// UnmarshalJSON returns a [*validation.Error] and leaves its receiver unchanged if a field is
// malformed, if the version is missing or unknown, or if the refund is invalid; see
// [Refund.Validate].
func (r *Refund) UnmarshalJSON(data []byte) error {
	if len(data) > maxRefundDocument {
		return validation.New("", validation.TooLong, fmt.Sprintf("a refund has at most %d bytes", maxRefundDocument))
	}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var d refundDocument
	if err := refundReader.Stored(data, &d); err != nil {
		return err
	}
	read, err := d.refund()
	if err != nil {
		return err
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*r = read
	return nil
}

func (d *refundDocument) refund() (Refund, error) {
	currency, err := ParseCurrency(d.Currency)
	if err != nil {
		return Refund{}, err
	}
	r := reader{currency: currency}
	r.version(d.Version, RefundVersion)
	read := Refund{
		Currency: currency, Amount: r.amount("amount", d.Amount),
		Subtotal: r.amount("subtotal", d.Subtotal), Shipping: r.amount("shipping", d.Shipping),
	}
	for i, l := range d.Lines {
		of := reader{currency: currency}
		read.Lines = append(read.Lines, RefundedLine{
			Line:     lineOf(of.integer("line", l.Line)),
			Quantity: of.integer("quantity", l.Quantity), Amount: of.amount("amount", l.Amount),
		})
		if err := of.faults.Err(); err != nil {
			r.faults.Merge(fmt.Sprintf("lines[%d]", i), err)
		}
	}
	for i, c := range d.Coupons {
		of := reader{currency: currency}
		read.Coupons = append(read.Coupons, RefundedCoupon{ID: c.ID, Discount: of.amount("discount", c.Discount)})
		if err := of.faults.Err(); err != nil {
			r.faults.Merge(fmt.Sprintf("coupons[%d]", i), err)
		}
	}
	return read, r.faults.Err()
}
