package coupon

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// Optional is a field that is set, cleared or not given. In JSON null clears, and an
// absent field is not given. The zero value means not given.
type Optional[T any] struct {
	value   T
	given   bool
	cleared bool
}

// Set returns a field that is set to value.
func Set[T any](value T) Optional[T] { return Optional[T]{value: value, given: true} }

// Clear returns a field that removes the value: no limit, no expiry, no description.
func Clear[T any]() Optional[T] { return Optional[T]{given: true, cleared: true} }

// Given reports whether the field is set or cleared.
func (o Optional[T]) Given() bool { return o.given }

// Value returns the value. ok is false if the field is cleared or not given.
func (o Optional[T]) Value() (value T, ok bool) { return o.value, o.given && !o.cleared }

// IsZero reports whether the field is not given. The JSON option omitzero then omits
// the field.
func (o Optional[T]) IsZero() bool { return !o.given }

// MarshalJSON returns the value, or null. Optional fields of your own structs need the
// JSON option omitzero. Without omitzero, a field that is not given is written as null,
// which clears the value. A decimal is written in the form of [pricing.DecimalText].
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.given || o.cleared {
		return []byte("null"), nil
	}
	if d, is := any(o.value).(decimal.Decimal); is {
		text, err := pricing.DecimalText(d)
		if err != nil {
			return nil, err
		}
		return json.Marshal(text)
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads a value; null clears. A decimal is a JSON string or number within
// the bounds of [pricing.Number]. After an error o stays unchanged.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	read, err := readOptional[T](data)
	if err != nil {
		return err
	}
	*o = read
	return nil
}

// readOptional returns the field that UnmarshalJSON reads. If the error names entries
// of a list, the field has the list with empty entries in their places.
func readOptional[T any](data []byte) (Optional[T], error) {
	if bytes.Equal(data, []byte("null")) {
		return Clear[T](), nil
	}
	var (
		value  T
		target any = &value
	)
	switch of := target.(type) {
	case *decimal.Decimal:
		target = (*exact)(of)
	case *EmailList:
		target = (*emailsInPart)(of)
	}
	err := strictjson.Value(data, target)
	var faults *pricing.ValidationError
	if errors.As(err, &faults) && faults.Fields[0].Field == "" {
		return Optional[T]{}, err
	}
	return Set(value), err
}

// inPart is an optional list that after an error keeps the entries that could be read.
type inPart[T any] Optional[T]

func (o *inPart[T]) UnmarshalJSON(data []byte) error {
	read, err := readOptional[T](data)
	*o = inPart[T](read)
	return err
}

// orZero returns the value, or the zero value if cleared, or current if not given.
func (o Optional[T]) orZero(current T) T {
	if !o.given {
		return current
	}
	return o.value
}

// exact is a decimal from outside, of bounded size. The decimal package reads numbers
// of any size, and writes them without an exponent.
type exact decimal.Decimal

// UnmarshalJSON reads a JSON string or number; null leaves e unchanged.
func (e *exact) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var number pricing.Number
	if err := strictjson.Value(data, &number); err != nil {
		return err
	}
	d, err := number.Decimal()
	if err == nil && strings.ContainsAny(string(number), "eE") {
		_, err = pricing.DecimalText(d) // too long for whoever reads it again
	}
	if err != nil {
		return err
	}
	*e = exact(d)
	return nil
}
