package store

import (
	"strings"
	"unicode"
)

// FoldCase makes texts equal that differ in letter case only, in every script: a store
// finds the text of [CouponList].Search where the fold of the one is a part of the fold
// of the other. It goes letter by letter, so that the fold of a part of valid UTF-8 is a
// part of the fold: the Greek sigma at the end of a word is the one within it, and ß is
// not ss. Texts are not normalised: é as one code point is not e with an accent.
func FoldCase(text string) string { return strings.Map(foldRune, text) }

// foldRune goes by the upper case first, for some letters share that alone.
func foldRune(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }
