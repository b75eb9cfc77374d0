package pgxstore_test

import (
	"testing"
	"time"

	"github.com/couponkit/couponkit/store/pgxstore"
)

func TestInstantsAsPostgreSQLWritesThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"2026-11-20 12:00:00.000001+00":          time.Date(2026, 11, 20, 12, 0, 0, 1_000, time.UTC),
		"2026-11-20 17:30:00+05:30":              time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		"9999-12-31 23:59:59+00":                 time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		"10000-01-01 00:59:59+01":                time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		"10000-01-01 13:59:59.999999+14":         time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		"1000-01-01 00:00:00+00":                 time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC),
		"0001-12-31 19:03:58.000001-04:56:02 BC": time.Date(1, 1, 1, 0, 0, 0, 1_000, time.UTC),
	} {
		got, err := pgxstore.ScanInstant(&text)
		if err != nil || !got.Equal(want) {
			t.Errorf("%s is read as %s (%v), want %s", text, got, err, want)
		}
	}
	if got, err := pgxstore.ScanInstant(nil); err != nil || !got.IsZero() {
		t.Errorf("NULL is read as %s (%v)", got, err)
	}
	for _, text := range []string{"", "10000-", "infinity", "-infinity", "Fri Dec 31 23:59:59 9999 UTC"} {
		if got, err := pgxstore.ScanInstant(&text); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
