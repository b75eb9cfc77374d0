package coupon

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// Optional is a field with three possible states: set, cleared or not given. In JSON, null means
// that the field is cleared. A field that is absent from the JSON object counts as not given.
// The zero Optional means that the field is not given.
type Optional[T any] struct {
	value   T
	given   bool
	cleared bool
}

// Set returns an Optional that is set to the given value.
func Set[T any](value T) Optional[T] { return Optional[T]{value: value, given: true} }

// Clear returns a cleared Optional. A cleared field removes the current value, such as a limit,
// an expiry or a description.
func Clear[T any]() Optional[T] { return Optional[T]{given: true, cleared: true} }

// Given reports whether the field is set or cleared.
func (o Optional[T]) Given() bool { return o.given }

// Value returns the value of the field, and true if the field is set. If the field is cleared or
// not given, Value returns the zero value and false.
func (o Optional[T]) Value() (value T, ok bool) { return o.value, o.given && !o.cleared }

// IsZero reports whether the field is not given. Package encoding/json calls IsZero for fields
// with the JSON option omitzero.
func (o Optional[T]) IsZero() bool { return !o.given }

// MarshalJSON returns the JSON of the value. If the field is cleared or not given, MarshalJSON
// returns null. Decimals are written in the form of [pricing.DecimalText].
//
// In your own structs, give every Optional field the JSON option omitzero. Without omitzero, a
// field that is not given is written as null. A null in a patch clears the coupon's value.
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
	if list := reflect.ValueOf(o.value); list.Kind() == reflect.Slice && list.Len() == 0 {
		return []byte("[]"), nil // null would clear the field
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON sets the field to a value from JSON. JSON null clears the field. A decimal is a
// JSON string or a JSON number within the bounds of [pricing.Number]. If UnmarshalJSON fails,
// *o stays unchanged.
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
	case *Amounts:
		target = (*amountsInPart)(of)
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
