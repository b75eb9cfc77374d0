package store

import (
	"strings"
	"unicode"

	"github.com/couponkit/couponkit/coupon"
)

// Fold returns text in the form in which stores search: that of [coupon.Fold], and so of
// a look-up, in lower case. A search finds a coupon where the fold of [CouponList].Search
// is a part of the fold of its name, its code or its description.
func Fold(text string) string { return strings.Map(foldRune, coupon.Fold(text)) }

// foldRune goes by the upper case first, for some letters share that alone.
func foldRune(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }
