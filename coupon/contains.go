package coupon

import (
	"bytes"
	"encoding/json"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Contents are units that a cart must have: how many, and what they cost. The zero Contents requires nothing.
type Contents struct {
	// Scope covers the units, whether or not the coupon covers them too. Units with a list price of 0 do not count.
	Scope Scope
	// Quantity is the minimum number of units, 1 to [MaxQuantity].
	Quantity int64
	// MinPurchase is the minimum list price of these units together, by the currency of the cart. An empty set means no
	// minimum. A coupon with a MinPurchase cannot be used in a currency without one.
	MinPurchase MoneySet
}

// IsZero reports whether c is the zero Contents.
func (c Contents) IsZero() bool {
	return c.Quantity == 0 && c.MinPurchase.IsZero() && c.Scope.IsZero()
}

// Equal reports whether c and d require the same.
func (c Contents) Equal(d Contents) bool {
	return c.Quantity == d.Quantity && c.MinPurchase.Equal(d.MinPurchase) && c.Scope.Equal(d.Scope)
}

// Draft returns a draft of the contents.
func (c Contents) Draft() ContentsDraft {
	return ContentsDraft{c.Scope.Draft(), c.Quantity, NewAmounts(c.MinPurchase.list...)}
}

// appendMember appends the contents as a member of a JSON object, if there are any.
func (c *Contents) appendMember(dst []byte, own pricing.Currency) []byte {
	if c.IsZero() {
		return dst
	}
	draft := c.Draft()
	draft.MinPurchase = c.MinPurchase.text(own)
	return appendMember(dst, "contains", draft)
}

// MarshalJSON returns a JSON object with the fields of [Scope.MarshalJSON], the quantity and the amounts by currency.
// For the zero Contents, MarshalJSON returns null.
func (c Contents) MarshalJSON() ([]byte, error) {
	if c.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(c.Draft())
}

// UnmarshalJSON reads the JSON that [Contents.MarshalJSON] returns. If a field is invalid, UnmarshalJSON returns a
// [*validation.Error] that lists all such fields, and leaves *c unchanged.
func (c *Contents) UnmarshalJSON(data []byte) error {
	var read Contents
	if !bytes.Equal(data, []byte("null")) {
		var draft ContentsDraft
		if err := draft.UnmarshalJSON(data); err != nil {
			return err
		}
		var faults validation.Error
		if _, bare := draft.MinPurchase[""]; bare {
			faults.Add("minPurchase", validation.Malformed, byCurrencyMessage)
		}
		read = draft.contents("", pricing.Currency{}, &faults)
		if len(faults.Fields) == 0 {
			read.faults("", pricing.Currency{}, &faults)
		}
		if err := faults.Err(); err != nil {
			return err
		}
	}
	*c = read
	return nil
}

// faults checks the contents of a coupon with the given currency. Without a currency, no amount is required in it.
func (c *Contents) faults(prefix string, own pricing.Currency, faults *validation.Error) {
	if c.IsZero() {
		return
	}
	c.Scope.faults(prefix, faults)
	if c.Quantity == 0 {
		faults.Add(prefix+"quantity", validation.Required, "a quantity is at least 1")
	}
	quantityFaults(prefix+"quantity", c.Quantity, faults)
	c.MinPurchase.faults(faults, prefix+"minPurchase", own, MaxMinPurchase)
}

// ContentsDraft describes [Contents] with lists, as JSON does. The fields of the scope, the quantity and the amount are
// in one JSON object, such as {"kinds":["device"],"quantity":2,"minPurchase":"50.00"}.
type ContentsDraft struct {
	ScopeDraft
	// Quantity is the minimum number of units. A Quantity of 0 means 1, which every MinPurchase implies.
	Quantity int64 `json:"quantity,omitzero"`
	// MinPurchase is the minimum list price of the units. A MinPurchase of 0 in the currency of the coupon alone means
	// none.
	MinPurchase Amounts `json:"minPurchase,omitzero"`
}

// UnmarshalJSON reads a JSON object with the fields of a ContentsDraft. If a field is unknown or malformed, UnmarshalJSON
// returns a [*validation.Error] that lists all such fields, and leaves *d unchanged.
func (d *ContentsDraft) UnmarshalJSON(data []byte) error {
	var read contentsDocument
	if err := contentsReader.Object(data, &read); err != nil {
		return err
	}
	*d = ContentsDraft{read.ScopeDraft, int64(read.Quantity), read.MinPurchase}
	return nil
}

// contentsDocument is the JSON form of a draft of contents.
type contentsDocument struct {
	ScopeDraft
	Quantity    quantity `json:"quantity"`
	MinPurchase Amounts  `json:"minPurchase"`
}

var contentsReader = strictjson.For[contentsDocument]()

// contents returns the contents of the draft. A nil draft returns no contents. It reports invalid
// entries of lists and invalid amounts.
func (d *ContentsDraft) contents(prefix string, own pricing.Currency, faults *validation.Error) Contents {
	if d == nil {
		return Contents{}
	}
	c := Contents{
		Scope: d.scope(prefix, faults), Quantity: d.Quantity, MinPurchase: d.MinPurchase.minimum(prefix+"minPurchase", own, faults),
	}
	if c.Quantity == 0 {
		c.Quantity = 1
	}
	return c
}
