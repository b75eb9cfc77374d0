// Package strictjson decodes JSON objects field by field, so that one error
// names every field that is unknown or malformed, in words for people. The
// decoder of the standard library stops at the first, in words for Go
// programmers.
package strictjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"unicode/utf8"

	"github.com/couponkit/couponkit/internal/jsonobject"
	"github.com/couponkit/couponkit/validation"
)

// MaxFields is the most members of an object. The length of the input is the
// caller's to bound.
const MaxFields = jsonobject.MaxMembers

// Object decodes data, one JSON object, into targets: pointers by field name.
// Unknown fields, fields given twice and values of the wrong form are listed in
// a [*validation.Error], those in a list by their position
// ("planIds[2]"). Fields that are absent leave their target alone, and the target of one
// that is given twice is zero. Names are matched exactly, letter case included. Text that
// is not one JSON object in valid UTF-8 is one fault without a field.
func Object(data []byte, targets map[string]any) error { return object(data, targets, true) }

// Stored is Object for what this library has written. Unknown fields are ignored: another version
// may have written them.
func Stored(data []byte, targets map[string]any) error { return object(data, targets, false) }

func object(data []byte, targets map[string]any, strict bool) error {
	if !utf8.Valid(data) {
		return fault("the JSON text is not valid UTF-8")
	}
	var faults validation.Error
	seen := make(map[string]bool, len(targets))
	err := jsonobject.Members(data, func(name string, raw json.RawMessage) {
		target, known := targets[name]
		switch {
		case !known && !strict:
		case !known:
			faults.Add(jsonobject.Shown(name), validation.Unknown, noSuchField)
		case seen[name]:
			faults.Add(name, validation.Malformed, "the field is given twice")
			reflect.ValueOf(target).Elem().SetZero() // none of the values is the field's
		default:
			faults.Merge(name, read(raw, target))
		}
		seen[name] = true
	})
	if err != nil {
		return fault(err.Error())
	}
	return faults.Err()
}

// Each calls read for every member of data, one JSON object whose names are values, such as
// currency codes. Faults are those of read under the name of the member, and names given
// twice.
func Each(data []byte, read func(name string, raw json.RawMessage) error) error {
	if !utf8.Valid(data) {
		return fault("the JSON text is not valid UTF-8")
	}
	var faults validation.Error
	seen := map[string]bool{}
	err := jsonobject.Members(data, func(name string, raw json.RawMessage) {
		if seen[name] {
			faults.Add(jsonobject.Shown(name), validation.Malformed, "the field is given twice")
			return
		}
		seen[name] = true
		faults.Merge(jsonobject.Shown(name), read(name, raw))
	})
	if err != nil {
		return fault(err.Error())
	}
	return faults.Err()
}

const noSuchField = "there is no such field"

// UnknownMember returns the path of a member that an error of [Object] does not know, or "".
func UnknownMember(err error) string {
	if faults, is := errors.AsType[*validation.Error](err); is {
		for _, f := range faults.Fields {
			if f.Code == validation.Unknown && f.Message == noSuchField {
				return f.Path
			}
		}
	}
	return ""
}

func fault(message string) error {
	return validation.New("", validation.Malformed, message)
}
