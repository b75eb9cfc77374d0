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

// These constants are the inclusive bounds and the default for the number of symbols in a [CodeShape].
const (
	// MinCodeSymbols is the minimum number of random symbols, which have 36 random bits.
	MinCodeSymbols = 8
	// DefaultCodeSymbols is the number of random symbols if a [CodeShape] does not set Symbols.
	DefaultCodeSymbols = 12
	// MaxCodeSymbols is the maximum number of random symbols.
	MaxCodeSymbols = 64
)

// CodeShape defines the form of generated codes. The zero CodeShape produces codes with 12 random symbols and a check
// symbol.
type CodeShape struct {
	// Prefix is a valid code with which every generated code begins, or empty. A dash follows the prefix, as in
	// SUMMER-4F7K2XW9R1CM8.
	Prefix string `json:"prefix,omitempty"`
	// Symbols is the number of random symbols, from [MinCodeSymbols] to [MaxCodeSymbols] inclusive, or 0 for
	// [DefaultCodeSymbols]. Each random symbol adds 4.4 random bits.
	Symbols int `json:"symbols,omitempty"`
}

const (
	// codeSymbols are one of each group of symbols that people confuse, without vowels, so that codes contain no words.
	// With the dash there are 23 symbols. The check symbol needs a prime number.
	codeSymbols = "0123456789CFHJKMPRTVWX"

	checkPrime  = 23
	checkWeight = 5 // a primitive root of the prime: no two neighbors weigh the same
)

// GenerateCode returns a random code of the given shape. Pass crypto/rand.Reader as the random source. With a
// predictable random source, people can guess codes.
//
// After the prefix, generated codes use only the symbols 0123456789CFHJKMPRTVWX. The last symbol is a check symbol. It
// detects one wrong symbol, or two neighboring symbols that were swapped. One wrong letter in the prefix goes
// undetected in 1 of 22 cases.
//
// If the shape is invalid, GenerateCode returns a [*validation.Error]. It wraps errors of the random source.
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

// Normalize returns the shape with the key of its prefix and with its number of symbols. Shapes of the same codes are
// equal after Normalize. If the shape is invalid, Normalize returns a [*validation.Error] that names prefix, symbols or
// both.
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

// AsGenerated corrects typing errors in a code from [GenerateCode]. After the prefix, it replaces O, Q and D by 0, I
// and L by 1, Z by 2, A by 4, S by 5, G by 6, B by 8, N by M, and U and Y by V.
//
// ok is false if the corrected code does not have the form of a generated code, or a wrong check symbol.
//
// First look up the code as it was typed: two handmade codes may differ only in letters that AsGenerated replaces.
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
	const typed, meant = "OQDILZASGBNUY", "0001124568MVV"
	if at := strings.IndexRune(typed, r); at >= 0 {
		return rune(meant[at])
	}
	return r
}

// checkOf returns the value of the check symbol for the key. With this symbol the check sum is 0.
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
