package sqlstore

import (
	"database/sql"
	"strings"
	"time"
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
	text := strings.Join([]string{store.Fold(c.Name), store.Fold(c.Code.String()), store.Fold(c.Description)}, fieldSeparator)
	return strings.ToValidUTF8(text[:min(len(text), maxSearchText)], "")
}

// maxSearchText is what a column of MySQL holds, in bytes. Only a description of signs
// that stand for whole phrases is longer; its end is not searched.
const maxSearchText = 1<<16 - 1
