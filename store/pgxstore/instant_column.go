package pgxstore

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgtype/zeronull"
)

// instantColumn receives an instant, the zero one for NULL.
type instantColumn time.Time

// ScanTimestamptz implements pgtype.TimestamptzScanner, for answers in binary form.
func (c *instantColumn) ScanTimestamptz(v pgtype.Timestamptz) error {
	return (*zeronull.Timestamptz)(c).ScanTimestamptz(v)
}

// ScanText implements pgtype.TextScanner, for answers in text form, as those of statements
// that are not prepared. PostgreSQL writes the instant in the time zone of the session, and
// east of UTC the last hours of the year 9999, the usual "never", are in the year 10000, which
// package time does not read. The calendar repeats itself every 400 years.
func (c *instantColumn) ScanText(v pgtype.Text) error {
	if !v.Valid {
		*c = instantColumn{}
		return nil
	}
	text, years := v.String, 0
	if rest, found := strings.CutPrefix(text, "10000-"); found {
		text, years = "2000-"+rest, 10_000-2_000
	}
	var at pgtype.Timestamptz
	if err := at.Scan(text); err != nil {
		return err
	}
	at.Time = at.Time.UTC().AddDate(years, 0, 0)
	return c.ScanTimestamptz(at)
}
