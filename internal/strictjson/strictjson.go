// Package strictjson decodes JSON objects field by field, so that one error
// names every field that is unknown or malformed, in words for people. The
// decoder of the standard library stops at the first, in words for Go
// programmers.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unicode/utf8"

	"github.com/couponkit/couponkit/pricing"
)

// Bounds on what an input can cost beyond its own size. The input's size itself
// is for the caller to bound, where it is read.
const (
	// MaxFields is the most members of an object. No object of this module has
	// nearly as many; without a bound, each three bytes of a hostile one would cost
	// a reported field.
	MaxFields = 256
	// MaxListFaults is the most entries of one list that are reported when they are
	// of another JSON type than the list's.
	MaxListFaults = 1_000
	// maxNameShown is how many characters of an unknown field's name are reported.
	maxNameShown = 64
)

// Object decodes data, one JSON object, into targets: pointers by field name.
// Unknown fields, fields given twice and values of the wrong form are listed in
// a [*pricing.ValidationError], those in a list by their position
// ("planIds[2]"). Fields that are absent leave their target alone, and the target of one
// that is given twice is zero. Names are matched exactly, letter case included. Text that
// is not one JSON object in valid UTF-8 is one fault without a field.
func Object(data []byte, targets map[string]any) error {
	if !utf8.Valid(data) {
		return fault("the JSON text is not valid UTF-8")
	}
	var faults pricing.ValidationError
	seen := make(map[string]bool, len(targets))
	err := members(data, func(name string, raw json.RawMessage) {
		target, known := targets[name]
		switch {
		case !known:
			faults.Add(shown(name), pricing.FieldUnknown, "there is no such field")
		case seen[name]:
			faults.Add(name, pricing.FieldMalformed, "the field is given twice")
			reflect.ValueOf(target).Elem().SetZero() // none of the values is the field's
		default:
			faults.Merge(name, Value(raw, target))
		}
		seen[name] = true
	})
	if err != nil {
		return fault(err.Error())
	}
	return faults.Err()
}

// members calls each for every member of the object, in the order of the text.
func members(data []byte, each func(name string, raw json.RawMessage)) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil {
		return readable(err)
	} else if open != json.Delim('{') {
		return errors.New("a JSON object is expected")
	}
	for count := 1; dec.More(); count++ {
		if count > MaxFields {
			return fmt.Errorf("the object has more than %d fields", MaxFields)
		}
		token, err := dec.Token()
		if err != nil {
			return readable(err)
		}
		name, _ := token.(string) // the decoder yields a string in this place
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return readable(err)
		}
		each(name, raw)
	}
	if _, err := dec.Token(); err != nil {
		return readable(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the JSON object")
	}
	return nil
}

// shown shortens a name that somebody else chose.
func shown(name string) string {
	if runes := []rune(name); len(runes) > maxNameShown {
		return string(runes[:maxNameShown]) + "…"
	}
	return name
}

// readable rewords the errors of the decoder.
func readable(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON text ends too early")
	case errors.As(err, &syntax):
		return fmt.Errorf("the JSON text has a fault at byte %d: %s", syntax.Offset, syntax.Error())
	}
	return errors.New("the JSON text is malformed")
}

func fault(message string) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Code: pricing.FieldMalformed, Message: message}}}
}
