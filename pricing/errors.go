package pricing

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid is matched by every error about malformed input: by
// [*ValidationError] and by the errors of the parsers of this module.
var ErrInvalid = errors.New("invalid input")

// FieldCode tells in one word what is wrong with a field. The set is closed and
// stable; clients may switch on it.
type FieldCode string

// The field codes.
const (
	FieldRequired        FieldCode = "required"          // absent or empty
	FieldMalformed       FieldCode = "malformed"         // not of the form that the field has
	FieldUnknown         FieldCode = "unknown"           // not one of the allowed values, or no such field
	FieldTooSmall        FieldCode = "too_small"         // below the least allowed value
	FieldTooLarge        FieldCode = "too_large"         // above the greatest allowed value
	FieldTooLong         FieldCode = "too_long"          // more characters or entries than allowed
	FieldTooManyDecimals FieldCode = "too_many_decimals" // finer than the currency, its step or a percentage allows
	FieldOverflow        FieldCode = "overflow"          // the arithmetic leaves 64 bits
	FieldMismatch        FieldCode = "mismatch"          // does not fit another field
	FieldNotAllowed      FieldCode = "not_allowed"       // has no meaning beside another field
	FieldImmutable       FieldCode = "immutable"         // cannot be changed after creation
	FieldTaken           FieldCode = "taken"             // in use elsewhere
)

// FieldError is one offending field. Its JSON is the entry of an error list:
// {"field":"lines[2].unitPrice","code":"too_small","message":"…"}.
type FieldError struct {
	// Field is the path of the field by its JSON name, such as
	// "lines[2].unitPrice" or "allowedUserEmails[0]".
	Field string `json:"field"`
	// Code is the kind of fault, for programs.
	Code FieldCode `json:"code"`
	// Message says what is wrong and what is allowed, for people.
	Message string `json:"message"`
}

// ValidationError lists every offending field of one input. It matches
// [ErrInvalid]. The zero value is an empty list, to be filled with [ValidationError.Add] and
// turned into an error with [ValidationError.Err]. Filling it is not safe for
// concurrent use; reading it is.
type ValidationError struct {
	// Fields are the faults in the order in which they were found. A field may
	// occur more than once.
	Fields []FieldError
}

// maxErrorText is how many fields Error spells out: a cart of 10,000 broken lines
// is one line in a log.
const maxErrorText = 20

// Error lists the fields and their messages; of more than twenty, the first
// twenty and the number of the others.
func (e *ValidationError) Error() string {
	var b strings.Builder
	b.WriteString(ErrInvalid.Error())
	for i, f := range e.Fields {
		if i == maxErrorText {
			fmt.Fprintf(&b, "; and %d more", len(e.Fields)-i)
			break
		}
		b.WriteString([...]string{": ", "; "}[min(i, 1)])
		if f.Field != "" {
			b.WriteString(f.Field)
			b.WriteString(": ")
		}
		b.WriteString(f.Message)
	}
	return b.String()
}

// Unwrap returns [ErrInvalid].
func (e *ValidationError) Unwrap() error { return ErrInvalid }

// Add appends one offending field.
func (e *ValidationError) Add(field string, code FieldCode, message string) {
	e.Fields = append(e.Fields, FieldError{Field: field, Code: code, Message: message})
}

// Merge appends the fields of err below the path prefix: a field "unitPrice"
// merged at "lines[2]" becomes "lines[2].unitPrice". An err that is no
// [*ValidationError] becomes one malformed field at the prefix; nil adds
// nothing.
func (e *ValidationError) Merge(prefix string, err error) {
	if err == nil {
		return
	}
	var inner *ValidationError
	if !errors.As(err, &inner) {
		e.Add(prefix, FieldMalformed, err.Error())
		return
	}
	for _, f := range inner.Fields {
		e.Add(joinPath(prefix, f.Field), f.Code, f.Message)
	}
}

// At is [ValidationError.Merge] for a parser that names its own value: the
// fields of err are reported at exactly this path.
func (e *ValidationError) At(field string, err error) {
	if err == nil {
		return
	}
	var inner *ValidationError
	if !errors.As(err, &inner) {
		e.Merge(field, err)
		return
	}
	for _, f := range inner.Fields {
		e.Add(field, f.Code, f.Message)
	}
}

// Err returns e, or nil when no field was added.
func (e *ValidationError) Err() error {
	if e == nil || len(e.Fields) == 0 {
		return nil
	}
	return e
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

func invalid(field string, code FieldCode, message string) error {
	return &ValidationError{Fields: []FieldError{{Field: field, Code: code, Message: message}}}
}

func linePath(i int, field string) string { return fmt.Sprintf("lines[%d].%s", i, field) }
