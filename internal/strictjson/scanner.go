package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/couponkit/couponkit/validation"
)

var (
	errEarly  = errors.New("the JSON text ends too early")
	errObject = errors.New("a JSON object is expected")
	errList   = errors.New("must be a list")
)

// maxDepth is the maximum nesting of objects and lists in a value of any type. The types of other
// values limit their nesting.
const maxDepth = 1_000

// maxFaultyEntries is the maximum number of reported faulty entries in a bounded list.
const maxFaultyEntries = 1_000

// scanner reads JSON text by the grammar of RFC 8259.
type scanner struct {
	data   []byte
	at     int
	err    error // error if the text is not JSON, or of an unexpected kind
	stored bool  // the text was written by this library
}

// SyntaxError means that the text is no JSON.
type SyntaxError struct {
	// Byte is the place of the first byte at which the text cannot go on, counted from 1.
	Byte int
}

// Error names the byte.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("the JSON text has a fault at byte %d", e.Byte)
}

func (s *scanner) fault() error {
	if s.at >= len(s.data) {
		return errEarly
	}
	return &SyntaxError{Byte: s.at + 1}
}

func (s *scanner) peek() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0 // a byte that no JSON text contains
}

func (s *scanner) space() {
	for s.at < len(s.data) && isSpace(s.data[s.at]) {
		s.at++
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// open reads the opening bracket. If the text begins with another value, open returns the error other.
func (s *scanner) open(bracket byte, other error) error {
	s.space()
	switch b := s.peek(); {
	case b == bracket:
		s.at++
		s.space()
		return nil
	case s.at < len(s.data) && strings.IndexByte(`{["-0123456789tfn`, b) >= 0:
		if _, err := s.value(); err != nil {
			return err
		}
		return other
	}
	return s.fault()
}

// closes reads the closing bracket, if it comes next.
func (s *scanner) closes(bracket byte) bool {
	if s.peek() != bracket {
		return false
	}
	s.at++
	return true
}

// comma reads a comma, unless the closing bracket follows.
func (s *scanner) comma(bracket byte) error {
	s.space()
	switch s.peek() {
	case bracket:
		return nil
	case ',':
		s.at++
		s.space()
		if s.peek() != bracket {
			return nil
		}
	}
	return s.fault()
}

// end returns an error if the text is not exactly one JSON value.
func (s *scanner) end(what string) error {
	if s.err != nil {
		return s.err
	}
	s.space()
	if s.at < len(s.data) {
		return fmt.Errorf("there is more after %s", what)
	}
	return nil
}

// members reads an object. After each name and colon it calls read, which must read the value.
func (s *scanner) members(read func(quoted []byte)) {
	s.err = s.open('{', errObject)
	for count := 1; s.err == nil && !s.closes('}'); count++ {
		var name []byte
		if count > MaxFields {
			s.err = tooManyFields()
		} else {
			name, s.err = s.name()
		}
		if s.err == nil {
			read(name)
		}
		if s.err == nil {
			s.err = s.comma('}')
		}
	}
}

// list reads a list. It calls read for each entry. read must read the entry and return its faults. If
// most is not 0, the list is bounded: it has at most most entries, and reading stops after
// maxFaultyEntries faulty entries.
func (s *scanner) list(most int, read func(i int) error) error {
	var faults validation.Error
	faulty := 0
	s.err = s.open('[', errList)
	for i := 0; s.err == nil && !s.closes(']'); i++ {
		if most > 0 && (i >= most || faulty == maxFaultyEntries) {
			if s.raw(); i == most && faulty < maxFaultyEntries {
				faults.Add("", validation.TooLong, fmt.Sprintf("at most %d entries are allowed", most))
			}
		} else if err := read(i); err != nil {
			faulty++
			faults.Merge("["+strconv.Itoa(i)+"]", err)
		}
		if s.err == nil {
			s.err = s.comma(']')
		}
	}
	return faults.Err()
}

// emptyList reads an empty list, if it comes next.
func (s *scanner) emptyList() bool {
	if !bytes.HasPrefix(s.data[s.at:], []byte("[]")) {
		return false
	}
	s.at += len("[]")
	return true
}

// raw returns the text of a value of any kind.
func (s *scanner) raw() json.RawMessage {
	raw, err := s.value()
	s.err = err
	return raw
}

// name reads the name of a member and the colon after it.
func (s *scanner) name() (quoted []byte, err error) {
	start := s.at
	if s.peek() != '"' {
		return nil, s.fault()
	}
	if err := s.text(); err != nil {
		return nil, err
	}
	quoted = s.data[start:s.at]
	s.space()
	if s.peek() != ':' {
		return nil, s.fault()
	}
	s.at++
	return quoted, nil
}

// value reads a value of any kind.
func (s *scanner) value() (json.RawMessage, error) {
	s.space()
	start := s.at
	if err := s.skip(0); err != nil {
		return nil, err
	}
	return s.data[start:s.at:s.at], nil
}

func (s *scanner) skip(depth int) error {
	switch b := s.peek(); {
	case b == '{' || b == '[':
		if depth == maxDepth {
			return fmt.Errorf("the JSON text is nested more than %d deep", maxDepth)
		}
		return s.inside(b, depth)
	case b == '"':
		return s.text()
	case b == '-' || isDigit(b):
		return s.number()
	}
	for _, word := range [...]string{"null", "true", "false"} {
		if s.peek() == word[0] {
			return s.word(word)
		}
	}
	return s.fault()
}

// inside reads an object or a list.
func (s *scanner) inside(bracket byte, depth int) error {
	closing := bracket + 2 // distance of the brackets in ASCII
	s.at++
	s.space()
	for !s.closes(closing) {
		if bracket == '{' {
			if _, err := s.name(); err != nil {
				return err
			}
			s.space()
		}
		if err := s.skip(depth + 1); err != nil {
			return err
		}
		if err := s.comma(closing); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) word(word string) error {
	for i := range len(word) {
		if s.peek() != word[i] {
			return s.fault()
		}
		s.at++
	}
	return nil
}

func (s *scanner) text() error {
	for s.at++; s.at < len(s.data); s.at++ {
		switch b := s.data[s.at]; {
		case b == '"':
			s.at++
			return nil
		case b < ' ':
			return s.fault()
		case b == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		}
	}
	return errEarly
}

// escape reads an escape, except for its last byte.
func (s *scanner) escape() error {
	s.at++
	if s.peek() != 'u' {
		if s.at >= len(s.data) || strings.IndexByte(`"\/bfnrt`, s.data[s.at]) < 0 {
			return s.fault()
		}
		return nil
	}
	for range 4 {
		s.at++
		if b := s.peek() | 0x20; !isDigit(s.peek()) && (b < 'a' || b > 'f') {
			return s.fault()
		}
	}
	return nil
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.peek() == '.' {
		s.at++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if b := s.peek(); b == 'e' || b == 'E' {
		s.at++
		if b := s.peek(); b == '+' || b == '-' {
			s.at++
		}
		return s.digits()
	}
	return nil
}

func (s *scanner) digits() error {
	if !isDigit(s.peek()) {
		return s.fault()
	}
	for isDigit(s.peek()) {
		s.at++
	}
	return nil
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// text returns the text of a JSON string, which must be well-formed.
func text(quoted []byte) string {
	if inner, is := plain(quoted); is {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // no error: it is well-formed
	return text
}

// plain returns the content of a JSON string that needs no decoding.
func plain(quoted []byte) (inner []byte, is bool) {
	special := func(b byte) bool { return b < ' ' || b > '~' || b == '\\' || b == '"' }
	last := len(quoted) - 1
	if last < 1 || quoted[0] != '"' || slices.ContainsFunc(quoted[1:last], special) {
		return nil, false
	}
	return quoted[1:last:last], true
}
