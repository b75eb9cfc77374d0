package codes

import "github.com/couponkit/couponkit/coupon"

// SmallGenerator returns a Generator of fewer symbols than a shape has, whose codes can all be listed.
func SmallGenerator(key []byte, prefix, pattern string, randomSymbols int) (*Generator, error) {
	return newGenerator(key, formOf(coupon.CodeShape{Prefix: prefix, Pattern: pattern, Symbols: randomSymbols}))
}
