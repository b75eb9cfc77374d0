package coupon

import (
	"bytes"
	"encoding/json"
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
// is written as null, which clears.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.given || o.cleared {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads a value; null clears. Decimals are read from a JSON string
// or number with the bounds of [pricing.Number].
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*o = Clear[T]()
		return nil
	}
	var (
		value  T
		target any = &value
	)
	if number, ok := target.(*decimal.Decimal); ok {
		target = (*exact)(number)
	}
	if err := strictjson.Value(data, target); err != nil {
		return err
	}
	*o = Set(value)
	return nil
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
		_, err = pricing.Number(d.String()).Decimal() // too long for whoever reads it again
	}
	if err != nil {
		return err
	}
	*e = exact(d)
	return nil
}
