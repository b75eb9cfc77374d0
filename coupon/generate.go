package coupon

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/couponkit/couponkit/pricing"
)

// Bounds of [CodeShape], in random symbols.
const (
	MinCodeSymbols     = 8 // 36 bits
	DefaultCodeSymbols = 12
	MaxCodeSymbols     = 64
)

// CodeShape tells how a generated code looks. The zero value is 12 random symbols and a
// check symbol.
type CodeShape struct {
	// Prefix is a valid code. A dash follows it: SUMMER makes SUMMER-4F7K2XW9R1CM8.
	// Empty means no prefix.
	Prefix string
	// Symbols is the number of random symbols, within [MinCodeSymbols] and
	// [MaxCodeSymbols]; 0 means [DefaultCodeSymbols]. Each symbol has 4.4 random bits.
	Symbols int
}

const (
	// codeSymbols are the symbols of generated codes. Of each group of symbols that
	// people confuse, it has one. It has no vowels, so that codes contain no words.
	// With the dash there are 23 symbols. The check symbol needs a prime number.
	codeSymbols = "0123456789CFHJKMPRTVWX"

	checkPrime  = 23
	checkWeight = 5 // a primitive root of the prime: no two neighbors weigh the same
)

// GenerateCode returns a random code. Use crypto/rand.Reader for random. Otherwise
// people could predict codes and use them.
//
// The alphabet is 0123456789CFHJKMPRTVWX. The last symbol is a check symbol. It detects
// one replaced symbol, and two swapped neighbors. It misses one of 22 wrong letters in
// a prefix. [Code.AsGenerated] corrects letters that people confuse with the symbols of
// the alphabet.
//
// A shape out of bounds is a [*pricing.ValidationError]. An error of random is
// returned, wrapped.
func GenerateCode(random io.Reader, shape CodeShape) (Code, error) {
	if shape.Symbols == 0 {
		shape.Symbols = DefaultCodeSymbols
	}
	prefix, err := shape.prefix()
	switch {
	case err != nil:
		return Code{}, err
	case random == nil:
		return Code{}, errors.New("generate a code: there is no source of randomness")
	}
	key := []byte(prefix)
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

// prefix returns what comes before the random symbols, and checks the shape.
func (s CodeShape) prefix() (string, error) {
	var faults pricing.ValidationError
	if s.Symbols < MinCodeSymbols || s.Symbols > MaxCodeSymbols {
		faults.Add("symbols", pricing.FieldMalformed, fmt.Sprintf("a generated code has %d to %d symbols", MinCodeSymbols, MaxCodeSymbols))
	}
	if s.Prefix == "" {
		return "", faults.Err()
	}
	prefix, err := ParseCode(s.Prefix)
	faults.At("prefix", err)
	return prefix.String() + "-", faults.Err()
}

// AsGenerated corrects a mistyped code of [GenerateCode]. After the prefix it reads O,
// Q and D as 0, I and L as 1, Z as 2, A as 4, S as 5, G as 6, B as 8, N as M, U and Y
// as V. ok is false if the result is not a generated code or the check symbol is wrong.
//
// Look up c first, and call AsGenerated only if no coupon has c. Otherwise two handmade
// codes that differ only in such letters would be confused.
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
