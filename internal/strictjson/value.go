package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/couponkit/couponkit/internal/jsonobject"
	"github.com/couponkit/couponkit/pricing"
)

// Value decodes one JSON value into target, a pointer. A value of the wrong form
// is a [*pricing.ValidationError] whose fields are relative to the value: "" is
// the value itself, "[2]" the third entry of a list. A whole number may be of any exact
// form within the bounds of [pricing.Number]. null leaves target as the
// standard library does: lists become empty, all else stays. A list with faulty entries
// holds what could be read of them, so that the others can be judged beside the error. Of half a
// surrogate pair no text can be read; a target that decodes itself does so by Value.
func Value(data []byte, target any) error {
	if list, ok := listOf(target); ok && opens(data, '[') {
		return entries(data, list)
	}
	if _, own := target.(json.Unmarshaler); !own && jsonobject.HalfPair(data) {
		return fault("the text has half of a surrogate pair")
	}
	err := json.Unmarshal(data, target)
	var (
		invalid *pricing.ValidationError
		typed   *json.UnmarshalTypeError
		syntax  *json.SyntaxError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return relative(invalid, target)
	case errors.As(err, &typed):
		return whole(data, target, typed)
	case errors.As(err, &syntax):
		return fault(jsonobject.Readable(err).Error())
	}
	return fault("must be of another form")
}

// whole decodes a whole number that is written with a point or an exponent, as 2.0 and
// 2e0 are: the standard library refuses these, and to JSON they are 2. What is none is
// mistyped.
func whole(data []byte, target any, refused *json.UnmarshalTypeError) error {
	if !isWhole(refused.Type) || !bytes.ContainsAny(data, ".eE") {
		return mistyped(refused)
	}
	n, err := pricing.Number(bytes.TrimSpace(data)).Int64()
	var invalid *pricing.ValidationError
	switch {
	case err == nil:
		return Value(strconv.AppendInt(nil, n, 10), target)
	case errors.As(err, &invalid) && invalid.Fields[0].Code == pricing.FieldTooLarge:
		return outOfRange()
	}
	return mistyped(refused)
}

// isWhole reports whether a type is written as a whole number. A pointer is none: a refusal
// names what it points to.
func isWhole(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 && !isText(t)
}

func outOfRange() error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Code: pricing.FieldTooLarge, Message: "the number is out of range"}}}
}

// relative takes the name off a fault in a value that is one text: its parser
// names the value itself, the caller of Value knows the field.
func relative(err *pricing.ValidationError, target any) error {
	if _, leaf := target.(encoding.TextUnmarshaler); !leaf {
		return err
	}
	var faults pricing.ValidationError
	faults.At("", err)
	return faults.Err()
}

func opens(data []byte, delim byte) bool {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == delim
}

// listOf returns the list that target points to, unless its type decodes itself.
func listOf(target any) (reflect.Value, bool) {
	if _, own := target.(json.Unmarshaler); own {
		return reflect.Value{}, false
	}
	pointer := reflect.ValueOf(target)
	if pointer.Kind() != reflect.Pointer || pointer.Elem().Kind() != reflect.Slice {
		return reflect.Value{}, false // also for nil, which points to nothing
	}
	return pointer.Elem(), true
}

// entries decodes a JSON array entry by entry, so that each fault has its place.
// Unlike the standard library it refuses null for an entry, which would pass for
// an empty text.
func entries(data []byte, list reflect.Value) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return fault(jsonobject.Readable(err).Error())
	}
	var faults pricing.ValidationError
	list.Set(reflect.MakeSlice(list.Type(), len(raw), len(raw)))
	for i, entry := range raw {
		into := list.Index(i).Addr().Interface()
		err := Value(entry, into)
		if err == nil && string(entry) == "null" {
			err = fault("must not be null")
		}
		if err != nil {
			faults.Merge(fmt.Sprintf("[%d]", i), err)
		}
	}
	return faults.Err()
}

// mistyped says what the value should have been, without the name of a Go type.
func mistyped(err *json.UnmarshalTypeError) error {
	code, message := pricing.FieldMalformed, "must be of another form"
	wanted := err.Type
	for wanted.Kind() == reflect.Pointer {
		wanted = wanted.Elem()
	}
	switch kind := wanted.Kind(); {
	case wanted == reflect.TypeFor[pricing.Number]() || wanted == reflect.TypeFor[json.Number]():
		message = "must be a decimal number, bare or as text"
	case isText(wanted):
		message = "must be text"
	case kind == reflect.Bool:
		message = "must be true or false"
	case kind >= reflect.Int && kind <= reflect.Uint64:
		message = "must be a whole number"
		if digits, ok := strings.CutPrefix(err.Value, "number "); ok && wholeDigits(digits) {
			code, message = pricing.FieldTooLarge, "the number is out of range"
		}
	case kind == reflect.Slice || kind == reflect.Array:
		message = "must be a list"
	case kind == reflect.Struct || kind == reflect.Map:
		message = "must be an object"
	}
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Field: err.Field, Code: code, Message: message}}}
}

// isText reports whether the type is written as text in JSON.
func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func wholeDigits(text string) bool {
	return strings.Trim(strings.TrimPrefix(text, "-"), "0123456789") == ""
}
