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

// Optional is a field that may be given, cleared or left alone. In JSON an absent
// field leaves alone and null clears. The zero value leaves alone.
type Optional[T any] struct {
	value   T
	given   bool
	cleared bool
}

// Set gives a value.
func Set[T any](value T) Optional[T] { return Optional[T]{value: value, given: true} }

// Clear takes the value away: no limit, no expiry, no description.
func Clear[T any]() Optional[T] { return Optional[T]{given: true, cleared: true} }

// Given reports whether the field is given or cleared, not left alone.
func (o Optional[T]) Given() bool { return o.given }

// Value returns the value; ok is false when the field is left alone or cleared.
func (o Optional[T]) Value() (value T, ok bool) { return o.value, o.given && !o.cleared }

// IsZero reports whether the field is left alone, so that the JSON option
// omitzero leaves it out.
func (o Optional[T]) IsZero() bool { return !o.given }

// MarshalJSON returns the value, or null. A struct of yours that holds an
// Optional needs the JSON option omitzero: without it, a field that is left alone
// is written as null, which clears. A decimal is written as [pricing.DecimalText] has it.
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

// UnmarshalJSON reads a value; null clears. Decimals are read from a JSON string
// or number with the bounds of [pricing.Number]. After an error o is as it was.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	read, err := readOptional[T](data)
	if err != nil {
		return err
	}
	*o = read
	return nil
}

// readOptional returns what UnmarshalJSON reads, and beside an error that names entries of
// a list the list with empty ones in their places.
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

// inPart is an optional list that keeps what could be read of it beside an error.
type inPart[T any] Optional[T]

func (o *inPart[T]) UnmarshalJSON(data []byte) error {
	read, err := readOptional[T](data)
	*o = inPart[T](read)
	return err
}

// orZero returns the value, the zero value when cleared, or current when the
// field is left alone.
func (o Optional[T]) orZero(current T) T {
	if !o.given {
		return current
	}
	return o.value
}

// exact is a decimal that is read from outside. The decimal package itself reads
// numbers of any size, and writes them without an exponent.
type exact decimal.Decimal

// UnmarshalJSON reads a JSON string or number; null leaves e as it is.
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
