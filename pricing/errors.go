package pricing

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid matches every error about malformed input, in all packages of this module. Use
// [errors.Is] to compare an error with ErrInvalid. Every [*ValidationError] matches
// ErrInvalid.
var ErrInvalid = errors.New("invalid input")

// FieldCode is a machine-readable reason why a field is invalid. The text of a field code
// stays the same in all later versions.
type FieldCode string

// Every [FieldError] has one of these field codes.
const (
	// FieldRequired means that the field is absent or empty.
	FieldRequired FieldCode = "required"
	// FieldMalformed means that the field has the wrong form.
	FieldMalformed FieldCode = "malformed"
	// FieldUnknown means that the value is unknown or the field does not exist.
	FieldUnknown FieldCode = "unknown"
	// FieldTooSmall means that the value is below the minimum.
	FieldTooSmall FieldCode = "too_small"
	// FieldTooLarge means that the value is above the maximum.
	FieldTooLarge FieldCode = "too_large"
	// FieldTooLong means that the field has more characters or entries than allowed.
	FieldTooLong FieldCode = "too_long"
	// FieldTooManyDecimals means that a number has too many decimals for its currency, for
	// the step or for a percentage.
	FieldTooManyDecimals FieldCode = "too_many_decimals"
	// FieldOverflow means that a computed amount does not fit in an int64.
	FieldOverflow FieldCode = "overflow"
	// FieldMismatch means that the field contradicts another field.
	FieldMismatch FieldCode = "mismatch"
	// FieldNotAllowed means that the field is not allowed together with another field.
	FieldNotAllowed FieldCode = "not_allowed"
	// FieldImmutable means that the field cannot be changed after creation.
	FieldImmutable FieldCode = "immutable"
	// FieldTaken means that the value is already in use.
	FieldTaken FieldCode = "taken"
	// FieldMore means that a list has more than [MaxListFaults] invalid fields. The message
	// of the [FieldError] tells how many invalid fields are not named.
	FieldMore FieldCode = "more"
)

// MaxListFaults is the maximum number of invalid fields that a [ValidationError] names for
// one list. A ValidationError counts further invalid fields but does not name them.
const MaxListFaults = 1_000

// FieldError describes one invalid field. In JSON, a FieldError looks like this:
//
//	{"field":"lines[2].unitPrice","code":"too_small","message":"…"}
type FieldError struct {
	// Field is the path of the invalid field, such as "lines[2].unitPrice". The path uses
	// JSON names.
	Field string `json:"field"`
	// Code is the machine-readable reason why the field is invalid.
	Code FieldCode `json:"code"`
	// Message explains in English why the field is invalid.
	Message string `json:"message"`
}

// ValidationError lists the invalid fields of one input. Every ValidationError matches
// [ErrInvalid].
//
// To build a ValidationError, call [ValidationError.Add] for each invalid field and return
// the result of [ValidationError.Err]. The zero ValidationError is ready to use. The
// methods Add, At and Merge are not safe for concurrent use.
//
// The path of an entry in a list contains the index of the entry, such as
// "allowedUserEmails[0]". A ValidationError names at most [MaxListFaults] invalid fields
// for each list. For a list with more than MaxListFaults invalid fields, Fields contains one
// extra [FieldError] with the code [FieldMore]. The message of the extra FieldError tells how
// many invalid fields are not named.
type ValidationError struct {
	// Fields are the invalid fields, in the order in which they were found. A field may
	// occur more than once.
	Fields []FieldError

	entries map[string]int // faults of entries by the path of their list, those beyond the bound too
}

// maxErrorText is how many fields Error spells out: a cart of 10,000 broken lines
// is one line in a log.
const maxErrorText = 20

// Error returns a text with the first 20 invalid fields and their messages. If there are
// more than 20 invalid fields, the text ends with the number of further fields.
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

// Add appends one invalid field to Fields. For a list that already has [MaxListFaults]
// invalid fields, Add only counts the field.
func (e *ValidationError) Add(field string, code FieldCode, message string) {
	list, _, entry := strings.Cut(field, "[")
	if entry && !e.counted(list, 1) {
		return
	}
	e.Fields = append(e.Fields, FieldError{Field: field, Code: code, Message: message})
}

// counted adds faults to those of a list and reports whether there is room for
// one more by name.
func (e *ValidationError) counted(list string, faults int) bool {
	if e.entries == nil {
		e.entries = make(map[string]int)
	}
	before := e.entries[list]
	e.entries[list] = before + faults
	if before < MaxListFaults {
		return true
	}
	more := FieldError{Field: list, Code: FieldMore, Message: fmt.Sprintf("%d more faults in this list", e.beyond(list))}
	for i := len(e.Fields) - 1; i >= 0; i-- {
		if e.Fields[i].Field == list && e.Fields[i].Code == FieldMore {
			e.Fields[i] = more
			return false
		}
	}
	e.Fields = append(e.Fields, more)
	return false
}

// beyond returns how many faults of a list have no name.
func (e *ValidationError) beyond(list string) int { return e.entries[list] - MaxListFaults }

// Merge appends the invalid fields of an error and puts a prefix in front of their paths.
// With the prefix "lines[2]", the path "unitPrice" becomes "lines[2].unitPrice". If the
// error contains no ValidationError, Merge appends one invalid field with the code
// [FieldMalformed]. The path of this field is the prefix. Merge does nothing for a nil
// error. Merge also takes over the number of invalid fields that the error counts but does
// not name.
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
		path := joinPath(prefix, f.Field)
		if more := inner.beyond(f.Field); f.Code == FieldMore && more > 0 {
			list, _, _ := strings.Cut(path, "[")
			e.counted(list, more)
			continue
		}
		e.Add(path, f.Code, f.Message)
	}
}

// At appends the invalid fields of an error and replaces their paths with the given path.
// For an error without a ValidationError, At does the same as [ValidationError.Merge].
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

// Err returns the ValidationError as an error, or nil if Fields is empty.
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
