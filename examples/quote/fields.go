package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// maxFaults is the maximum number of reported fields of one object. A document can have millions of
// faults, and the sender does not need all of them.
const maxFaults = 50_000

// fields has the values of one JSON object by name, and its faults. A null value counts as absent.
type fields struct {
	names  []string
	values [64][]byte // in the same order as names
	faults validation.Error
}

var errNoObject = errors.New("must be a JSON object")

// split splits an object into its fields. Fields that are not in names, and repeated fields, are
// faults. Another value than an object is an error.
func split(raw []byte, names []string) (fields, error) {
	f := fields{names: names}
	if raw[0] != '{' {
		return f, errNoObject
	}
	for name, value := range members(raw) {
		if len(f.faults.Fields) == maxFaults {
			break
		}
		switch i := slices.Index(names, name); {
		case i < 0:
			f.faults.Add(name, validation.Unknown, "there is no such field")
		case f.values[i] != nil:
			f.faults.Add(name, validation.Malformed, "the field is given twice")
		default:
			f.values[i] = value
		}
	}
	return f, nil
}

// err returns the faults.
func (f *fields) err() error {
	if len(f.faults.Fields) == 0 {
		return nil
	}
	found := f.faults
	return found.Err()
}

// value returns the text of a field. ok is false if the field is absent.
func (f *fields) value(name string) (raw []byte, ok bool) {
	raw = f.values[slices.Index(f.names, name)]
	return raw, raw != nil && raw[0] != 'n'
}

// require reports fields that are absent or empty.
func (f *fields) require(names ...string) {
	for _, name := range names {
		if raw, ok := f.value(name); (!ok || string(raw) == `""`) && !f.reported(name) {
			f.faults.Add(name, validation.Required, "is required")
		}
	}
}

func (f *fields) reported(name string) bool {
	return slices.ContainsFunc(f.faults.Fields, func(fault validation.Field) bool { return fault.Path == name })
}

// begins reports whether a fault has a path that begins with the prefix.
func (f *fields) begins(prefix string) bool {
	return slices.ContainsFunc(f.faults.Fields, func(fault validation.Field) bool { return strings.HasPrefix(fault.Path, prefix) })
}

// decode reads a value in the library's JSON form. If the field is absent, it does not change target.
func (f *fields) decode(name string, target any) {
	if raw, ok := f.value(name); ok {
		f.faults.Merge(name, strictjson.Value(raw, target))
	}
}

func (f *fields) malformed(name, message string) {
	f.faults.Add(name, validation.Malformed, message)
}

// text reads a JSON string. An absent field is "".
func (f *fields) text(name string) string {
	text, _ := f.given(name)
	return text
}

// given is like text, and also reports whether the field is present.
func (f *fields) given(name string) (text string, ok bool) {
	switch raw, ok := f.value(name); {
	case !ok:
	case raw[0] != '"':
		f.malformed(name, "must be a string")
	default:
		return f.unquoted(name, raw)
	}
	return "", false
}

// unquoted returns the text of a JSON string.
func (f *fields) unquoted(name string, raw []byte) (text string, ok bool) {
	if text, ok = unquote(raw); !ok {
		f.malformed(name, "the text has half of a surrogate pair")
	}
	return text, ok
}

// parsed reads a JSON string and parses it. An absent field gives the zero value.
func parsed[T any](f *fields, name string, parse func(string) (T, error)) (value T) {
	text, ok := f.given(name)
	if !ok {
		return value
	}
	value, err := parse(text)
	f.faults.At(name, err)
	return value
}

// parseInstant parses an RFC 3339 instant.
func parseInstant(text string) (t time.Time, err error) {
	capitals := strings.ToUpper(text) // RFC 3339 also allows lower case
	if err := t.UnmarshalText([]byte(capitals)); err != nil {
		return time.Time{}, fmt.Errorf("%.40q is no RFC 3339 instant such as 2026-11-20T12:00:00Z", text)
	}
	if t.IsZero() {
		return time.Time{}, fmt.Errorf("%q is what programs send for no instant; leave it out", text)
	}
	return t, nil
}

// number reads a decimal number from a string or a JSON number, without a float. An absent field is "".
func (f *fields) number(name string) pricing.Number {
	raw, ok := f.value(name)
	switch {
	case !ok:
		return ""
	case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
		return pricing.Number(raw)
	case raw[0] != '"':
		f.malformed(name, "must be a decimal number, as a string or a JSON number")
		return ""
	}
	text, ok := f.unquoted(name, raw)
	if ok && text == "" {
		f.faults.Add(name, validation.Required, "is empty")
	}
	return pricing.Number(text)
}

// integer reads a whole number. An absent field is 0.
func (f *fields) integer(name string) int64 {
	raw, ok := f.value(name)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil { // 2.0 and 2e0 are whole numbers, too
		n, err = pricing.Number(raw).Int64()
	}
	if err != nil {
		f.malformed(name, "must be a whole number within 64 bits")
		return 0
	}
	return n
}

// count reads a whole number of at least 0.
func (f *fields) count(name string) int64 {
	n := f.integer(name)
	if n < 0 {
		f.faults.Add(name, validation.TooSmall, "a count is not negative")
	}
	return n
}

// flag reads true or false. It returns absent if the field is missing.
func (f *fields) flag(name string, absent bool) bool {
	raw, ok := f.value(name)
	if !ok {
		return absent
	}
	word := string(raw)
	if word != "true" && word != "false" {
		f.malformed(name, "must be true or false")
	}
	return word == "true"
}

// texts reads an array of at most most strings. Empty strings are faults. An absent field gives an
// empty list.
func (f *fields) texts(name string, most int) []string {
	raw, ok := f.value(name)
	if !ok {
		return nil
	}
	if raw[0] != '[' {
		f.malformed(name, "must be a list of strings")
		return nil
	}
	var list []string
	for i, element := range elements(raw) {
		if i == most {
			f.faults.Add(name, validation.TooLong, fmt.Sprintf("at most %d entries are allowed", most))
			return nil
		}
		text := ""
		if element[0] == '"' {
			text, _ = unquote(element)
		}
		if text == "" && len(f.faults.Fields) < maxFaults {
			f.malformed(fmt.Sprintf("%s[%d]", name, i), "must be a text that is not empty and has no half of a surrogate pair")
		}
		list = append(list, text) // keep an empty text, so that the positions of later entries stay right
	}
	return list
}

// addNew adds the faults of err for fields without a fault. A field that could not be read would
// otherwise be reported twice.
func (f *fields) addNew(err error) {
	if err == nil {
		return
	}
	reported := make(map[string]bool, len(f.faults.Fields))
	for _, fault := range f.faults.Fields {
		reported[fault.Path] = true
	}
	var more validation.Error
	more.Merge("", err)
	for _, fault := range more.Fields {
		within := fault.Path[:max(strings.LastIndexAny(fault.Path, ".["), 0)]
		if !reported[fault.Path] && (within == "" || !reported[within]) {
			f.faults.Fields = append(f.faults.Fields, fault)
		}
	}
}
