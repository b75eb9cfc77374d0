package codes

import (
	"strings"

	"github.com/couponkit/couponkit/coupon"
)

const (
	symbols = coupon.CodeSymbols
	base    = 22 // number of symbols

	// checkPrime is the number of symbols plus 1 for the dash. The check sum needs a prime number.
	checkPrime = 23
	// checkWeight is a primitive root of the prime. Two neighbors therefore have different weights.
	checkWeight = 5
)

// appendCheck adds one character to a check sum. A code is correct if its check sum is 0.
func appendCheck(sum, value int) int { return (sum*checkWeight + value) % checkPrime }

// checkOf returns the value of the next character that makes the check sum 0.
func checkOf(sum int) int { return (checkPrime - sum*checkWeight%checkPrime) % checkPrime }

// checkSum returns the check sum of a key.
func checkSum(key string) int {
	sum := 0
	for _, r := range coupon.AsCodeSymbols(key) {
		sum = appendCheck(sum, valueOf(r))
	}
	return sum
}

// valueOf returns the value of a character in the check sum: 0 for the dash, and 1 to 22 for the
// symbols.
func valueOf(r rune) int {
	if r == '-' {
		return 0
	}
	if at := strings.IndexRune(symbols, r); at >= 0 {
		return at + 1
	}
	return 1 + int(r)%base
}
