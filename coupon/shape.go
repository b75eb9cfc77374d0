package coupon

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/couponkit/couponkit/validation"
)

// These constants are the inclusive bounds and the default for the number of symbols in a [CodeShape].
const (
	// MinCodeSymbols is the minimum number of random symbols, which have 35 random bits.
	MinCodeSymbols = 8
	// DefaultCodeSymbols is the number of random symbols if a [CodeShape] sets neither Symbols nor Pattern.
	DefaultCodeSymbols = 12
	// MaxCodeSymbols is the maximum number of random symbols, which have 124 random bits.
	MaxCodeSymbols = 28
	// MaxCodeGroup is the maximum number of symbols in each group of a pattern with several groups.
	MaxCodeGroup = MinCodeSymbols
)

// CodeSymbols are the symbols of generated codes. Of each group of symbols that people confuse, the list has one. It has
// no vowels, so that codes contain no words.
const CodeSymbols = "0123456789CFHJKMPRTVWX"

// CodeShape defines the form of generated codes: a prefix, random symbols and a check symbol, which comes last. The zero
// CodeShape describes codes with 12 random symbols and a check symbol. Package codes generates and reads such codes.
type CodeShape struct {
	// Prefix is a valid code with which every generated code begins, or empty. A dash follows the prefix, as in
	// SUMMER-4F7K2XW9R1CM8.
	Prefix string `json:"prefix,omitempty"`
	// Symbols is the number of random symbols, from [MinCodeSymbols] to [MaxCodeSymbols] inclusive, or 0 for that of the
	// Pattern. Without a Pattern, 0 means [DefaultCodeSymbols]. Each random symbol adds 4.4 random bits.
	Symbols int `json:"symbols,omitempty"`
	// Pattern has an X for each symbol, the check symbol included, and dashes between groups, as in XXXX-XXXX-XXXX. All
	// groups have the same number of symbols. Several groups have at most [MaxCodeGroup] symbols each. Without a Pattern,
	// there is one group.
	Pattern string `json:"pattern,omitempty"`
}

// Normalize returns the shape with the key of its prefix, with its number of symbols and with its pattern. Shapes of the
// same codes are equal after Normalize. If the shape is invalid, Normalize returns a [*validation.Error] that names every
// invalid field.
//
// A prefix whose last part reads like a group of the pattern is invalid beside several groups: nobody could tell where
// the symbols begin. An example is GIFT beside XXXX-XXXX-XXXX, because people confuse G and 6, and I and 1.
func (s CodeShape) Normalize() (CodeShape, error) {
	var faults validation.Error
	s = s.withPattern(&faults)
	if s.Prefix == "" {
		return s, faults.Err()
	}
	prefix, err := ParseCode(s.Prefix)
	faults.At("prefix", err)
	s.Prefix = prefix.String()
	if faults.Err() != nil {
		return s, faults.Err()
	}
	group, _, several := strings.Cut(s.Pattern, "-")
	last := s.Prefix[strings.LastIndexByte(s.Prefix, '-')+1:]
	switch {
	case utf8.RuneCountInString(s.Prefix)+1+len(s.Pattern) > MaxCodeLength:
		faults.Add("prefix", validation.TooLong, codeTooLong())
	case several && len(last) == len(group) && IsCodeSymbols(AsCodeSymbols(last)):
		faults.Add("prefix", validation.NotAllowed, fmt.Sprintf("%s reads like a group of the pattern", last))
	}
	return s, faults.Err()
}

// withPattern returns the shape with both the pattern and the number of random symbols set.
func (s CodeShape) withPattern(faults *validation.Error) CodeShape {
	field, symbols := "symbols", s.Symbols
	if s.Pattern != "" {
		if len(s.Pattern) <= maxCodeInput {
			s.Pattern = Fold(s.Pattern)
		}
		field, symbols = "pattern", strings.Count(s.Pattern, "X")-1
		if !isPattern(s.Pattern) {
			faults.Add("pattern", validation.Malformed,
				fmt.Sprintf("must be X for each symbol, with dashes between groups of the same size, at most %d, such as XXXX-XXXX-XXXX", MaxCodeGroup))
			return s
		}
		if s.Symbols != 0 && s.Symbols != symbols {
			faults.Add("symbols", validation.Mismatch, fmt.Sprintf("the pattern has %d random symbols and a check symbol", symbols))
		}
	} else if symbols == 0 {
		symbols = DefaultCodeSymbols
	}
	if symbols < MinCodeSymbols || symbols > MaxCodeSymbols {
		faults.Add(field, validation.Malformed, fmt.Sprintf("a generated code has %d to %d random symbols and a check symbol", MinCodeSymbols, MaxCodeSymbols))
		return s
	}
	s.Symbols = symbols
	if s.Pattern == "" {
		s.Pattern = strings.Repeat("X", symbols+1)
	}
	return s
}

func isPattern(pattern string) bool {
	group, _, several := strings.Cut(pattern, "-")
	for part := range strings.SplitSeq(pattern, "-") {
		if part != group || strings.Trim(part, "X") != "" {
			return false
		}
	}
	return group != "" && (!several || len(group) <= MaxCodeGroup)
}

// AsCodeSymbols replaces the letters of a key that people confuse with a symbol by that symbol: O, Q and D by 0, I and L
// by 1, Z by 2, A by 4, S by 5, G by 6, B by 8, N by M, and U and Y by V.
func AsCodeSymbols(key string) string {
	const typed, meant = "OQDILZASGBNUY", "0001124568MVV"
	if !strings.ContainsAny(key, typed) {
		return key
	}
	return strings.Map(func(r rune) rune {
		if at := strings.IndexRune(typed, r); at >= 0 {
			return rune(meant[at])
		}
		return r
	}, key)
}

// IsCodeSymbols reports whether the text has only [CodeSymbols].
func IsCodeSymbols(text string) bool { return strings.Trim(text, CodeSymbols) == "" }
