package coupon

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/couponkit/couponkit/internal/unicode15"
	"github.com/couponkit/couponkit/validation"
)

// MaxCodeLength is the maximum length of a normalized code, in code points (specification 8).
const MaxCodeLength = 255

// maxCodeInput is the maximum number of bytes that are normalized. Normalizing can shorten a text, but
// no text above this length becomes a valid code.
const maxCodeInput = 16 * MaxCodeLength

// Code is a coupon code in its normalized form, called the key (contract section 4.1). Codes are stored, compared and
// shown as keys. [Fold] describes the normalization. Codes can be compared with the operator ==. The zero Code means
// that there is no code.
//
// A key has only characters of Unicode 15.0, and letter case is that of Unicode 15.0, whatever Go toolchain has built
// the program.
type Code struct{ key string }

// ParseCode normalizes text that an administrator typed, and returns the Code. Text that is already normalized stays
// unchanged. ParseCode returns a [*validation.Error] for the field "code" in these cases:
//   - The text is empty after trimming ([validation.Required]).
//   - The key has more than [MaxCodeLength] code points ([validation.TooLong]).
//   - The text is not valid UTF-8, or contains white space inside.
//   - The text contains a control, format or private-use character, the blank Braille pattern, or a character
//     that Unicode lets a renderer ignore.
//   - The text contains a character that Unicode 15.0 does not assign, except the capital of a letter of
//     Unicode 15.0, which becomes that letter.
//   - The key is ".", ".." or "/", which do not work in a URL path.
func ParseCode(typed string) (Code, error) {
	if key, ok := plainCode(typed); ok {
		return Code{key: key}, nil
	}
	typed = unicode15.TrimSpace(typed)
	switch {
	case typed == "":
		return Code{}, codeFault(validation.Required, "a code is required")
	case len(typed) > maxCodeInput:
		return Code{}, codeFault(validation.TooLong, codeTooLong())
	case !utf8.ValidString(typed):
		return Code{}, codeFault(validation.Malformed, "a code is valid UTF-8 text")
	}
	key := fold(typed)
	if isStep(key) {
		return Code{}, codeFault(validation.Malformed, "a code is not . or .. or /, which do not work in a URL path")
	}
	for _, r := range key {
		switch {
		case unicode15.IsSpace(r):
			return Code{}, codeFault(validation.Malformed, "a code has no white space inside")
		case unicode15.Invisible(r):
			return Code{}, codeFault(validation.Malformed, fmt.Sprintf("a code has no invisible characters such as %U", r))
		case !unicode15.Visible(r):
			return Code{}, codeFault(validation.Malformed, fmt.Sprintf("a code has only characters of Unicode 15.0, and not %U", r))
		}
	}
	if utf8.RuneCountInString(key) > MaxCodeLength {
		return Code{}, codeFault(validation.TooLong, codeTooLong())
	}
	return Code{key: key}, nil
}

// TypedCode returns the Code for text that a customer typed. TypedCode removes invisible characters, which people copy
// from web pages, and then calls [ParseCode]. If no coupon has the typed code, look up the result of
// codes.AsGenerated.
func TypedCode(typed string) (Code, error) { return ParseCode(withoutInvisible(typed)) }

// Fold normalizes text for looking up codes and searching for coupons. Fold removes invisible characters, applies
// Unicode form NFKC, trims white space, and converts letters to upper case, both the dotted and the dotless i to "I",
// and every kind of dash to "-". Fold returns a normalized code unchanged.
func Fold(text string) string { return fold(withoutInvisible(text)) }

// plainCode returns the key of a code that is printable ASCII without white space. Nearly all codes
// are. If the code is a key already, plainCode allocates no memory.
func plainCode(typed string) (string, bool) {
	if typed == "" || len(typed) > MaxCodeLength || isStep(typed) {
		return "", false
	}
	for i := range len(typed) {
		if b := typed[i]; b <= ' ' || b > '~' {
			return "", false
		}
	}
	return strings.ToUpper(typed), true
}

// isStep reports whether the key has a special meaning in a URL path, even if it is percent-encoded.
// Browsers resolve the dots. [net/http.ServeMux] treats a single slash as the end of the path.
func isStep(key string) bool { return key == "." || key == ".." || key == "/" }

// fold normalizes a text until nothing changes, so that folding a key returns the key. One round is
// not enough: the upper case of some letters is not in NFKC, and some signs become a space with a
// mark. A few rounds are enough for every text.
func fold(text string) string {
	folded := compatible(text)
	for range 8 {
		next := compatible(strings.Map(unicode15.ToUpper, unicode15.NFKD(unified(folded))))
		if next == folded {
			break
		}
		folded = next
	}
	return folded
}

// unified replaces letters and signs that look alike by one of them.
func unified(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.Map(unifiedRune, text), "ß", "SS"), "ẞ", "SS")
}

func unifiedRune(r rune) rune {
	switch {
	case r == 'İ': // the upper case of the dotless ı is I already
		return 'I'
	case r >= '\u2010' && r <= '\u2015', r == '\u2212': // hyphens, dashes, minus
		return '-'
	}
	if letter, ok := laterCapitals[r]; ok {
		return letter
	}
	return r
}

// laterCapitals are capital letters from versions 16.0 and 17.0 of Unicode. Their small letters are in
// Unicode 15.0.
var laterCapitals = map[rune]rune{'\uA7CB': '\u0264', '\uA7D2': '\uA7D3', '\uA7D4': '\uA7D5', '\uA7DC': '\u019B'}

// compatible returns the text in NFKC, without white space at its ends.
func compatible(text string) string { return unicode15.TrimSpace(unicode15.NFKC(text)) }

func withoutInvisible(text string) string {
	if !strings.ContainsFunc(text, unicode15.Invisible) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode15.Invisible(r) {
			return -1
		}
		return r
	}, text)
}

func codeTooLong() string { return fmt.Sprintf("a code has at most %d characters", MaxCodeLength) }

func codeFault(code validation.Code, message string) error {
	return validation.New("code", code, message)
}

// faults makes the checks that hold for keys of every version of this library.
func (c Code) faults(faults *validation.Error) {
	switch {
	case c.key == "":
		faults.At("code", codeFault(validation.Required, "a code is required"))
	case !utf8.ValidString(c.key):
		faults.At("code", codeFault(validation.Malformed, "a code is valid UTF-8 text"))
	case utf8.RuneCountInString(c.key) > MaxCodeLength:
		faults.At("code", codeFault(validation.TooLong, codeTooLong()))
	}
}

// String returns the code in its normalized form.
func (c Code) String() string { return c.key }

// GoString formats the code for the messages of failed tests.
func (c Code) GoString() string { return fmt.Sprintf("coupon.Code(%s)", c) }

// IsZero reports whether c is the zero Code.
func (c Code) IsZero() bool { return c.key == "" }

// Equal reports whether c and d are the same code. The package go-cmp calls Equal to compare codes.
func (c Code) Equal(d Code) bool { return c == d }

// MarshalText returns the code in its normalized form.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.key), nil }

// StoredCode returns the Code with a key that [Code.String] returned, for stores. StoredCode neither checks nor
// normalizes the key, which another version of this library may have made.
func StoredCode(key string) Code { return Code{key: key} }

// UnmarshalText works like [StoredCode]. The error is always nil.
func (c *Code) UnmarshalText(text []byte) error {
	*c = StoredCode(string(text))
	return nil
}
