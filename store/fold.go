package store

import (
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/unicode15"
)

// Fold returns text in the form that stores search. Fold does the same as [coupon.Fold] and
// also ignores letter case. The result does not depend on the Go toolchain. A search finds a coupon if the folded search text is a part of
// the folded name, code or description.
func Fold(text string) string { return strings.Map(foldRune, coupon.Fold(text)) }

// foldRune converts to upper case first, because some letters share only their upper case.
func foldRune(r rune) rune { return unicode15.ToLower(unicode15.ToUpper(r)) }
