package pricing

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid is matched by every error about malformed input, in all packages of this
// module. One of these errors is [*ValidationError].
var ErrInvalid = errors.New("invalid input")

// FieldCode is a machine-readable reason why a field is invalid. Codes are stable.
type FieldCode string

// The field codes.
const (
	FieldRequired        FieldCode = "required"          // absent or empty
	FieldMalformed       FieldCode = "malformed"         // the field has the wrong form
	FieldUnknown         FieldCode = "unknown"           // the value is unknown, or the field does not exist
	FieldTooSmall        FieldCode = "too_small"         // below the minimum
	FieldTooLarge        FieldCode = "too_large"         // above the maximum
	FieldTooLong         FieldCode = "too_long"          // more characters or entries than allowed
	FieldTooManyDecimals FieldCode = "too_many_decimals" // more decimals than the currency, its step or a percentage allows
	FieldOverflow        FieldCode = "overflow"          // the result exceeds 64 bits
	FieldMismatch        FieldCode = "mismatch"          // contradicts another field
	FieldNotAllowed      FieldCode = "not_allowed"       // not allowed together with another field
	FieldImmutable       FieldCode = "immutable"         // cannot be changed after creation
	FieldTaken           FieldCode = "taken"             // already in use
	FieldMore            FieldCode = "more"              // counts the faults of a list beyond MaxListFaults
)

// MaxListFaults is how many faults in the entries of one list a [ValidationError] names.
// Further faults are counted.
const MaxListFaults = 1_000

// FieldError is one invalid field. Its JSON form is
// {"field":"lines[2].unitPrice","code":"too_small","message":"…"}.
type FieldError struct {
	// Field is the path of the field by its JSON names, such as "lines[2].unitPrice".
	Field string `json:"field"`
	// Code is the reason as a constant for programs.
	Code FieldCode `json:"code"`
	// Message is the reason as English text for people.
	Message string `json:"message"`
}

// ValidationError lists every invalid field of one input. It matches [ErrInvalid].
// Collect fields with [ValidationError.Add], and return [ValidationError.Err]. The zero
// value is an empty list. Adding fields is not safe for concurrent use.
//
// The first [MaxListFaults] faults in the entries of one list are named, such as
// "allowedUserEmails[0]". One field of code [FieldMore] with the path of the list counts
// the rest.
type ValidationError struct {
	// Fields are the faults in the order of discovery. A field may occur more than
	// once.
	Fields []FieldError

	entries map[string]int // faults of entries by the path of their list, those beyond the bound too
}

// maxErrorText is how many fields Error spells out: a cart of 10,000 broken lines
// is one line in a log.
const maxErrorText = 20

// Error returns the first 20 fields with their messages, and the number of the rest.
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

// Add appends one field, or counts it; see [MaxListFaults].
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

// Merge appends the fields of err with prefix in front of their paths. The field
// "unitPrice" with prefix "lines[2]" becomes "lines[2].unitPrice". Any other type of
// error becomes one malformed field with the path prefix. A nil err adds nothing.
// Faults that err counts but does not name are added to the count.
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

// At appends the fields of err, all with the path field. For other errors it works like
// [ValidationError.Merge].
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

// Err returns e, or nil if e has no fields.
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
