// Package unicode15 gives characters the properties that Unicode 15.0 gives them. The tables of
// package unicode and of golang.org/x/text have the version of the Go toolchain. Two programs
// that use the same database may be built by different toolchains. They must read and write the
// same keys.
//
// The tables are generated. The decomposition of a character never changes once the character is
// assigned, by the stability policy of Unicode. Decompositions therefore come from
// golang.org/x/text, for characters of Unicode 15.0 only. Compositions are from a table of this
// package: golang.org/x/text composes some letters with marks of other letters.
package unicode15

import (
	"cmp"
	"slices"
	"strings"
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

// composition is a character and the two characters that it is composed of.
type composition struct{ first, second, composed rune }

// Assigned reports whether Unicode 15.0 assigns r. Surrogates and private-use characters are not
// assigned.
func Assigned(r rune) bool { return within(assigned[:], r) }

// Invisible reports whether r is a format character or a character that a renderer may ignore.
func Invisible(r rune) bool { return within(invisible[:], r) }

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
func ToUpper(r rune) rune { return shifted(upper[:], r) }

// ToLower returns the lower case of r, or r.
func ToLower(r rune) rune { return shifted(lower[:], r) }

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
func NFC(text string) string { return compose(decompose(text, norm.NFD)) }

// NFKC returns text in Unicode form NFKC. Characters that Unicode 15.0 does not assign stay as
// they are. Text must be valid UTF-8.
func NFKC(text string) string { return compose(decompose(text, norm.NFKD)) }

// NFKD returns text in Unicode form NFKD. Characters that Unicode 15.0 does not assign stay as
// they are. Text must be valid UTF-8.
func NFKD(text string) string { return string(decompose(text, norm.NFKD)) }

// decompose decomposes each run of assigned characters.
func decompose(text string, form norm.Form) []rune {
	decomposed := make([]rune, 0, len(text))
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool { return !Assigned(r) })
		if end < 0 {
			end = len(text)
		}
		decomposed = append(decomposed, []rune(form.String(text[:end]))...)
		if text = text[end:]; text != "" {
			other, size := utf8.DecodeRuneInString(text)
			decomposed, text = append(decomposed, other), text[size:]
		}
	}
	return decomposed
}

// compose is the composition of UAX #15, section 1.3, for text that is decomposed.
func compose(text []rune) string {
	composed, starter, before := text[:0], -1, uint8(0)
	for _, r := range text {
		class := combiningClass(r)
		if adjacent := starter == len(composed)-1; starter >= 0 && (adjacent || before != 0 && before < class) {
			if c, ok := composeTwo(composed[starter], r); ok {
				composed[starter] = c
				continue
			}
		}
		if class == 0 {
			starter = len(composed)
		}
		composed, before = append(composed, r), class
	}
	return string(composed)
}

func combiningClass(r rune) uint8 {
	if r < firstMark || !Assigned(r) {
		return 0
	}
	return norm.NFD.PropertiesString(string(r)).CCC()
}

// These constants describe Hangul syllables, which are composed by arithmetic.
const (
	firstMark = 0x300

	leads, vowels, trails, syllables = 0x1100, 0x1161, 0x11A7, 0xAC00
	leadCount, vowelCount            = 19, 21
	trailCount                       = 28
)

func composeTwo(a, b rune) (composed rune, ok bool) {
	lead, vowel, syllable, trail := a-leads, b-vowels, a-syllables, b-trails
	switch {
	case lead >= 0 && lead < leadCount && vowel >= 0 && vowel < vowelCount:
		return syllables + (lead*vowelCount+vowel)*trailCount, true
	case syllable >= 0 && syllable < leadCount*vowelCount*trailCount && syllable%trailCount == 0 && trail > 0 && trail < trailCount:
		return a + trail, true
	}
	at, found := slices.BinarySearchFunc(compositions[:], composition{first: a, second: b}, func(x, y composition) int {
		return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(x.second, y.second))
	})
	if !found {
		return 0, false
	}
	return compositions[at].composed, true
}
