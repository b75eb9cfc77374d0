package pricing

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// reader converts the members of an object that package strictjson has decoded. It collects the faults.
// An absent, null or malformed member is nil or empty.
type reader struct {
	currency Currency
	faults   validation.Error
}

// read merges the faults of an object, and reports whether the text is an object.
func (r *reader) read(faults error) bool {
	r.faults.Merge("", faults)
	return !r.has("")
}

// has reports whether a member, or an entry of it, has a fault.
func (r *reader) has(field string) bool {
	return slices.ContainsFunc(r.faults.Fields, func(f validation.Field) bool {
		return f.Path == field || strings.HasPrefix(f.Path, field+"[")
	})
}

// required adds a fault if a member is absent. A malformed member has its fault already.
func (r *reader) required(field string, given bool) {
	if !given && !r.has(field) {
		r.faults.Add(field, validation.Required, "is required")
	}
}

// list reads a list of at most most entries.
func list[T any](r *reader, field string, raw json.RawMessage, most int, read func(json.RawMessage) (T, error)) (entries []T) {
	if raw != nil {
		r.faults.Merge(field, strictjson.List(raw, most, func(raw json.RawMessage) error {
			entry, err := read(raw)
			entries = append(entries, entry)
			return err
		}))
	}
	return entries
}

// word parses a member that is one of a fixed set of words. Empty text means absent.
func word[T any](r *reader, field, text string, parse func(string) (T, error)) (value T) {
	if text == "" {
		return value
	}
	value, err := parse(text)
	r.faults.At(field, err)
	return value
}

// categories converts names to Categories.
func (r *reader) categories(names []string) (c Categories) {
	if !r.has("categories") {
		var err error
		c, err = NewCategories(names...)
		r.faults.Merge("categories", err)
	}
	return c
}

// amount converts money to minor units of the currency.
func (r *reader) amount(field string, n Number) int64 {
	minor, err := strictjson.ParseNumber(string(n), r.currency.Exponent())
	r.faults.At(field, err)
	return minor
}

// optionalAmount is amount for a member that may be absent. Without a currency, only the number's form
// is checked. The missing currency has its own fault.
func (r *reader) optionalAmount(field string, n *Number) int64 {
	switch {
	case n == nil:
		return 0
	case r.currency.IsZero():
		_, err := strictjson.ScanNumber(string(*n))
		r.faults.At(field, err)
		return 0
	}
	return r.amount(field, *n)
}

// integer converts a whole number.
func (r *reader) integer(field string, n json.Number) int64 {
	value, err := strictjson.ParseNumber(string(n), 0)
	r.faults.At(field, err)
	return value
}

// whole converts a whole number that may be absent. It has its own message for a number with decimals.
func (r *reader) whole(field string, n json.Number) (value int64, ok bool) {
	if n == "" {
		return 0, false
	}
	value, err := strictjson.ParseNumber(string(n), 0)
	var refused *validation.Error
	if errors.As(err, &refused) && refused.Fields[0].Code == validation.TooManyDecimals {
		err = validation.New("", validation.Malformed, "must be a whole number")
	}
	r.faults.At(field, err)
	return value, err == nil
}

func integer(n int64) json.Number { return json.Number(formatMinor(n, 0)) }

// version checks the version of a document.
func (r *reader) version(got, want int) {
	switch got {
	case want:
	case 0:
		r.faults.Add("version", validation.Required, "the document has a version")
	default:
		r.faults.Add("version", validation.Unknown, fmt.Sprintf("must be %d", want))
	}
}
