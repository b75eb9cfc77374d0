package replay

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// MaxEventDocument is the maximum size of an event in JSON, in bytes.
const MaxEventDocument = 16 << 20

// eventDocument is an event in JSON. It has the fields of a quote document, and what was paid.
type eventDocument struct {
	ID       string          `json:"id"`
	At       string          `json:"at"`
	Paid     *pricing.Number `json:"paid"`
	Currency json.RawMessage `json:"currency"`
	Step     json.RawMessage `json:"step"`
	Lines    json.RawMessage `json:"lines"`
	Customer json.RawMessage `json:"customer"`
	Facts    json.RawMessage `json:"facts"`
	// What the customer had is in the amount that was paid.
	Coupon    json.RawMessage `json:"coupon"`
	Coupons   json.RawMessage `json:"coupons"`
	Conflicts json.RawMessage `json:"conflicts"`
	Usage     json.RawMessage `json:"usage"`
}

type customerDocument struct {
	ID            string   `json:"id"`
	Email         string   `json:"email"`
	Tags          []string `json:"tags"`
	EarlierOrders int64    `json:"earlierOrders"`
}

var (
	eventReader    = strictjson.For[eventDocument]()
	customerReader = strictjson.For[customerDocument]()
)

// UnmarshalJSON reads a quote document, as examples/quote reads it, with the field "paid":
//
//	{"id":"1","at":"2026-11-20T12:00:00Z","currency":"EUR","paid":"27.00","customer":{"id":"u1"},
//	 "lines":[{"id":"A","kind":"device","itemId":"phone","quantity":3,"unitPrice":"10.00"}]}
//
// The fields "at", "currency" and "lines" are required. The fields "coupon", "coupons", "conflicts" and "usage" are
// ignored; with a coupon, "paid" is required. For invalid input, UnmarshalJSON returns a [*validation.Error] that
// lists every invalid field, and leaves its receiver unchanged.
func (e *Event) UnmarshalJSON(data []byte) error {
	if len(data) > MaxEventDocument {
		return validation.New("", validation.TooLong, fmt.Sprintf("at most %d bytes are allowed", MaxEventDocument))
	}
	var d eventDocument
	var faults validation.Error
	faults.Merge("", eventReader.Object(data, &d))
	if len(faults.Fields) > 0 {
		return faults.Err()
	}
	read := Event{At: instant(d.At, &faults)}
	faults.Merge("", read.Cart.UnmarshalJSON(d.cart()))
	if given(d.Customer) {
		var c customerDocument
		faults.Merge("customer", customerReader.Object(d.Customer, &c))
		read.Customer = eligibility.Customer{ID: c.ID, Email: c.Email, Tags: c.Tags, EarlierOrders: c.EarlierOrders}
	}
	if given(d.Facts) {
		faults.Merge("facts", read.Facts.UnmarshalJSON(d.Facts))
	}
	switch {
	case d.Paid != nil && !read.Cart.Currency.IsZero():
		paid, err := pricing.ParseMoney(string(*d.Paid), read.Cart.Currency)
		faults.At("paid", err)
		read.Paid = paid
	case d.Paid == nil && (given(d.Coupon) || given(d.Coupons)):
		faults.Add("paid", validation.Required, "is required beside the coupons that the customer had")
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if err := read.validate(); err != nil {
		return err
	}
	*e = read
	return nil
}

// cart returns the JSON of the cart.
func (d *eventDocument) cart() []byte {
	text, _ := json.Marshal(struct { // no error: the values were read from JSON
		Currency json.RawMessage `json:"currency,omitempty"`
		Step     json.RawMessage `json:"step,omitempty"`
		Lines    json.RawMessage `json:"lines,omitempty"`
	}{d.Currency, d.Step, d.Lines})
	return text
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] != 'n' }

func instant(text string, faults *validation.Error) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case text == "":
		faults.Add("at", validation.Required, "is required")
	case err != nil:
		faults.Add("at", validation.Malformed, "must be an RFC 3339 instant such as 2026-11-20T12:00:00Z")
	}
	return at
}
