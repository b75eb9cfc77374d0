package strictjson

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/jsonobject"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Value decodes one JSON value into target, a pointer. A value of the wrong form
// is a [*validation.Error] whose fields are relative to the value: "" is
// the value itself, "[2]" the third entry of a list. A whole number may be of any exact
// form within the bounds of [pricing.Number]. null leaves target as the
// standard library does: lists become nil, all else stays. The empty list becomes nil, too. A list with faulty entries
// holds what could be read of them, so that the others can be judged beside the error. Of half a
// surrogate pair no text can be read.
func Value(data []byte, target any) error {
	raw, err := jsonobject.Value(data)
	if err != nil {
		return fault(err.Error())
	}
	return read(raw, target)
}

// read is Value for text that is well-formed.
func read(raw json.RawMessage, target any) error {
	pointer := reflect.ValueOf(target)
	if pointer.Kind() != reflect.Pointer || pointer.IsNil() {
		return fault("must be of another form")
	}
	if own, ok := target.(json.Unmarshaler); ok {
		return relative(own.UnmarshalJSON(raw), target)
	}
	value := pointer.Elem()
	if string(raw) == "null" {
		if kind := value.Kind(); kind == reflect.Slice || kind == reflect.Pointer || kind == reflect.Map {
			value.SetZero()
		}
		return nil
	}
	if text, ok := target.(encoding.TextUnmarshaler); ok {
		read, err := textOf(raw)
		if err != nil {
			return err
		}
		return relative(text.UnmarshalText([]byte(read)), target)
	}
	return readKind(raw, value, target)
}

func readKind(raw json.RawMessage, value reflect.Value, target any) error {
	switch kind := value.Kind(); {
	case kind == reflect.Pointer:
		to := reflect.New(value.Type().Elem())
		err := read(raw, to.Interface())
		if err == nil {
			value.Set(to)
		}
		return err
	case kind == reflect.Slice:
		return entries(raw, value)
	case kind == reflect.String:
		text, err := textOf(raw)
		if err == nil {
			value.SetString(text)
		}
		return err
	case kind == reflect.Bool:
		if string(raw) != "true" && string(raw) != "false" {
			return fault("must be true or false")
		}
		value.SetBool(string(raw) == "true")
		return nil
	case value.CanInt() || value.CanUint():
		return whole(raw, value)
	case kind != reflect.Struct:
		return fault("must be of another form")
	case raw[0] != '{':
		return fault("must be an object")
	}
	return Object(raw, Fields(target))
}

// Fields returns pointers to the exported fields of a struct by their names in JSON. target is a
// pointer to the struct. Embedded structs have no special meaning.
func Fields(target any) map[string]any {
	value := reflect.ValueOf(target).Elem()
	targets := make(map[string]any, value.NumField())
	for i := range value.NumField() {
		field := value.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && name != "-" {
			targets[cmp.Or(name, field.Name)] = value.Field(i).Addr().Interface()
		}
	}
	return targets
}

func textOf(raw json.RawMessage) (string, error) {
	switch {
	case raw[0] != '"':
		return "", fault("must be text")
	case jsonobject.HalfPair(raw):
		return "", fault("the text has half of a surrogate pair")
	}
	return jsonobject.Text(raw), nil
}

// whole decodes a whole number. It may be written with a point or an exponent, as 2.0 and 2e0
// are: to JSON they are 2.
func whole(raw json.RawMessage, value reflect.Value) error {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return fault("must be a whole number")
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		n, err = pricing.Number(raw).Int64()
	}
	var invalid *validation.Error
	switch {
	case errors.As(err, &invalid) && invalid.Fields[0].Code != validation.TooLarge:
		return fault("must be a whole number")
	case err != nil || value.CanInt() && value.OverflowInt(n) || value.CanUint() && (n < 0 || value.OverflowUint(uint64(n))):
		return validation.New("", validation.TooLarge, "the number is out of range")
	}
	if value.CanUint() {
		value.SetUint(uint64(n)) //nolint:gosec // not negative
	} else {
		value.SetInt(n)
	}
	return nil
}

// relative returns an error of a target that decodes itself. It takes the name off a fault in a
// value that is one text: its parser names the value itself, the caller of Value knows the field.
func relative(err error, target any) error {
	var invalid *validation.Error
	switch _, leaf := target.(encoding.TextUnmarshaler); {
	case err == nil:
		return nil
	case !errors.As(err, &invalid):
		if _, instant := target.(*time.Time); instant {
			return fault("must be an RFC 3339 instant")
		}
		return fault("must be of another form")
	case !leaf:
		return invalid
	}
	var faults validation.Error
	faults.At("", invalid)
	return faults.Err()
}

// entries decodes a JSON array entry by entry, so that each fault has its place.
// Unlike the standard library it refuses null for an entry, which would pass for
// an empty text.
func entries(raw json.RawMessage, list reflect.Value) error {
	if raw[0] != '[' {
		return fault("must be a list")
	}
	var texts []json.RawMessage
	_ = jsonobject.Elements(raw, func(raw json.RawMessage) bool { // well-formed
		texts = append(texts, raw)
		return true
	})
	if len(texts) == 0 { // as of null: an empty list has one form
		list.SetZero()
		return nil
	}
	var faults validation.Error
	list.Set(reflect.MakeSlice(list.Type(), len(texts), len(texts)))
	for i, text := range texts {
		err := read(text, list.Index(i).Addr().Interface())
		if err == nil && string(text) == "null" {
			err = fault("must not be null")
		}
		if err != nil {
			faults.Merge("["+strconv.Itoa(i)+"]", err)
		}
	}
	return faults.Err()
}
