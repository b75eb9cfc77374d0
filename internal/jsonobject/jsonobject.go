// Package jsonobject takes JSON text apart, for package pricing and for internal/strictjson above
// it. It knows no field and no form: what a member may be is for the caller to say. Its errors are
// in words for people. They do not depend on the Go version, as those of encoding/json do.
package jsonobject

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

const (
	// MaxMembers is the most members of an object. No object of this module has
	// nearly as many; without a bound, each three bytes of a hostile one would cost
	// a reported field.
	MaxMembers = 256
	// maxDepth is how deep objects and lists may be nested.
	maxDepth = 1_000
	// maxNameShown is how many characters of a name from outside are reported.
	maxNameShown = 64
)

var (
	errEarly  = errors.New("the JSON text ends too early")
	errObject = errors.New("a JSON object is expected")
	errList   = errors.New("a JSON array is expected")
)

// Members calls each for every member of data, one JSON object of at most [MaxMembers], in the
// order of the text. After an error, each was called for the members before the fault.
func Members(data []byte, each func(name string, raw json.RawMessage)) error {
	s := scanner{data: data}
	if err := s.open('{', errObject); err != nil {
		return err
	}
	for count := 1; !s.closes('}'); count++ {
		if count > MaxMembers {
			return fmt.Errorf("the object has more than %d fields", MaxMembers)
		}
		name, err := s.name()
		if err != nil {
			return err
		}
		raw, err := s.value()
		if err != nil {
			return err
		}
		each(Text(name), raw)
		if err := s.comma('}'); err != nil {
			return err
		}
	}
	return s.end("the JSON object")
}

// Elements calls each for every entry of data, one JSON array, until each returns false. After an
// error, each was called for the entries before the fault.
func Elements(data []byte, each func(raw json.RawMessage) bool) error {
	s := scanner{data: data}
	if err := s.open('[', errList); err != nil {
		return err
	}
	for !s.closes(']') {
		raw, err := s.value()
		if err != nil {
			return err
		}
		if !each(raw) {
			return nil
		}
		if err := s.comma(']'); err != nil {
			return err
		}
	}
	return s.end("the JSON array")
}

// Value returns the text of data, one JSON value, without white space around it.
func Value(data []byte) (json.RawMessage, error) {
	s := scanner{data: data}
	raw, err := s.value()
	if err == nil {
		err = s.end("the JSON value")
	}
	return raw, err
}

// Text returns the text of a JSON string, which must be well-formed.
func Text(quoted []byte) string {
	special := func(b byte) bool { return b < ' ' || b > '~' || b == '\\' || b == '"' }
	if last := len(quoted) - 1; last > 0 && !slices.ContainsFunc(quoted[1:last], special) {
		return string(quoted[1:last])
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // well-formed
	return text
}

// Shown shortens a name that somebody else chose.
func Shown(name string) string {
	if runes := []rune(name); len(runes) > maxNameShown {
		return string(runes[:maxNameShown]) + "…"
	}
	return name
}
