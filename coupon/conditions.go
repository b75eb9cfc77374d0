package coupon

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/couponkit/couponkit/internal/unicode15"
	"github.com/couponkit/couponkit/validation"
)

// These constants are inclusive upper bounds for the conditions of a coupon.
const (
	// MaxTags is the maximum number of tags in one list.
	MaxTags = 50
	// MaxTagLength is the maximum length of a tag, in code points.
	MaxTagLength = 64
	// MaxQuantity is the maximum of a minimum quantity and of a maximum quantity.
	MaxQuantity = 1_000_000_000
)

// CustomerTags restricts a coupon to customers with certain tags. The host gives tags to its customers and passes them
// with each request. Tags are compared byte by byte. The zero CustomerTags does not restrict a coupon. The lists must
// not be modified.
type CustomerTags struct {
	// Any lists tags of which the customer needs at least one. An empty Any requires no tag.
	Any []string `json:"any,omitempty"`
	// All lists tags that the customer needs.
	All []string `json:"all,omitempty"`
	// None lists tags that the customer must not have.
	None []string `json:"none,omitempty"`
}

// IsZero reports whether all three lists are empty.
func (t CustomerTags) IsZero() bool { return len(t.Any)+len(t.All)+len(t.None) == 0 }

// Equal reports whether t and u contain the same tags in the same order.
func (t CustomerTags) Equal(u CustomerTags) bool {
	return slices.Equal(t.Any, u.Any) && slices.Equal(t.All, u.All) && slices.Equal(t.None, u.None)
}

// Match reports whether a customer with the given tags meets the condition. Match allocates no memory.
func (t CustomerTags) Match(tags []string) bool {
	has := func(tag string) bool { return slices.Contains(tags, tag) }
	lacks := func(tag string) bool { return !has(tag) }
	return !slices.ContainsFunc(t.All, lacks) && !slices.ContainsFunc(t.None, has) && (len(t.Any) == 0 || slices.ContainsFunc(t.Any, has))
}

// clone returns tags that share no memory with t.
func (t CustomerTags) clone() CustomerTags {
	return CustomerTags{Any: slices.Clone(t.Any), All: slices.Clone(t.All), None: slices.Clone(t.None)}
}

// Missing returns the tags that a customer with the given tags lacks. The customer needs one of the tags in anyOf and
// every tag in all. Excluded reports whether the customer has a tag that the condition excludes.
func (t CustomerTags) Missing(tags []string) (anyOf, all []string, excluded bool) {
	has := func(tag string) bool { return slices.Contains(tags, tag) }
	if !slices.ContainsFunc(t.Any, has) {
		anyOf = slices.Clone(t.Any)
	}
	for _, required := range t.All {
		if !has(required) {
			all = append(all, required)
		}
	}
	return anyOf, all, slices.ContainsFunc(t.None, has)
}

// MarshalJSON returns a JSON object with the lists that are not empty. For the zero CustomerTags, MarshalJSON returns
// null.
func (t CustomerTags) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	type plain CustomerTags
	return json.Marshal(plain(t))
}

func (t CustomerTags) faults(faults *validation.Error) {
	tagFaults(faults, "customerTags.any", t.Any)
	tagFaults(faults, "customerTags.all", t.All)
	tagFaults(faults, "customerTags.none", t.None)
	t.contradictions(faults)
}

func tagFaults(faults *validation.Error, field string, tags []string) {
	listFaults(faults, field, MaxTags, "tags", tags, func(i int, tag string) error {
		if slices.Contains(tags[:i], tag) && tag != "" {
			return fieldFault(validation.Mismatch, "the tag is given twice")
		}
		return named(tag, "a tag is not empty")
	})
}

// named checks a label that must not be empty.
func named(label, required string) error {
	if label == "" {
		return fieldFault(validation.Required, required)
	}
	var faults validation.Error
	labelFaults(&faults, "", label)
	return faults.Err()
}

// labelFaults checks a name that is compared byte by byte, such as a tag. Names that look the same must
// have the same bytes. The name must therefore be in Unicode form NFC, without white space and
// invisible characters at its ends. Tags, channels, categories and groups have the same maximum length.
func labelFaults(faults *validation.Error, field, text string) {
	before := len(faults.Fields)
	textFaults(faults, field, text, MaxTagLength, false)
	switch {
	case len(faults.Fields) > before:
	case strings.TrimFunc(text, blank) != text:
		faults.Add(field, validation.Malformed, "no white space or invisible characters at the ends")
	case unicode15.NFC(text) != text:
		faults.Add(field, validation.Malformed, "must be in Unicode form NFC")
	}
}

// blank reports whether r is invisible at the end of a text. Marks of emoji above U+FFFF are visible.
func blank(r rune) bool {
	return unicode15.IsSpace(r) || r == unicode15.BrailleBlank || r <= 0xFFFF && unicode.Is(unicode.Cf, r)
}
