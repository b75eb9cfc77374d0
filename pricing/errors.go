package pricing

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid identifies errors about malformed input, in all packages of this module.
// The call errors.Is(err, ErrInvalid) reports true for every error about malformed
// input. A [*ValidationError] is one type of error about malformed input.
var ErrInvalid = errors.New("invalid input")

// FieldCode is a machine-readable reason why a field is invalid. The text of a field
// code never changes.
type FieldCode string

// The constants of type FieldCode are the reasons why a field can be invalid.
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
	// FieldTooManyDecimals means that the number has more decimals than its currency,
	// the step or a percentage allows.
	FieldTooManyDecimals FieldCode = "too_many_decimals"
	// FieldOverflow means that the result of a computation exceeds 64 bits.
	FieldOverflow FieldCode = "overflow"
	// FieldMismatch means that the field contradicts another field.
	FieldMismatch FieldCode = "mismatch"
	// FieldNotAllowed means that the field is not allowed together with another field.
	FieldNotAllowed FieldCode = "not_allowed"
	// FieldImmutable means that the field cannot be changed after creation.
	FieldImmutable FieldCode = "immutable"
	// FieldTaken means that the value is already in use.
	FieldTaken FieldCode = "taken"
	// FieldMore means that a list has more than [MaxListFaults] invalid fields. The
	// message of the [FieldError] gives the number of invalid fields beyond
	// MaxListFaults.
	FieldMore FieldCode = "more"
)

// MaxListFaults is the maximum number of invalid fields that a [ValidationError] names
// for one list. A ValidationError only counts the invalid fields of a list beyond
// MaxListFaults.
const MaxListFaults = 1_000

// FieldError describes one invalid field. The JSON form of a FieldError is
// {"field":"lines[2].unitPrice","code":"too_small","message":"…"}.
type FieldError struct {
	// Field is the path of the invalid field, made of JSON names, such as
	// "lines[2].unitPrice".
	Field string `json:"field"`
	// Code is the machine-readable reason why the field is invalid.
	Code FieldCode `json:"code"`
	// Message is an English text that explains to people why the field is invalid.
	Message string `json:"message"`
}

// ValidationError lists every invalid field of one input. A ValidationError matches
// [ErrInvalid]. Callers add invalid fields with [ValidationError.Add] and return the
// result of [ValidationError.Err]. The zero ValidationError is an empty list. Several
// goroutines must not add fields to the same ValidationError concurrently.
//
// The path of an invalid field in a list contains an index, such as
// "allowedUserEmails[0]". A ValidationError names only the first [MaxListFaults]
// invalid fields of each list. If a list has more than MaxListFaults invalid fields,
// Fields contains one extra field with the code [FieldMore]. The field with the code
// FieldMore has the path of the list. The message of the field with the code FieldMore
// gives the number of invalid fields that are not named.
type ValidationError struct {
	// Fields are the invalid fields in the order of discovery. The same field may occur
	// in Fields more than once.
	Fields []FieldError

	entries map[string]int // faults of entries by the path of their list, those beyond the bound too
}

// maxErrorText is how many fields Error spells out: a cart of 10,000 broken lines
// is one line in a log.
const maxErrorText = 20

// Error returns a text with the first 20 invalid fields and their messages. If there
// are more than 20 invalid fields, the text ends with the number of further fields.
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

// Add appends one invalid field to Fields. If the list that contains the field already
// has [MaxListFaults] invalid fields, Add only counts the field.
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

// Merge appends the invalid fields of the error err. Merge puts the parameter prefix in
// front of the path of each invalid field. The path "unitPrice" with the prefix
// "lines[2]" becomes "lines[2].unitPrice". If err contains no ValidationError, Merge
// appends one invalid field with the code [FieldMalformed]. The path of the malformed
// field is the parameter prefix. If err is nil, Merge appends nothing. Merge adds the
// number of unnamed invalid fields in err to the count of unnamed fields in e.
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

// At appends the invalid fields of the error err. Every field that At appends gets the
// parameter field as its path. If err contains no ValidationError, At works like
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

// Err returns e. If e has no invalid fields, Err returns nil.
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
