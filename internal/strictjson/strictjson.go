// Package strictjson decodes JSON objects field by field, so that one error
// names every field that is unknown or malformed, in words for people. The
// decoder of the standard library stops at the first, in words for Go
// programmers that depend on the Go version.
package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/couponkit/couponkit/validation"
)

// MaxFields is the most members of an object. No object of this module has nearly as many; without
// a bound, each three bytes of a hostile one would cost a reported field. The length of the input
// is the caller's to bound.
const MaxFields = 256

// Reader reads JSON objects into structs of type T. The names of the members are those of the
// fields in JSON. A Reader is immutable. Make one for each type, in a variable of the package.
type Reader[T any] struct{ form *form }

// For returns the Reader for a struct type. The fields of embedded structs count as fields of T,
// unless T has a field of the same name. The names in without are unknown.
func For[T any](without ...string) Reader[T] {
	f := formOf(reflect.TypeFor[T]())
	f.fields = slices.DeleteFunc(f.fields, func(f field) bool { return slices.Contains(without, f.name) })
	return Reader[T]{f}
}

// Object decodes data, one JSON object, into target.
// Unknown fields, fields given twice and values of the wrong form are listed in
// a [*validation.Error], those in a list by their position
// ("planIds[2]"). Fields that are absent leave their target alone, and the target of one
// that is given twice is zero. Names are matched exactly, letter case included. Text that
// is not one JSON object in valid UTF-8 is one fault without a field.
func (r Reader[T]) Object(data []byte, target *T) error {
	return object(scanner{data: data}, members{form: r.form, value: reflect.ValueOf(target).Elem()})
}

// Stored is Object for what this library has written. Unknown fields are ignored: another version
// may have written them.
func (r Reader[T]) Stored(data []byte, target *T) error {
	return object(scanner{data: data, stored: true}, members{form: r.form, value: reflect.ValueOf(target).Elem()})
}

// Object is like [Reader.Object], but has a target for each name, a pointer.
func Object(data []byte, targets map[string]any) error {
	m := members{form: &form{}, targets: []any{}}
	for name, target := range targets {
		m.form.fields = append(m.form.fields, field{name: name})
		m.targets = append(m.targets, target)
	}
	return object(scanner{data: data}, m)
}

func object(s scanner, m members) error {
	if !utf8.Valid(s.data) {
		return fault("the JSON text is not valid UTF-8")
	}
	faults := s.object(m)
	return s.result(faults, "the JSON object")
}

// Value decodes one JSON value into target, a pointer. A value of the wrong form
// is a [*validation.Error] whose fields are relative to the value: "" is
// the value itself, "[2]" the third entry of a list. A whole number may be of any exact
// form within the bounds of [ParseNumber]. null leaves target as the
// standard library does: lists become nil, all else stays. The empty list becomes nil, too. A list with faulty entries
// holds what could be read of them, so that the others can be judged beside the error. Of half a
// surrogate pair no text can be read. A [json.RawMessage] gets a part of data, and null leaves it.
func Value(data []byte, target any) error {
	s := scanner{data: data}
	if pointer := reflect.ValueOf(target); pointer.Kind() != reflect.Pointer || pointer.IsNil() {
		return fault("must be of another form")
	}
	faults := s.read(target, nil)
	return s.result(faults, "the JSON value")
}

// List calls read for each entry of data, one JSON array of at most that many entries. Faults are
// those of read under the position of the entry. After 1,000 faulty entries, the others are not read.
func List(data []byte, most int, read func(raw json.RawMessage) error) error {
	s := scanner{data: data}
	faults := s.list(most, func(int) error {
		raw := s.raw()
		if s.err != nil {
			return nil
		}
		return read(raw)
	})
	return s.result(faults, "the JSON array")
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
	err := Members(data, func(name string, raw json.RawMessage) {
		if seen[name] {
			faults.Add(Shown(name), validation.Malformed, twice)
			return
		}
		seen[name] = true
		faults.Merge(Shown(name), read(name, raw))
	})
	if err != nil {
		return fault(err.Error())
	}
	return faults.Err()
}

// Members calls each for every member of data, one JSON object of at most [MaxFields], in the
// order of the text. After an error, each was called for the members before the fault.
func Members(data []byte, each func(name string, raw json.RawMessage)) error {
	s := scanner{data: data}
	s.members(func(name []byte) {
		if raw := s.raw(); s.err == nil {
			each(text(name), raw)
		}
	})
	return s.end("the JSON object")
}

// Raw returns the text of data, one JSON value, without white space around it. An error about a byte
// at which the text cannot go on is a [*SyntaxError].
func Raw(data []byte) (json.RawMessage, error) {
	s := scanner{data: data}
	raw := s.raw()
	return raw, s.end("the JSON value")
}

const (
	noSuchField = "there is no such field"
	twice       = "the field is given twice"
)

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

// maxNameShown is the maximum length of a reported name, in characters. Names come from outside.
const maxNameShown = 64

// Shown shortens a name that somebody else chose.
func Shown(name string) string {
	if runes := []rune(name); len(runes) > maxNameShown {
		return string(runes[:maxNameShown]) + "…"
	}
	return name
}

func fault(message string) error {
	return validation.New("", validation.Malformed, message)
}

// result returns the faults of a whole text. If the text is not JSON, it returns only that fault.
func (s *scanner) result(faults error, what string) error {
	if err := s.end(what); err != nil {
		return fault(err.Error())
	}
	return faults
}

func tooManyFields() error { return fmt.Errorf("the object has more than %d fields", MaxFields) }
