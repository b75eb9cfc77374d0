// Package jsonobject takes the text of a JSON object apart, member by member, for
// package pricing and for internal/strictjson above it. It knows no field and no form:
// what a member may be is for the caller to say.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// MaxMembers is the most members of an object. No object of this module has
	// nearly as many; without a bound, each three bytes of a hostile one would cost
	// a reported field.
	MaxMembers = 256
	// maxNameShown is how many characters of a name from outside are reported.
	maxNameShown = 64
)

// Members calls each for every member of the object, in the order of the text. Text that
// is not one JSON object of at most [MaxMembers] is an error in words for people; what
// was found before the fault has been told.
func Members(data []byte, each func(name string, raw json.RawMessage)) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil {
		return Readable(err)
	} else if open != json.Delim('{') {
		return errors.New("a JSON object is expected")
	}
	for count := 1; dec.More(); count++ {
		if count > MaxMembers {
			return fmt.Errorf("the object has more than %d fields", MaxMembers)
		}
		token, err := dec.Token()
		if err != nil {
			return Readable(err)
		}
		name, _ := token.(string) // the decoder yields a string in this place
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return Readable(err)
		}
		each(name, raw)
	}
	if _, err := dec.Token(); err != nil {
		return Readable(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the JSON object")
	}
	return nil
}

// Shown shortens a name that somebody else chose.
func Shown(name string) string {
	if runes := []rune(name); len(runes) > maxNameShown {
		return string(runes[:maxNameShown]) + "…"
	}
	return name
}

// Readable rewords the errors of the decoder.
func Readable(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON text ends too early")
	case errors.As(err, &syntax):
		return fmt.Errorf("the JSON text has a fault at byte %d: %s", syntax.Offset, syntax.Error())
	}
	return errors.New("the JSON text is malformed")
}
