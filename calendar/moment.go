package calendar

import (
	"cmp"
	"strings"
	"time"

	"github.com/couponkit/couponkit/validation"
)

// Moment is a start or an end as a person typed it: an RFC 3339 instant, or a calendar date such as "2026-12-31"
// (contract section 4.5). The empty Moment is neither.
type Moment string

// At returns the Moment for the instant t. If t is zero, At returns the empty Moment.
func At(t time.Time) Moment {
	if t.IsZero() {
		return ""
	}
	return Moment(t.UTC().Format(time.RFC3339Nano))
}

// On returns the Moment for a calendar date. On normalizes invalid dates like [time.Date].
func On(year int, month time.Month, day int) Moment {
	return Moment(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
}

// UnmarshalText sets *m to the text, which must not be empty. [Moment.Start] and [Moment.End] check it.
func (m *Moment) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		_, _, err := Moment("").parse()
		return err
	}
	*m = Moment(text)
	return nil
}

// parse reads the text of a Moment. A date is its midnight in UTC. The year is from 1 to 9999
// inclusive. For an instant, the year in UTC counts.
func (m Moment) parse() (t time.Time, date bool, err error) {
	capitals := strings.ReplaceAll(strings.ReplaceAll(string(m), "t", "T"), "z", "Z") // RFC 3339 also allows lower case
	if instant, err := time.Parse(time.RFC3339Nano, capitals); err == nil && isStrict(capitals) {
		switch {
		case !Instant(instant).After(time.Time{}):
			return time.Time{}, false, validation.New("", validation.TooSmall, yearRule)
		case instant.UTC().Year() > lastYear:
			return time.Time{}, false, validation.New("", validation.TooLarge, yearRule)
		}
		return instant, false, nil
	}
	day, err := time.Parse(time.DateOnly, string(m))
	switch {
	case err != nil:
		return time.Time{}, false, validation.New("", validation.Malformed, "must be an RFC 3339 instant or a date such as 2026-12-31")
	case day.Year() < 1:
		return time.Time{}, false, validation.New("", validation.TooSmall, yearRule)
	}
	return day, true, nil
}

// IsDate reports whether m is a date.
func (m Moment) IsDate() bool {
	if m == "" {
		return false
	}
	_, date, _ := m.parse()
	return date
}

// isStrict refuses text that the time package reads and RFC 3339 does not allow: hours of one digit, a
// comma before the fraction, offsets of a day and more.
func isStrict(text string) bool {
	const hour, fraction = len("2006-01-02T"), len("2006-01-02T15:04:05")
	offset := text[len(text)-len("07:00"):]
	return text[hour+1] != ':' && text[fraction] != ',' && (text[len(text)-1] == 'Z' || offset[:2] < "24" && offset[3:] < "60")
}

// lastYear is the last year that RFC 3339 can express. The first year is 1.
const lastYear = 9999

const yearRule = "the year is within 1 to 9999"

// Start returns the instant at which m begins, in the case of a date its first instant in the given time zone. A nil
// time zone means UTC. For the empty Moment, Start returns the zero time. If m is malformed or the year is out of
// range, Start returns a [*validation.Error].
func (m Moment) Start(loc *time.Location) (time.Time, error) { return m.instant(0, loc) }

// End is like [Moment.Start], but of a date it returns the first instant after the date, so that what it
// bounds is valid through that whole day. If a date ends after the year 9999 in UTC, which RFC 3339 cannot express, End returns the
// last microsecond of that year.
func (m Moment) End(loc *time.Location) (time.Time, error) { return m.instant(1, loc) }

func (m Moment) instant(days int, loc *time.Location) (time.Time, error) {
	if m == "" {
		return time.Time{}, nil
	}
	at, date, err := m.parse()
	if err != nil {
		return time.Time{}, err
	}
	if date {
		day := at
		at = firstInstant(day.AddDate(0, 0, days), cmp.Or(loc, time.UTC))
		if days > 0 && at.UTC().Year() > lastYear {
			return time.Date(lastYear, time.December, 31, 23, 59, 59, int(time.Second-time.Microsecond), time.UTC), nil
		}
	}
	if at = Instant(at); at.IsZero() {
		return at.Add(-time.Microsecond), nil // the zero time would mean no bound
	}
	return at, nil
}

// Instant converts a time to the form in which instants are stored: in UTC, truncated to microseconds and without
// a monotonic clock reading.
func Instant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0).Truncate(time.Microsecond)
}

// CheckInstant returns a [*validation.Error] if RFC 3339 cannot write the year of an instant in UTC.
func CheckInstant(t time.Time) error {
	switch year := t.UTC().Year(); {
	case year < 1:
		return validation.New("", validation.TooSmall, yearRule)
	case year > lastYear:
		return validation.New("", validation.TooLarge, yearRule)
	}
	return nil
}
