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

// MaxCodeLength is the maximum length of a normalized code, in code points (specification 8).
const MaxCodeLength = 255

// maxCodeInput is the maximum number of bytes that are normalized. Normalizing can
// shorten a text, but never a longer text to a valid code.
const maxCodeInput = 16 * MaxCodeLength

// Code is a coupon code in its normalized form, called the key (contract section 4.1). Codes are
// stored, compared and shown as keys. A key is in Unicode form NFKC, upper-cased, and trimmed of
// white space. [Fold] describes the rest of the normalization. Codes can be compared with the
// operator ==. The zero Code means that there is no code.
type Code struct {
	key string
}

// ParseCode normalizes text that an administrator typed, and returns the Code. Text that is
// already normalized stays unchanged. ParseCode returns a [*pricing.ValidationError] for the
// field "code" in these cases:
//   - The text is empty after trimming ([pricing.FieldRequired]).
//   - The key has more than [MaxCodeLength] code points ([pricing.FieldTooLong]).
//   - The trimmed text contains white space.
//   - The text contains a control character.
//   - The text is not valid UTF-8.
//   - The text contains a format character, a private-use character or an unassigned character.
//   - The text contains a character that Unicode lets a renderer ignore.
//   - The text contains the blank Braille pattern.
//   - The key is ".", ".." or "/", which do not work in a URL path.
//
// ParseCode accepts symbols that only some fonts show as blank, such as the object replacement
// character.
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
	key, stable := fold(typed)
	switch {
	case !stable:
		return Code{}, codeFault(pricing.FieldMalformed, "the code has no normalized form")
	case isStep(key):
		return Code{}, codeFault(pricing.FieldMalformed, "a code is not . or .. or /, which do not work in a URL path")
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

// TypedCode returns the Code for text that a customer typed. TypedCode removes invisible
// characters from the text and then calls [ParseCode]. Customers often copy invisible characters
// from web pages without noticing. If no coupon has the typed code, look up the result of
// [Code.AsGenerated].
func TypedCode(typed string) (Code, error) { return ParseCode(withoutInvisible(typed)) }

// Fold normalizes text for looking up codes and searching for coupons. Fold removes invisible
// characters, applies Unicode form NFKC, trims white space and converts letters to upper case.
// Fold replaces every kind of dash by "-". Fold converts both the dotted i and the dotless i to
// "I". The result does not depend on the user's language. Fold returns a normalized code
// unchanged.
func Fold(text string) string {
	folded, _ := fold(withoutInvisible(text))
	return folded
}

// plainCode returns typed if it is a key already: printable ASCII without white space
// or lower-case letters. This covers nearly all codes, and allocates nothing.
func plainCode(typed string) (string, bool) {
	if typed == "" || len(typed) > MaxCodeLength || isStep(typed) {
		return "", false
	}
	for i := range len(typed) {
		if b := typed[i]; b <= ' ' || b > '~' || 'a' <= b && b <= 'z' {
			return "", false
		}
	}
	return typed, true
}

// isStep reports whether the key has a special meaning in a URL path, even if it is
// percent-encoded. Browsers resolve the dots, and [net/http.ServeMux] takes a lone
// slash for the end.
func isStep(key string) bool { return key == "." || key == ".." || key == "/" }

// fold normalizes until nothing changes, because the key of a key must be the same key.
// NFKC rewrites the upper case of some letters, and some signs become a space with a
// mark. A few rounds suffice for every text.
func fold(text string) (folded string, stable bool) {
	folded, sound := compatible(text)
	upper := cases.Upper(language.Und)
	for range 8 {
		next, alike := compatible(unified(upper.String(folded)))
		if sound = sound && alike; next == folded {
			return folded, sound
		}
		folded = next
	}
	return folded, false
}

// unified replaces upper-case letters and signs that look alike by one of them.
func unified(text string) string {
	return strings.ReplaceAll(strings.Map(unifiedRune, text), "ẞ", "SS")
}

func unifiedRune(r rune) rune {
	switch {
	case r == 'İ': // the upper case of the dotless ı is I already
		return 'I'
	case r >= '\u2010' && r <= '\u2015', r == '\u2212': // hyphens, dashes, minus
		return '-'
	}
	return r
}

// compatible returns the text in NFKC, trimmed. sound is false if the result is a
// different text: golang.org/x/text composes some letters beyond U+FFFF with marks of
// other letters. U+10041 with an acute accent would become the code Á.
func compatible(text string) (composed string, sound bool) {
	composed = norm.NFKC.String(text)
	return trimSpace(composed), norm.NFKD.String(composed) == norm.NFKD.String(text)
}

func trimSpace(text string) string { return strings.TrimFunc(text, unicode.IsSpace) }

// visible reports whether r looks the same to every reader. Private and unassigned
// characters do not.
func visible(r rune) bool {
	return !invisible(r) && !unicode.In(r, unicode.C) && r != unicode.ReplacementChar
}

// invisible reports whether r shows nothing, not even a space. These are control and
// format characters, characters that Unicode lets a renderer ignore, and the Braille
// blank.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		unicode.IsControl(r) && !unicode.IsSpace(r) || r == brailleBlank
}

const brailleBlank = '\u2800'

func withoutInvisible(text string) string {
	if !strings.ContainsFunc(text, invisible) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, text)
}

func codeTooLong() string { return fmt.Sprintf("a code has at most %d characters", MaxCodeLength) }

func codeFault(code pricing.FieldCode, message string) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Field: "code", Code: code, Message: message}}}
}

// String returns the code in its normalized form.
func (c Code) String() string { return c.key }

// GoString formats the code for the messages of failed tests.
func (c Code) GoString() string { return fmt.Sprintf("coupon.Code(%s)", c) }

// IsZero reports whether c is the zero Code.
func (c Code) IsZero() bool { return c.key == "" }

// Equal reports whether c and d are the same code. The package go-cmp calls Equal to compare
// codes.
func (c Code) Equal(d Code) bool { return c == d }

// MarshalText returns the code in its normalized form.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.key), nil }

// UnmarshalText works like [ParseCode]. Empty text sets *c to the zero Code. If UnmarshalText
// fails, *c stays unchanged.
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
