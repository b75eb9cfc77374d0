package coupon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/couponkit/couponkit/internal/strictjson"
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

// CustomerTags restricts a coupon to customers with certain tags. The host gives tags to its
// customers and passes them with each request. Tags are compared byte by byte. The zero
// CustomerTags does not restrict a coupon. The lists must not be modified.
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

// Match reports whether a customer with the given tags meets the condition. Match allocates no
// memory.
func (t CustomerTags) Match(tags []string) bool {
	for _, required := range t.All {
		if !slices.Contains(tags, required) {
			return false
		}
	}
	for _, excluded := range t.None {
		if slices.Contains(tags, excluded) {
			return false
		}
	}
	return t.matchAny(tags)
}

func (t CustomerTags) matchAny(tags []string) bool {
	for _, tag := range t.Any {
		if slices.Contains(tags, tag) {
			return true
		}
	}
	return len(t.Any) == 0
}

// clone returns tags that share no memory with t.
func (t CustomerTags) clone() CustomerTags {
	return CustomerTags{Any: slices.Clone(t.Any), All: slices.Clone(t.All), None: slices.Clone(t.None)}
}

// Missing returns the tags that a customer with the given tags lacks. The customer needs one of
// the tags in anyOf and every tag in all. Excluded reports whether the customer has a tag that the
// condition excludes.
func (t CustomerTags) Missing(tags []string) (anyOf, all []string, excluded bool) {
	if !t.matchAny(tags) {
		anyOf = slices.Clone(t.Any)
	}
	for _, required := range t.All {
		if !slices.Contains(tags, required) {
			all = append(all, required)
		}
	}
	return anyOf, all, slices.ContainsFunc(t.None, func(tag string) bool { return slices.Contains(tags, tag) })
}

var tagsReader = strictjson.For[CustomerTags]()

// UnmarshalJSON reads a JSON object with the lists any, all and none. JSON null sets *t to the
// zero CustomerTags. If UnmarshalJSON fails, *t stays unchanged.
func (t *CustomerTags) UnmarshalJSON(data []byte) error {
	var read CustomerTags
	if !bytes.Equal(data, []byte("null")) {
		if err := tagsReader.Object(data, &read); err != nil {
			return err
		}
	}
	*t = read
	return nil
}

// MarshalJSON returns a JSON object with the lists that are not empty. For the zero CustomerTags,
// MarshalJSON returns null.
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
	if len(tags) > MaxTags {
		faults.Add(field, validation.TooLong, fmt.Sprintf("at most %d tags", MaxTags))
		return
	}
	for i, tag := range tags {
		path := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case tag == "":
			faults.Add(path, validation.Required, "a tag is not empty")
		case slices.Contains(tags[:i], tag):
			faults.Add(path, validation.Mismatch, "the tag is given twice")
		default:
			labelFaults(faults, path, tag)
		}
	}
}

// labelFaults checks a name that is compared byte by byte, such as a tag. Two names that look the
// same must be the same. The name is therefore in Unicode form NFC, without white space and invisible
// characters at its ends. Tags, channels, categories and groups have the same maximum length.
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

// blank reports whether r shows nothing at the end of a text. Marks of emoji beyond U+FFFF do.
func blank(r rune) bool {
	return unicode15.IsSpace(r) || r == brailleBlank || r <= 0xFFFF && unicode.Is(unicode.Cf, r)
}
