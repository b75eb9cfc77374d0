package sqlstore

import (
	"database/sql"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// scanner is a row.
type scanner interface{ Scan(into ...any) error }

// optional receives what is NULL when it is absent.
type optional = sql.Null[int64]

// micros returns the instant as it is stored, the zero time too.
func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// optionalMicros returns an argument: NULL for no instant.
func optionalMicros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func optionalInstant(o optional) time.Time {
	if !o.Valid {
		return time.Time{}
	}
	return instant(o.V)
}

// orNull returns an argument: NULL for 0.
func orNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// findable reports whether a record can have the text as ID or key at all.
// Databases disagree on what NUL and malformed text mean.
func findable(text string) bool {
	return text != "" && len(text) <= redemption.MaxIDLength && storable(text)
}

// storable reports whether text comes back as it was written.
func storable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// fieldSeparator stands between the fields in the search text. No name has it, for
// it is a control character.
const fieldSeparator = "\x1f"

func searchText(c coupon.Coupon) string {
	return fold(strings.Join([]string{c.Name, c.Code.String(), c.Description}, fieldSeparator))
}

// fold is [store.FoldCase] in the letters that rows have held since the first schema.
func fold(text string) string { return strings.Map(leastLetter, store.FoldCase(text)) }

// leastLetter returns the least of the letters that are the same but for their case.
func leastLetter(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}
