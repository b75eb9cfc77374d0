package sqlstore

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
)

// The longest description there is, of signs that stand for phrases.
func TestASearchTextFitsItsColumn(t *testing.T) {
	t.Parallel()
	c := coupon.Coupon{Name: "Name", Description: strings.Repeat("ﷺ", coupon.MaxDescriptionLength)}
	text := searchText(c)
	require.Len(t, text, maxSearchText-maxSearchText%2+1, "the name, and letters of two bytes and spaces")
	require.True(t, utf8.ValidString(text))
	require.True(t, strings.HasPrefix(text, "name"))
}

func TestInstantsKeepTheMicrosecond(t *testing.T) {
	t.Parallel()
	require.True(t, instant(micros(time.Time{})).IsZero(), "the zero time comes back as itself")
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-62_135_596_800, 253_402_300_799).Draw(t, "seconds"),
			rapid.Int64Range(0, 999_999).Draw(t, "micros")*1000).UTC()
		if got := instant(micros(at)); !got.Equal(at) {
			t.Fatalf("%v came back as %v", at, got)
		}
	})
}

func TestErrorsAreKnownByTheirNumber(t *testing.T) {
	t.Parallel()
	sqlite, mysql := sqliteGrammar(), mysqlGrammar()
	for text, want := range map[string]bool{
		"database is locked (5) (SQLITE_BUSY)": true, "sqlite3: database is locked": true,
		"constraint failed: UNIQUE constraint failed: orders.id (1555)": false, "disk I/O error": false,
	} {
		require.Equal(t, want, sqlite.transient(errors.New(text)), text)
	}
	for text, want := range map[string]bool{
		"Error 1213 (40001): Deadlock found": true, "Error 1205 (HY000): Lock wait timeout exceeded": true,
		"Error 1205: Lock wait timeout exceeded": true,
		"Error 1062 (23000): Duplicate entry":    false, "Error 12130 (HY000): another": false, "invalid connection": false,
	} {
		require.Equal(t, want, mysql.transient(errors.New(text)), text)
	}
	require.True(t, mysql.duplicate(errors.New("Error 1062 (23000): Duplicate entry 'a'")))
	require.False(t, mysql.duplicate(errors.New("Error 1064 (42000): syntax")))
}
