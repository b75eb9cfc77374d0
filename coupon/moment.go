package coupon

import (
	"encoding/json"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// Moment is an instant or a calendar date, as somebody gives the start or the
// expiry of a coupon. A date means the whole day in a location that is chosen
// where the moment is resolved. The zero value is no moment.
type Moment struct {
	instant time.Time
	date    time.Time // midnight UTC of the calendar date
}

// At is an instant.
func At(t time.Time) Moment { return Moment{instant: t} }

// On is a calendar date.
func On(year int, month time.Month, day int) Moment {
	return Moment{date: time.Date(year, month, day, 0, 0, 0, 0, time.UTC)}
}

// ParseMoment reads an RFC 3339 instant, or a date such as "2026-12-31".
func ParseMoment(text string) (Moment, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return At(t), nil
	}
	if d, err := time.Parse(time.DateOnly, text); err == nil {
		return Moment{date: d}, nil
	}
	return Moment{}, &pricing.ValidationError{Fields: []pricing.FieldError{{
		Code: pricing.FieldMalformed, Message: "must be an RFC 3339 instant or a date such as 2026-12-31",
	}}}
}

// IsZero reports whether m is no moment.
func (m Moment) IsZero() bool { return m.instant.IsZero() && m.date.IsZero() }

// Start returns the instant, or the first instant of the date in the location.
func (m Moment) Start(loc *time.Location) time.Time { return m.resolve(0, loc) }

// End returns the instant, or the first instant after the date in the location:
// with a half-open window, "through the end of that day".
func (m Moment) End(loc *time.Location) time.Time { return m.resolve(1, loc) }

func (m Moment) resolve(days int, loc *time.Location) time.Time {
	if m.date.IsZero() {
		return Instant(m.instant)
	}
	return Instant(firstInstant(m.date.AddDate(0, 0, days), loc))
}

// firstInstant returns the first instant of the calendar date in the location.
// Where clocks jump over midnight, that is the instant of the jump.
func firstInstant(date time.Time, loc *time.Location) time.Time {
	t := time.Date(date.Year(), date.Month(), date.Day(), 0, 0, 0, 0, loc)
	if t.Day() != date.Day() {
		_, t = t.ZoneBounds()
	}
	return t
}

// Instant returns t in the form in which instants are stored: UTC, without a
// monotonic reading, to the microsecond.
func Instant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0).Truncate(time.Microsecond)
}

// String returns the text that [ParseMoment] reads, or "".
func (m Moment) String() string {
	switch {
	case m.IsZero():
		return ""
	case m.date.IsZero():
		return m.instant.Format(time.RFC3339Nano)
	default:
		return m.date.Format(time.DateOnly)
	}
}

// MarshalJSON returns the text, or null for no moment.
func (m Moment) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(m.String())
}

// UnmarshalJSON is [ParseMoment]; null is no moment.
func (m *Moment) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
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
