package pricing

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/couponkit/couponkit/validation"
)

// Class is the class of goods that a cart line sells. The class decides how rules treat the
// line.
type Class uint8

// SubscriptionClass, ProductClass and ShippingClass are the classes of cart lines.
const (
	// SubscriptionClass means that the line sells a subscription. Only subscriptions recur.
	SubscriptionClass Class = iota + 1
	// ProductClass means that the line sells a product.
	ProductClass
	// ShippingClass means that the line sells shipping. Shipping is never discounted.
	ShippingClass
)

const classMessage = "must be subscription, product or shipping"

// String returns the JSON name of the class: "subscription", "product" or "shipping". For an
// unknown class, String returns the empty string.
func (c Class) String() string {
	switch c {
	case SubscriptionClass:
		return "subscription"
	case ProductClass:
		return "product"
	case ShippingClass:
		return "shipping"
	}
	return ""
}

// GoString returns the text that package fmt prints for %#v, such as
// "pricing.Class(product)".
func (c Class) GoString() string { return goString("Class", c.String(), uint8(c)) }

// ParseClass returns the class with the given JSON name, such as "product". The name is
// case-sensitive. ParseClass returns a [*validation.Error] for an unknown or empty name.
func ParseClass(text string) (Class, error) {
	for c := SubscriptionClass; c <= ShippingClass; c++ {
		if c.String() == text {
			return c, nil
		}
	}
	return 0, validation.New("", validation.Unknown, classMessage)
}

// MarshalText returns the JSON name of the class, such as "product". For the zero Class,
// MarshalText returns empty text. For an unknown class, MarshalText returns a
// [*validation.Error].
func (c Class) MarshalText() ([]byte, error) {
	if c > ShippingClass {
		return nil, validation.New("", validation.Unknown, fmt.Sprintf("%d is no class of lines", c))
	}
	return []byte(c.String()), nil
}

// UnmarshalText parses the JSON name of a class, like [ParseClass]. On error, UnmarshalText
// sets the class to 0.
func (c *Class) UnmarshalText(text []byte) (err error) {
	*c, err = ParseClass(string(text))
	return err
}

// LineKind is the kind of item that a cart line sells, such as "device" or "book". The
// caller chooses the kinds. A kind has 1 to [MaxKindLength] lower-case ASCII letters,
// digits, hyphens and underscores.
type LineKind string

// MaxKindLength is the maximum length of a [LineKind], in bytes.
const MaxKindLength = 64

// Plan, Device, Accessory and Shipping are the kinds that the specification names.
const (
	// Plan is a subscription plan. The class of a plan is [SubscriptionClass].
	Plan LineKind = "plan"
	// Device is a device. The class of a device is [ProductClass].
	Device LineKind = "device"
	// Accessory is an accessory. The class of an accessory is [ProductClass].
	Accessory LineKind = "accessory"
	// Shipping is a shipping option. The class of Shipping is [ShippingClass].
	Shipping LineKind = "shipping"
)

// String returns the kind as text, such as "plan".
func (k LineKind) String() string { return string(k) }

// GoString returns the text that package fmt prints for %#v, such as
// "pricing.LineKind(plan)".
func (k LineKind) GoString() string { return goString("LineKind", string(k), 0) }

// ParseLineKind checks a kind, such as "plan" or "book". ParseLineKind returns a
// [*validation.Error] if the text is no valid [LineKind].
func ParseLineKind(text string) (LineKind, error) {
	switch {
	case text == "":
		return "", validation.New("", validation.Required, "a kind is required")
	case !LineKind(text).valid():
		return "", validation.New("", validation.Malformed, fmt.Sprintf("a kind has at most %d lower-case letters, digits, hyphens and underscores", MaxKindLength))
	}
	return LineKind(text), nil
}

// UnmarshalText parses a kind, like [ParseLineKind]. On error, UnmarshalText sets the kind
// to the empty kind.
func (k *LineKind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseLineKind(string(text))
	return err
}

// Class returns the class that the kind implies. A plan is a subscription. The kind shipping
// is shipping. Every other kind is a product, unless the line names another class. The empty
// kind has no class.
func (k LineKind) Class() Class {
	class, _ := k.implied()
	return class
}

// implied returns the class that the kind implies. It also reports whether the specification
// names the kind.
func (k LineKind) implied() (class Class, known bool) {
	switch k {
	case Plan:
		return SubscriptionClass, true
	case Device, Accessory:
		return ProductClass, true
	case Shipping:
		return ShippingClass, true
	case "":
		return 0, false
	}
	return ProductClass, false
}

func (k LineKind) valid() bool {
	if k == "" || len(k) > MaxKindLength {
		return false
	}
	for i := range len(k) {
		if b := k[i]; (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '-' && b != '_' {
			return false
		}
	}
	return true
}

// MaxCategories and MaxCategoryLength limit the categories of a line.
const (
	// MaxCategories is the maximum number of categories of one line.
	MaxCategories = 32
	// MaxCategoryLength is the maximum length of the name of a category, in Unicode code
	// points.
	MaxCategoryLength = 64
)

// categoryMark stands before and after every name in the text of Categories.
const categoryMark = "\x1f"

// Categories is an immutable set of category names. Categories values are comparable with
// ==. The zero Categories is the empty set.
type Categories struct {
	text string // the names in order, each between two marks
}

// NewCategories returns the set of the given names. Duplicate names are ignored.
// NewCategories returns a [*validation.Error] that lists every invalid name by its index, in
// these cases:
//
//   - A name is empty, or has more than [MaxCategoryLength] code points.
//   - A name is not valid UTF-8, or has control characters.
//   - There are more than [MaxCategories] names.
func NewCategories(names ...string) (Categories, error) {
	if len(names) == 0 {
		return Categories{}, nil
	}
	if len(names) > MaxCategories {
		return Categories{}, validation.New("", validation.TooLong, fmt.Sprintf("at most %d categories are allowed", MaxCategories))
	}
	var faults validation.Error
	for i, name := range names {
		faults.At(fmt.Sprintf("[%d]", i), CheckCategory(name))
	}
	if err := faults.Err(); err != nil {
		return Categories{}, err
	}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	return Categories{categoryMark + strings.Join(slices.Compact(sorted), categoryMark) + categoryMark}, nil
}

// CheckCategory returns a [*validation.Error] if the name of a category is invalid; see
// [NewCategories].
func CheckCategory(name string) error {
	switch {
	case name == "":
		return validation.New("", validation.Required, "a category has a name")
	case !utf8.ValidString(name):
		return validation.New("", validation.Malformed, "must be UTF-8")
	case utf8.RuneCountInString(name) > MaxCategoryLength:
		return validation.New("", validation.TooLong, fmt.Sprintf("at most %d characters are allowed", MaxCategoryLength))
	case strings.ContainsFunc(name, unicode.IsControl):
		return validation.New("", validation.Malformed, "no control characters are allowed")
	}
	return nil
}

// IsEmpty reports whether the set has no names.
func (c Categories) IsEmpty() bool { return c.text == "" }

// Has reports whether the set contains the name.
func (c Categories) Has(name string) bool {
	return c.Any(func(own string) bool { return own == name })
}

// Any reports whether a name of the set satisfies the predicate. Any allocates no memory.
func (c Categories) Any(satisfies func(name string) bool) bool {
	for rest := c.text; len(rest) > len(categoryMark); {
		name, _, _ := strings.Cut(rest[len(categoryMark):], categoryMark)
		if satisfies(name) {
			return true
		}
		rest = rest[len(categoryMark)+len(name):]
	}
	return false
}

// Names returns the names of the set, sorted by their bytes.
func (c Categories) Names() []string {
	if c.IsEmpty() {
		return nil
	}
	return strings.Split(strings.Trim(c.text, categoryMark), categoryMark)
}

// String returns the names of the set, separated by commas.
func (c Categories) String() string { return strings.Join(c.Names(), ",") }

// GoString returns the text that package fmt prints for %#v, such as
// "pricing.Categories(books,sale)".
func (c Categories) GoString() string { return "pricing.Categories(" + c.String() + ")" }

// Equal reports whether c and d have the same names. Package go-cmp uses Equal to compare
// values.
func (c Categories) Equal(d Categories) bool { return c == d }
