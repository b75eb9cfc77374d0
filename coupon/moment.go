package coupon

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// Moment is the start or expiry of a coupon as somebody typed it: an instant or a
// calendar date (contract section 4.5). A date means the whole day in the location that
// [Moment.Start] or [Moment.End] is given. The zero value means no moment.
type Moment struct {
	t    time.Time // the instant, or midnight UTC of the date
	form momentForm
}

type momentForm uint8

const (
	isInstant momentForm = iota + 1
	isDate
)

// At returns the moment of an instant. The zero time returns the zero Moment.
func At(t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	return Moment{t: t.Round(0), form: isInstant}
}

// On returns the moment of a calendar date. Days outside the month are normalized as in
// [time.Date]: June 31 is July 1.
func On(year int, month time.Month, day int) Moment {
	return Moment{t: time.Date(year, month, day, 0, 0, 0, 0, time.UTC), form: isDate}
}

// ParseMoment reads an RFC 3339 instant, or a date such as "2026-12-31". The year must
// be within 1 to 9999; the year of an instant is its year in UTC. Any other text is a
// [*pricing.ValidationError].
func ParseMoment(text string) (Moment, error) {
	capitals := strings.NewReplacer("t", "T", "z", "Z").Replace(text) // RFC 3339 allows both
	if instant, err := time.Parse(time.RFC3339Nano, capitals); err == nil && isStrict(capitals) {
		switch {
		case !Instant(instant).After(time.Time{}):
			return Moment{}, momentFault(pricing.FieldTooSmall, yearRange)
		case instant.UTC().Year() > lastYear:
			return Moment{}, momentFault(pricing.FieldTooLarge, yearRange)
		}
		return At(instant), nil
	}
	date, err := time.Parse(time.DateOnly, text)
	switch {
	case err != nil:
		return Moment{}, momentFault(pricing.FieldMalformed, "must be an RFC 3339 instant or a date such as 2026-12-31")
	case date.Year() < 1:
		return Moment{}, momentFault(pricing.FieldTooSmall, yearRange)
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

func momentFault(code pricing.FieldCode, message string) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Code: code, Message: message}}}
}

// IsZero reports whether m is the zero value, which means no moment.
func (m Moment) IsZero() bool { return m.form == 0 }

// Equal reports whether m and n are the same instant or the same date.
func (m Moment) Equal(n Moment) bool { return m.form == n.form && m.t.Equal(n.t) }

// Start returns the instant, or the first instant of the date in the location. The zero
// Moment returns the zero time.
func (m Moment) Start(loc *time.Location) time.Time { return m.resolve(0, loc) }

// End returns the instant, or the first instant after the date in the location. As the
// end of a half-open window, it means "through the end of that day". The latest result
// for a date of the year 9999 is the last microsecond of that year in UTC, because RFC
// 3339 cannot write a later instant. The zero Moment returns the zero time.
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

// Instant returns t as instants are stored: in UTC, without a monotonic reading,
// truncated to microseconds.
func Instant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0).Truncate(time.Microsecond)
}

// String returns text that [ParseMoment] reads. An instant is in UTC. The zero Moment
// returns "".
func (m Moment) String() string {
	switch m.form {
	case isInstant:
		return m.t.UTC().Format(time.RFC3339Nano)
	case isDate:
		return m.t.Format(time.DateOnly)
	}
	return ""
}

// GoString shows the value in test failures.
func (m Moment) GoString() string { return "coupon.Moment(" + m.String() + ")" }

// MarshalJSON returns the text, or null for the zero Moment.
func (m Moment) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(m.String())
}

// UnmarshalJSON reads text as [ParseMoment] does. null is the zero Moment. After an
// error m stays unchanged.
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
