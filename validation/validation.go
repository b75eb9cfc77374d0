// Package validation has the error that names every invalid field of an input.
//
// All packages of this module report bad input as an [*Error]. Every Error matches [ErrInvalid].
package validation

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid matches every error about malformed input, in all packages of this module. Use
// [errors.Is] to compare an error with ErrInvalid. Every [*Error] matches
// ErrInvalid.
var ErrInvalid = errors.New("invalid input")

// Code is a machine-readable reason why a field is invalid. The text of a field code
// stays the same in all later versions.
type Code string

// Every [Field] has one of these field codes.
const (
	// Required means that the field is absent or empty.
	Required Code = "required"
	// Malformed means that the field has the wrong form.
	Malformed Code = "malformed"
	// Unknown means that the value is unknown or the field does not exist.
	Unknown Code = "unknown"
	// TooSmall means that the value is below the minimum.
	TooSmall Code = "too_small"
	// TooLarge means that the value is above the maximum.
	TooLarge Code = "too_large"
	// TooLong means that the field has more characters or entries than allowed.
	TooLong Code = "too_long"
	// TooManyDecimals means that a number has too many decimals for its currency, for
	// the step or for a percentage.
	TooManyDecimals Code = "too_many_decimals"
	// Overflow means that a computed amount does not fit in an int64.
	Overflow Code = "overflow"
	// Mismatch means that the field contradicts another field.
	Mismatch Code = "mismatch"
	// NotAllowed means that the field is not allowed together with another field.
	NotAllowed Code = "not_allowed"
	// Immutable means that the field cannot be changed after creation.
	Immutable Code = "immutable"
	// Taken means that the value is already in use.
	Taken Code = "taken"
	// More means that a list has more than [MaxListFaults] invalid fields. The message
	// of the [Field] tells how many invalid fields are not named.
	More Code = "more"
)

// MaxListFaults is the maximum number of invalid fields that an [Error] names for
// one list. An Error counts further invalid fields but does not name them.
const MaxListFaults = 1_000

// Field describes one invalid field. In JSON, a Field looks like this:
//
//	{"field":"lines[2].unitPrice","code":"too_small","message":"…"}
type Field struct {
	// Path is the path of the invalid field, such as "lines[2].unitPrice". The path uses
	// JSON names.
	Path string `json:"field"`
	// Code is the machine-readable reason why the field is invalid.
	Code Code `json:"code"`
	// Message explains in English why the field is invalid.
	Message string `json:"message"`
}

// Error lists the invalid fields of one input. Every Error matches
// [ErrInvalid].
//
// To build an Error, call [Error.Add] for each invalid field and return
// the result of [Error.Err]. The zero Error is ready to use. The
// methods Add, At and Merge are not safe for concurrent use.
//
// The path of an entry in a list contains the index of the entry, such as
// "allowedUserEmails[0]". An Error names at most [MaxListFaults] invalid fields
// for each list. For a list with more than MaxListFaults invalid fields, Fields contains one
// extra [Field] with the code [More]. The message of the extra Field tells how
// many invalid fields are not named.
type Error struct {
	// Fields are the invalid fields, in the order in which they were found. A field may
	// occur more than once.
	Fields []Field

	entries map[string]int // number of faults in the entries of each list, unnamed faults included
}

// maxErrorText is the maximum number of fields in the text of Error. A cart of 10,000 broken lines then
// makes one line in a log.
const maxErrorText = 20

// Error returns a text with the first 20 invalid fields and their messages. If there are
// more than 20 invalid fields, the text ends with the number of further fields.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(ErrInvalid.Error())
	for i, f := range e.Fields {
		if i == maxErrorText {
			fmt.Fprintf(&b, "; and %d more", len(e.Fields)-i)
			break
		}
		b.WriteString([...]string{": ", "; "}[min(i, 1)])
		if f.Path != "" {
			b.WriteString(f.Path)
			b.WriteString(": ")
		}
		b.WriteString(f.Message)
	}
	return b.String()
}

// Unwrap returns [ErrInvalid].
func (e *Error) Unwrap() error { return ErrInvalid }

// Add appends one invalid field to Fields. For a list that already has [MaxListFaults]
// invalid fields, Add only counts the field.
func (e *Error) Add(field string, code Code, message string) {
	list, _, entry := strings.Cut(field, "[")
	if entry && !e.counted(list, 1) {
		return
	}
	e.Fields = append(e.Fields, Field{Path: field, Code: code, Message: message})
}

// counted adds to the number of faults in a list. It reports whether another fault may be named.
func (e *Error) counted(list string, faults int) bool {
	if e.entries == nil {
		e.entries = make(map[string]int)
	}
	before := e.entries[list]
	e.entries[list] = before + faults
	if before < MaxListFaults {
		return true
	}
	more := Field{Path: list, Code: More, Message: fmt.Sprintf("%d more faults in this list", e.beyond(list))}
	for i := len(e.Fields) - 1; i >= 0; i-- {
		if e.Fields[i].Path == list && e.Fields[i].Code == More {
			e.Fields[i] = more
			return false
		}
	}
	e.Fields = append(e.Fields, more)
	return false
}

// beyond returns how many faults of a list are not named.
func (e *Error) beyond(list string) int { return e.entries[list] - MaxListFaults }

// Merge appends the invalid fields of an error and puts a prefix in front of their paths.
// With the prefix "lines[2]", the path "unitPrice" becomes "lines[2].unitPrice". If the
// error contains no Error, Merge appends one invalid field with the code
// [Malformed]. The path of this field is the prefix. Merge does nothing for a nil
// error. Merge also takes over the number of invalid fields that the error counts but does
// not name.
func (e *Error) Merge(prefix string, err error) {
	if err == nil {
		return
	}
	var inner *Error
	if !errors.As(err, &inner) {
		e.Add(prefix, Malformed, err.Error())
		return
	}
	for _, f := range inner.Fields {
		path := joinPath(prefix, f.Path)
		if more := inner.beyond(f.Path); f.Code == More && more > 0 {
			list, _, _ := strings.Cut(path, "[")
			e.counted(list, more)
			continue
		}
		e.Add(path, f.Code, f.Message)
	}
}

// At appends the invalid fields of an error and replaces their paths with the given path.
// For an error without an Error, At does the same as [Error.Merge].
func (e *Error) At(field string, err error) {
	if err == nil {
		return
	}
	var inner *Error
	if !errors.As(err, &inner) {
		e.Merge(field, err)
		return
	}
	for _, f := range inner.Fields {
		e.Add(field, f.Code, f.Message)
	}
}

// New returns an [*Error] with one invalid field.
func New(path string, code Code, message string) error {
	return &Error{Fields: []Field{{Path: path, Code: code, Message: message}}}
}

// Err returns a copy of the Error as an error, or nil if Fields is empty. An Error without fields
// therefore needs no memory of its own.
func (e *Error) Err() error {
	if e == nil || len(e.Fields) == 0 {
		return nil
	}
	return &Error{Fields: e.Fields, entries: e.entries}
}

func joinPath(prefix, field string) string {
	switch {
	case prefix == "":
		return field
	case field == "":
		return prefix
	case field[0] == '[':
		return prefix + field
	default:
		return prefix + "." + field
	}
}
