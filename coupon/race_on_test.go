//go:build race

package coupon_test

// everyNthCharacter is how many of Unicode's characters are tried. One goroutine tries
// them, for which the race detector has no use but takes half a minute: there, a part.
const everyNthCharacter = 8
