//go:build !race

package coupon_test

// everyNthCharacter is how many of Unicode's characters are tried: all.
const everyNthCharacter = 1
