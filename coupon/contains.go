package coupon

import (
	"bytes"
	"encoding/json"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// Contents is a number of units that a cart must have. The zero Contents requires nothing.
type Contents struct {
	// Scope covers the units, whether or not the coupon covers them too. Units with a list price of 0 do not count.
	Scope Scope
	// Quantity is the minimum number of units, 1 to [MaxQuantity].
	Quantity int64
}

// IsZero reports whether c is the zero Contents.
func (c Contents) IsZero() bool { return c.Quantity == 0 && c.Scope.IsZero() }

// Equal reports whether c and d require the same.
func (c Contents) Equal(d Contents) bool { return c.Quantity == d.Quantity && c.Scope.Equal(d.Scope) }

// Draft returns a draft of the contents.
func (c Contents) Draft() ContentsDraft { return ContentsDraft{c.Scope.Draft(), c.Quantity} }

// MarshalJSON returns a JSON object with the fields of [Scope.MarshalJSON] and the quantity. For the zero Contents,
// MarshalJSON returns null.
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
		read = draft.contents("", &faults)
		if len(faults.Fields) == 0 {
			read.faults("", &faults)
		}
		if err := faults.Err(); err != nil {
			return err
		}
	}
	*c = read
	return nil
}

func (c *Contents) faults(prefix string, faults *validation.Error) {
	if c.IsZero() {
		return
	}
	c.Scope.faults(prefix, faults)
	if c.Quantity == 0 {
		faults.Add(prefix+"quantity", validation.Required, "a quantity is at least 1")
	}
	quantityFaults(prefix+"quantity", c.Quantity, faults)
}

// ContentsDraft describes [Contents] with lists, as JSON does. The fields of the scope and the quantity are in one JSON
// object, such as {"kinds":["device"],"quantity":2}.
type ContentsDraft struct {
	ScopeDraft
	// Quantity is the minimum number of units. A Quantity of 0 means 1.
	Quantity int64 `json:"quantity,omitzero"`
}

// UnmarshalJSON reads a JSON object with the fields of a [ScopeDraft] and the quantity. If a field is unknown or
// malformed, UnmarshalJSON returns a [*validation.Error] that lists all such fields, and leaves *d unchanged.
func (d *ContentsDraft) UnmarshalJSON(data []byte) error {
	var read contentsDocument
	if err := contentsReader.Object(data, &read); err != nil {
		return err
	}
	*d = ContentsDraft{read.ScopeDraft, int64(read.Quantity)}
	return nil
}

// contentsDocument is the JSON form of a draft of contents.
type contentsDocument struct {
	ScopeDraft
	Quantity quantity `json:"quantity"`
}

var contentsReader = strictjson.For[contentsDocument]()

// contents returns the contents of the draft. A nil draft returns no contents. It reports invalid
// entries of lists.
func (d *ContentsDraft) contents(prefix string, faults *validation.Error) Contents {
	if d == nil {
		return Contents{}
	}
	c := Contents{Scope: d.scope(prefix, faults), Quantity: d.Quantity}
	if c.Quantity == 0 {
		c.Quantity = 1
	}
	return c
}
