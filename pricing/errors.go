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
	FieldMore            FieldCode = "more"              // stands for the faults of a list beyond MaxListFaults
)

// MaxListFaults is the most faults in the entries of one list that a
// [ValidationError] names. The others are counted.
const MaxListFaults = 1_000

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
// [ErrInvalid]. The zero value is an empty list: fill it with
// [ValidationError.Add] and turn it into an error with [ValidationError.Err].
// Filling it is not safe for concurrent use; reading it is.
//
// Of one list, such as "allowedUserEmails[0]" and its other entries, the first
// [MaxListFaults] faults are named. One field of code [FieldMore] with the path of
// the list counts the rest: a million bad entries make a short answer.
type ValidationError struct {
	// Fields are the faults in the order in which they were found. A field may
	// occur more than once.
	Fields []FieldError

	entries map[string]int // faults of entries by the path of their list, those beyond the bound too
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

// Add appends one offending field, or counts it: see [MaxListFaults].
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

// Merge appends the fields of err below the path prefix: a field "unitPrice"
// merged at "lines[2]" becomes "lines[2].unitPrice". An err that is no
// [*ValidationError] becomes one malformed field at the prefix; nil adds
// nothing. Faults that err only counts are counted; see [MaxListFaults].
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
