package coupon

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/couponkit/couponkit/validation"
)

// These constants are the inclusive bounds and the default for the number of symbols in a
// [CodeShape].
const (
	// MinCodeSymbols is the minimum number of random symbols in a generated code. Codes with 8
	// random symbols have 36 random bits.
	MinCodeSymbols = 8
	// DefaultCodeSymbols is the number of random symbols if a [CodeShape] does not set Symbols.
	DefaultCodeSymbols = 12
	// MaxCodeSymbols is the maximum number of random symbols in a generated code.
	MaxCodeSymbols = 64
)

// CodeShape defines the form of generated codes. The zero CodeShape produces codes with 12
// random symbols and a check symbol.
type CodeShape struct {
	// Prefix is a valid code with which every generated code begins. A dash follows the prefix.
	// For example, the prefix SUMMER gives codes such as SUMMER-4F7K2XW9R1CM8. If Prefix is
	// empty, generated codes have no prefix.
	Prefix string `json:"prefix,omitempty"`
	// Symbols is the number of random symbols, from [MinCodeSymbols] to [MaxCodeSymbols]
	// inclusive. If Symbols is 0, a code has [DefaultCodeSymbols] random symbols. Each random
	// symbol adds 4.4 random bits.
	Symbols int `json:"symbols,omitempty"`
}

const (
	// codeSymbols are the symbols of generated codes. Of each group of symbols that
	// people confuse, it has one. It has no vowels, so that codes contain no words.
	// With the dash there are 23 symbols. The check symbol needs a prime number.
	codeSymbols = "0123456789CFHJKMPRTVWX"

	checkPrime  = 23
	checkWeight = 5 // a primitive root of the prime: no two neighbors weigh the same
)

// GenerateCode returns a random code of the given shape. Pass crypto/rand.Reader as the random
// source. With a predictable random source, people can guess codes.
//
// After the prefix, generated codes use only the symbols 0123456789CFHJKMPRTVWX. The last symbol
// of a generated code is a check symbol. The check symbol detects one wrong symbol, or two
// neighboring symbols that were swapped. One wrong letter in the prefix goes undetected in 1 of
// 22 cases. [Code.AsGenerated] corrects letters that people often mistype, such as O for 0.
//
// If the shape is invalid, GenerateCode returns a [*validation.Error]. GenerateCode wraps
// any error that the random source returns.
func GenerateCode(random io.Reader, shape CodeShape) (Code, error) {
	shape, err := shape.Normalize()
	switch {
	case err != nil:
		return Code{}, err
	case random == nil:
		return Code{}, errors.New("generate a code: there is no source of randomness")
	}
	var key []byte
	if shape.Prefix != "" {
		key = []byte(shape.Prefix + "-")
	}
	var draw [8]byte
	for range shape.Symbols {
		if _, err := io.ReadFull(random, draw[:]); err != nil {
			return Code{}, fmt.Errorf("generate a code: %w", err)
		}
		key = append(key, codeSymbols[binary.BigEndian.Uint64(draw[:])%uint64(len(codeSymbols))])
	}
	check := checkOf(string(key))
	if check == 0 { // the dash is not a check symbol: change the last random symbol
		last := len(key) - 1
		key[last] = codeSymbols[valueOf(rune(key[last]))%len(codeSymbols)]
		check = checkOf(string(key))
	}
	return ParseCode(string(append(key, codeSymbols[check-1])))
}

// Normalize returns the shape with the key of its prefix and with its number of symbols. Shapes of the
// same codes are equal after Normalize. If the shape is invalid, Normalize returns a
// [*validation.Error] that names prefix, symbols or both.
func (s CodeShape) Normalize() (CodeShape, error) {
	var faults validation.Error
	if s.Symbols == 0 {
		s.Symbols = DefaultCodeSymbols
	}
	if s.Symbols < MinCodeSymbols || s.Symbols > MaxCodeSymbols {
		faults.Add("symbols", validation.Malformed, fmt.Sprintf("a generated code has %d to %d symbols", MinCodeSymbols, MaxCodeSymbols))
	}
	if s.Prefix == "" {
		return s, faults.Err()
	}
	prefix, err := ParseCode(s.Prefix)
	faults.At("prefix", err)
	s.Prefix = prefix.String()
	const others = 2 // the dash and the check symbol
	if faults.Err() == nil && utf8.RuneCountInString(s.Prefix)+s.Symbols+others > MaxCodeLength {
		faults.Add("prefix", validation.TooLong, codeTooLong())
	}
	return s, faults.Err()
}

// AsGenerated corrects typing errors in a code from [GenerateCode]. After the prefix,
// AsGenerated replaces each letter on the left by the symbol on the right:
//
//	O, Q, D: 0
//	I, L:    1
//	Z:       2
//	A:       4
//	S:       5
//	G:       6
//	B:       8
//	N:       M
//	U, Y:    V
//
// AsGenerated returns false if the corrected code does not have the form of a generated code.
// AsGenerated also returns false if the check symbol of the corrected code is wrong.
//
// First look up the code as it was typed. Call AsGenerated only if no coupon has the typed code.
// Two handmade codes may differ only in letters that AsGenerated replaces.
func (c Code) AsGenerated() (generated Code, ok bool) {
	start := strings.LastIndexByte(c.key, '-') + 1
	symbols := strings.Map(readAs, c.key[start:])
	key := c.key[:start] + symbols
	if strings.Trim(symbols, codeSymbols) != "" || len(symbols) <= MinCodeSymbols || len(symbols) > MaxCodeSymbols+1 || checkSum(key) != 0 {
		return Code{}, false
	}
	return Code{key: key}, true
}

// readAs returns the symbol that people confuse with r.
func readAs(r rune) rune {
	switch r {
	case 'O', 'Q', 'D':
		return '0'
	case 'I', 'L':
		return '1'
	case 'Z':
		return '2'
	case 'A':
		return '4'
	case 'S':
		return '5'
	case 'G':
		return '6'
	case 'B':
		return '8'
	case 'N':
		return 'M'
	case 'U', 'Y':
		return 'V'
	}
	return r
}

// checkOf returns the value of the check symbol for the key. With this symbol the check
// sum is 0.
func checkOf(key string) int { return (checkPrime - checkSum(key)*checkWeight%checkPrime) % checkPrime }

// checkSum weighs each character with a power of the weight.
func checkSum(key string) int {
	sum := 0
	for _, r := range key {
		sum = (sum*checkWeight + valueOf(r)) % checkPrime
	}
	return sum
}

// valueOf returns 0 for the dash, and for other characters 1 to 22.
func valueOf(r rune) int {
	if r == '-' {
		return 0
	}
	if at := strings.IndexRune(codeSymbols, readAs(r)); at >= 0 {
		return at + 1
	}
	return 1 + int(r)%len(codeSymbols)
}
