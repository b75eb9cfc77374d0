package coupon

import (
	"bytes"
	"encoding/json"
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

// MarshalJSON returns the value, or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.given || o.cleared {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads a value; null clears.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*o = Clear[T]()
		return nil
	}
	var value T
	if err := json.Unmarshal(data, &value); err != nil {
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
