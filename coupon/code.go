package coupon

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"github.com/couponkit/couponkit/pricing"
)

// MaxCodeLength is the most code points that a code has (specification 8),
// counted in its normalised form.
const MaxCodeLength = 255

// maxCodeInput bounds the bytes that are normalised. Normalising shortens a
// text, but nothing of this length to a valid code.
const maxCodeInput = 16 * MaxCodeLength

// Code is the key of a coupon code (contract section 4.1): NFKC-normalised,
// trimmed of white space, upper-cased. Letters that differ in case only have one key,
// but for the few whose upper case is another letter: a capital ẞ stays, and ß is SS.
// It is comparable. The zero value is no code.
type Code struct {
	key string
}

// ParseCode makes the key of what somebody typed. White space inside, control
// and invisible characters, text that is not UTF-8, and more than
// [MaxCodeLength] code points are a [*pricing.ValidationError]; so is a text
// that is empty once trimmed, with field code required. A key is its own key.
//
// Invisible are format, private and unassigned characters, those that Unicode lets a
// renderer ignore, the replacement character and the blank pattern of Braille. Of symbols
// that some fonts leave blank, such as the object replacement character, Unicode keeps no
// list: they are taken.
//
// Upper-casing is that of Unicode without a language: "ß" is "SS", and the
// dotless "ı" is "I", as "i" is.
func ParseCode(typed string) (Code, error) {
	if key, ok := plainCode(typed); ok {
		return Code{key: key}, nil
	}
	typed = trimSpace(typed)
	switch {
	case typed == "":
		return Code{}, codeFault(pricing.FieldRequired, "a code is required")
	case len(typed) > maxCodeInput:
		return Code{}, codeFault(pricing.FieldTooLong, codeTooLong())
	case !utf8.ValidString(typed):
		return Code{}, codeFault(pricing.FieldMalformed, "a code is valid UTF-8 text")
	}
	key, stable := codeKey(typed)
	if !stable {
		return Code{}, codeFault(pricing.FieldMalformed, "the code has no normalised form")
	}
	for _, r := range key {
		switch {
		case unicode.IsSpace(r):
			return Code{}, codeFault(pricing.FieldMalformed, "a code has no white space inside")
		case !visible(r):
			return Code{}, codeFault(pricing.FieldMalformed, fmt.Sprintf("a code has no invisible characters such as %U", r))
		}
	}
	if utf8.RuneCountInString(key) > MaxCodeLength {
		return Code{}, codeFault(pricing.FieldTooLong, codeTooLong())
	}
	return Code{key: key}, nil
}

// plainCode is the way of nearly all codes: printable ASCII that is upper-case
// already, which costs no allocation.
func plainCode(typed string) (string, bool) {
	if typed == "" || len(typed) > MaxCodeLength {
		return "", false
	}
	for i := range len(typed) {
		if b := typed[i]; b <= ' ' || b > '~' || 'a' <= b && b <= 'z' {
			return "", false
		}
	}
	return typed, true
}

// codeKey normalises until nothing changes, for a key must be its own key: some
// letters have an upper case that NFKC rewrites, and some signs become a space
// with a mark, which is trimmed off. A handful of rounds settles every text.
func codeKey(typed string) (key string, stable bool) {
	key, sound := compatible(typed)
	upper := cases.Upper(language.Und)
	for range 8 {
		next, alike := compatible(upper.String(key))
		if sound = sound && alike; next == key || !sound {
			return key, sound
		}
		key = next
	}
	return key, false
}

// compatible returns the text in NFKC, trimmed. It is not sound where it has become another
// text: golang.org/x/text composes some letters beyond U+FFFF with marks that belong to
// other letters, so that U+10041 with an acute accent would be the code Á.
func compatible(text string) (composed string, sound bool) {
	composed = norm.NFKC.String(text)
	return trimSpace(composed), norm.NFKD.String(composed) == norm.NFKD.String(text)
}

func trimSpace(text string) string { return strings.TrimFunc(text, unicode.IsSpace) }

// visible reports whether a reader can see r: control, format (zero-width,
// bidirectional), private and unassigned characters are not, nor are the
// letters and marks that Unicode lets a renderer ignore, nor the blank pattern
// of Braille.
func visible(r rune) bool {
	return !unicode.In(r, unicode.C, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		r != unicode.ReplacementChar && r != brailleBlank
}

const brailleBlank = '\u2800'

func codeTooLong() string { return fmt.Sprintf("a code has at most %d characters", MaxCodeLength) }

func codeFault(code pricing.FieldCode, message string) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Field: "code", Code: code, Message: message}}}
}

// String returns the key.
func (c Code) String() string { return c.key }

// GoString shows the value in test failures.
func (c Code) GoString() string { return fmt.Sprintf("coupon.Code(%s)", c) }

// IsZero reports whether c is no code.
func (c Code) IsZero() bool { return c.key == "" }

// Equal reports whether c and d are the same code, as == does; go-cmp finds it.
func (c Code) Equal(d Code) bool { return c == d }

// MarshalText returns the key.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.key), nil }

// UnmarshalText is [ParseCode]; the empty text is no code.
func (c *Code) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = Code{}
		return nil
	}
	parsed, err := ParseCode(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}
