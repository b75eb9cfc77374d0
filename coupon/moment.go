package coupon

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// Moment is the start or the expiry of a coupon as an administrator typed it. A Moment is an
// instant or a calendar date (contract section 4.5). A date means the whole day in the time zone
// that is passed to [Moment.Start] or [Moment.End]. The zero Moment is neither an instant nor a
// date.
type Moment struct {
	t    time.Time // the instant, or midnight UTC of the date
	form momentForm
}

type momentForm uint8

const (
	isInstant momentForm = iota + 1
	isDate
)

// At returns the Moment for the instant t. If t is zero, At returns the zero Moment.
func At(t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	return Moment{t: t.Round(0), form: isInstant}
}

// On returns the Moment for a calendar date. On normalizes invalid dates like [time.Date]. For
// example, On converts June 31 to July 1.
func On(year int, month time.Month, day int) Moment {
	return Moment{t: time.Date(year, month, day, 0, 0, 0, 0, time.UTC), form: isDate}
}

// ParseMoment reads an RFC 3339 instant, or a date such as "2026-12-31". The year must be from 1
// to 9999 inclusive. For an instant, the year in UTC counts. If the text is malformed or the
// year is out of range, ParseMoment returns a [*pricing.ValidationError].
func ParseMoment(text string) (Moment, error) {
	capitals := strings.NewReplacer("t", "T", "z", "Z").Replace(text) // RFC 3339 allows both
	if instant, err := time.Parse(time.RFC3339Nano, capitals); err == nil && isStrict(capitals) {
		switch {
		case !Instant(instant).After(time.Time{}):
			return Moment{}, fieldFault(pricing.FieldTooSmall, yearRange)
		case instant.UTC().Year() > lastYear:
			return Moment{}, fieldFault(pricing.FieldTooLarge, yearRange)
		}
		return At(instant), nil
	}
	date, err := time.Parse(time.DateOnly, text)
	switch {
	case err != nil:
		return Moment{}, fieldFault(pricing.FieldMalformed, "must be an RFC 3339 instant or a date such as 2026-12-31")
	case date.Year() < 1:
		return Moment{}, fieldFault(pricing.FieldTooSmall, yearRange)
	}
	return Moment{t: date, form: isDate}, nil
}

// isStrict refuses what the time package reads beyond RFC 3339: hours of one
// digit, a comma before the fraction, offsets of a day and more.
func isStrict(text string) bool {
	const hour, fraction = len("2006-01-02T"), len("2006-01-02T15:04:05")
	offset := text[len(text)-len("07:00"):]
	return text[hour+1] != ':' && text[fraction] != ',' && (text[len(text)-1] == 'Z' || offset[:2] < "24" && offset[3:] < "60")
}

// lastYear is the last year that RFC 3339 can write.
const lastYear = 9999

const yearRange = "the year is within 1 to 9999"

// fieldFault returns the fault of a value whose field the caller knows.
func fieldFault(code pricing.FieldCode, message string) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Code: code, Message: message}}}
}

// IsZero reports whether m is the zero Moment.
func (m Moment) IsZero() bool { return m.form == 0 }

// Equal reports whether m and n are the same instant or the same date.
func (m Moment) Equal(n Moment) bool { return m.form == n.form && m.t.Equal(n.t) }

// Start returns the instant at which m begins. A date begins with its first instant in the given
// time zone. A nil time zone means UTC. For the zero Moment, Start returns the zero time.
func (m Moment) Start(loc *time.Location) time.Time { return m.resolve(0, loc) }

// End returns the instant at which m ends. For an instant, End returns the same instant. For a
// date, End returns the first instant after the date in the given time zone. A coupon that
// expires at the End of a date is valid through that whole day. A nil time zone means UTC. For
// the zero Moment, End returns the zero time.
//
// RFC 3339 cannot express instants after the year 9999. If a date ends after the year 9999 in
// UTC, End returns the last microsecond of the year 9999 in UTC.
func (m Moment) End(loc *time.Location) time.Time { return m.resolve(1, loc) }

func (m Moment) resolve(days int, loc *time.Location) time.Time {
	at := m.t
	if m.form == isDate {
		at = firstInstant(at.AddDate(0, 0, days), location(loc))
		if days > 0 && m.t.Year() <= lastYear && at.UTC().Year() > lastYear {
			return time.Date(lastYear, time.December, 31, 23, 59, 59, int(time.Second-time.Microsecond), time.UTC)
		}
	}
	at = Instant(at)
	if at.IsZero() && !m.IsZero() {
		return at.Add(-time.Microsecond) // the zero time would pass for no bound
	}
	return at
}

// firstInstant returns the instant after which the calendar in the location always
// shows the date or a later date. This is nearly always midnight. If clocks jump over
// midnight, it is the instant of the jump. If clocks are set back over midnight, it is
// the second midnight.
func firstInstant(date time.Time, loc *time.Location) time.Time {
	// No clock is further from UTC than this, and no jump is longer.
	const reach = 48 * time.Hour
	var first time.Time
	for at := date.Add(-reach); ; {
		_, offset := at.In(loc).Zone()
		start, end := at.In(loc).ZoneBounds()
		if !end.IsZero() && !end.After(at) {
			// On the last day of a leap year the time package returns an end that has
			// passed (golang/go#81583). Look again an hour later.
			end = at.Add(time.Hour)
		}
		// Within [start, end) it is an earlier date before this midnight.
		midnight := date.Add(-time.Duration(offset) * time.Second)
		if !end.IsZero() && end.Before(midnight) {
			midnight = end
		}
		if start.IsZero() || start.Before(midnight) {
			first = midnight
		}
		if end.IsZero() || end.After(date.Add(reach)) {
			return first
		}
		at = end
	}
}

func location(loc *time.Location) *time.Location {
	if loc == nil {
		return time.UTC
	}
	return loc
}

// Instant converts a time to the form in which instants are stored. A stored instant is in UTC,
// has no monotonic clock reading and is truncated to microseconds.
func Instant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0).Truncate(time.Microsecond)
}

// String formats m as text that [ParseMoment] can read. Instants are formatted in UTC. For the
// zero Moment, String returns "".
func (m Moment) String() string {
	switch m.form {
	case isInstant:
		return m.t.UTC().Format(time.RFC3339Nano)
	case isDate:
		return m.t.Format(time.DateOnly)
	}
	return ""
}

// GoString formats the Moment for the messages of failed tests.
func (m Moment) GoString() string { return "coupon.Moment(" + m.String() + ")" }

// MarshalJSON returns the text of m as a JSON string. For the zero Moment, MarshalJSON returns
// null.
func (m Moment) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(m.String())
}

// UnmarshalJSON parses a JSON string with [ParseMoment]. JSON null sets *m to the zero Moment.
// If UnmarshalJSON fails, *m stays unchanged.
func (m *Moment) UnmarshalJSON(data []byte) error {
	var text *string
	if err := strictjson.Value(data, &text); err != nil {
		return err
	}
	if text == nil {
		*m = Moment{}
		return nil
	}
	parsed, err := ParseMoment(*text)
	if err != nil {
		return err
	}
	*m = parsed
	return nil
}
