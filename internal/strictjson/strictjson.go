// Package strictjson decodes JSON objects field by field, so that one error
// names every field that is unknown or malformed. The decoder of the standard
// library stops at the first.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/pricing"
)

// Object decodes data, one JSON object, into targets: pointers by field name.
// Unknown fields and values of the wrong form are listed in a
// [*pricing.ValidationError]; fields that are absent leave their target alone.
// Names are matched exactly, and a field given twice is refused.
func Object(data []byte, targets map[string]any) error {
	var faults pricing.ValidationError
	err := members(data, func(name string, raw json.RawMessage, again bool) {
		target, known := targets[name]
		switch {
		case !known:
			faults.Add(name, pricing.FieldUnknown, "there is no such field")
		case again:
			faults.Add(name, pricing.FieldMalformed, "the field is given twice")
		default:
			faults.Merge(name, value(raw, target))
		}
	})
	if err != nil {
		return malformed(err)
	}
	return faults.Err()
}

// members calls each for every member of the object, in the order of the text.
func members(data []byte, each func(name string, raw json.RawMessage, again bool)) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil {
		return err
	} else if open != json.Delim('{') {
		return errors.New("a JSON object is expected")
	}
	var seen []string
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // the decoder yields a string in this place
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		each(name, raw, slices.Contains(seen, name))
		seen = append(seen, name)
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the JSON object")
	}
	return nil
}

func value(raw json.RawMessage, target any) error {
	err := json.Unmarshal(raw, target)
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		return &pricing.ValidationError{Fields: []pricing.FieldError{{
			Field: typed.Field, Code: pricing.FieldMalformed,
			Message: "a JSON " + typed.Value + " is not a " + typed.Type.String(),
		}}}
	}
	return err
}

func malformed(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("the JSON text ends too early")
	}
	return &pricing.ValidationError{Fields: []pricing.FieldError{{
		Code: pricing.FieldMalformed, Message: strings.TrimPrefix(err.Error(), "json: "),
	}}}
}
