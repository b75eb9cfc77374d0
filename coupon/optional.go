package coupon

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// Optional is a field with three possible states: set, cleared (null in JSON) or not given (absent in JSON). The zero
// Optional is not given.
type Optional[T any] struct {
	value   T
	given   bool
	cleared bool
}

// Set returns an Optional that is set to the given value.
func Set[T any](value T) Optional[T] { return Optional[T]{value: value, given: true} }

// Clear returns a cleared Optional, which removes the current value.
func Clear[T any]() Optional[T] { return Optional[T]{given: true, cleared: true} }

// Given reports whether the field is set or cleared.
func (o Optional[T]) Given() bool { return o.given }

// Value returns the value of the field, and true if the field is set. If the field is cleared or not given, Value
// returns the zero value and false.
func (o Optional[T]) Value() (value T, ok bool) { return o.value, o.given && !o.cleared }

// IsZero reports whether the field is not given, for the JSON option omitzero.
func (o Optional[T]) IsZero() bool { return !o.given }

// MarshalJSON returns the JSON of the value, or null if there is none. In your own structs, give every Optional field
// the JSON option omitzero, so that a field that is not given is absent.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.given || o.cleared {
		return []byte("null"), nil
	}
	if list := reflect.ValueOf(o.value); list.Kind() == reflect.Slice && list.Len() == 0 {
		return []byte("[]"), nil // null would clear the field
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON sets the field to a value from JSON. JSON null clears the field. If the value cannot be read, *o stays
// unchanged. If only entries of a list cannot be read, *o is set to the others.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*o = Clear[T]()
		return nil
	}
	before := *o
	*o = Optional[T]{given: true}
	err := strictjson.Value(data, &o.value)
	var faults *validation.Error
	if errors.As(err, &faults) && faults.Fields[0].Path == "" {
		*o = before
	}
	return err
}

// fieldFault returns a fault without a path. The caller adds the field.
func fieldFault(code validation.Code, message string) error {
	return validation.New("", code, message)
}

// into sets field, a field of a draft, if the Optional is given. A cleared Optional sets the zero
// value.
func (o Optional[T]) into(field any) (given bool) {
	switch field := field.(type) {
	case *T:
		*field = o.value
	case *Optional[T]:
		*field = o
	case **T:
		if o.given && !o.cleared {
			*field = &o.value
		}
	}
	return o.given
}
