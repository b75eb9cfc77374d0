// Package unicode15 gives characters the properties that Unicode 15.0 gives them. The tables of
// package unicode and of golang.org/x/text have the version of the Go toolchain. Two programs
// that use the same database may be built by different toolchains. They must read and write the
// same keys.
//
// The tables are generated. Normal forms come from golang.org/x/text, for characters of Unicode 15.0
// only: by the stability policy of Unicode, they never change once a character is assigned.
package unicode15

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

//go:generate go run generate.go

// span is a range of characters, both ends included.
type span struct{ first, last rune }

// shift is a range of every step-th character whose case differs by delta.
type shift struct {
	first, last rune
	step, delta int32
}

// Assigned reports whether Unicode 15.0 assigns r. Surrogates and private-use characters are not
// assigned.
func Assigned(r rune) bool { return within(assigned[:], r) }

// BrailleBlank looks like a space, and is none.
const BrailleBlank = '\u2800'

// Ignorable reports whether r is a format character or a character that a renderer may ignore.
func Ignorable(r rune) bool { return within(invisible[:], r) }

// Invisible reports whether r shows nothing, not even a space: a control character, an ignorable one, or the Braille
// blank.
func Invisible(r rune) bool {
	return Ignorable(r) || unicode.IsControl(r) && !IsSpace(r) || r == BrailleBlank
}

// Visible reports whether r looks the same to every reader. Private and unassigned characters do not.
func Visible(r rune) bool {
	if r < utf8.RuneSelf { // ASCII, the most frequent case
		return r >= ' ' && r <= '~'
	}
	return Assigned(r) && !Invisible(r) && !unicode.IsControl(r) && r != unicode.ReplacementChar
}

// IsSpace reports whether r is white space.
func IsSpace(r rune) bool {
	switch r {
	case ' ', 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000:
		return true
	}
	return r >= '\t' && r <= '\r' || r >= 0x2000 && r <= 0x200A
}

// TrimSpace returns text without white space at its ends.
func TrimSpace(text string) string { return strings.TrimFunc(text, IsSpace) }

// ToUpper returns the upper case of r, or r.
func ToUpper(r rune) rune {
	if r < utf8.RuneSelf { // ASCII, equal in all versions
		return unicode.ToUpper(r)
	}
	return shifted(upper[:], r)
}

// ToLower returns the lower case of r, or r.
func ToLower(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	return shifted(lower[:], r)
}

func within(table []span, r rune) bool {
	_, found := slices.BinarySearchFunc(table, r, func(s span, r rune) int { return place(s.first, s.last, r) })
	return found
}

func shifted(table []shift, r rune) rune {
	at, found := slices.BinarySearchFunc(table, r, func(s shift, r rune) int { return place(s.first, s.last, r) })
	if !found || (r-table[at].first)%table[at].step != 0 {
		return r
	}
	return r + table[at].delta
}

// place compares a range with r.
func place(first, last, r rune) int {
	switch {
	case last < r:
		return -1
	case first > r:
		return 1
	}
	return 0
}

// NFC returns text in Unicode form NFC. Characters that Unicode 15.0 does not assign stay as they
// are. Text must be valid UTF-8.
func NFC(text string) string { return normalized(text, norm.NFC) }

// NFKC returns text in Unicode form NFKC. Characters that Unicode 15.0 does not assign stay as
// they are. Text must be valid UTF-8.
func NFKC(text string) string { return normalized(text, norm.NFKC) }

// NFKD returns text in Unicode form NFKD. Characters that Unicode 15.0 does not assign stay as
// they are. Text must be valid UTF-8.
func NFKD(text string) string { return normalized(text, norm.NFKD) }

// normalized normalizes each run of assigned characters. ASCII text is already normalized.
func normalized(text string, form norm.Form) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return text
	}
	var b strings.Builder
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool { return !Assigned(r) })
		if end < 0 {
			end = len(text)
		}
		b.WriteString(form.String(text[:end]))
		if text = text[end:]; text != "" {
			_, size := utf8.DecodeRuneInString(text)
			b.WriteString(text[:size])
			text = text[size:]
		}
	}
	return b.String()
}
