package calendar

import (
	"time"

	"github.com/couponkit/couponkit/internal/enum"
)

// Period is a calendar period: a day, an ISO week or a month.
type Period uint8

// These constants are the periods.
const (
	Day   Period = iota + 1 // a calendar day
	Week                    // an ISO week, from Monday to Sunday
	Month                   // a calendar month
)

var periods = enum.Names{Day: "DAY", Week: "WEEK", Month: "MONTH"}

// String returns the JSON name, such as "DAY".
func (p Period) String() string { return periods.Of(uint8(p)) }

// GoString formats the value for the messages of failed tests.
func (p Period) GoString() string { return periods.GoString("calendar.Period", uint8(p)) }

// MarshalText returns the same name as String.
func (p Period) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a JSON name. For another text, *p becomes zero, and the error is a [*validation.Error].
func (p *Period) UnmarshalText(text []byte) error { return periods.Parse(text, (*uint8)(p)) }

// Window is one calendar period in a time zone, from Start, inclusive, until End, exclusive. Start
// and End are in UTC.
type Window struct {
	// First is the first day of the window, such as "2026-11-20".
	First string
	Start time.Time
	End   time.Time
}

// Window returns the period that contains the given instant. The windows of a period do not
// overlap and leave no gaps. If clocks are set back over midnight, the new day begins at the
// second midnight.
func (p Period) Window(at time.Time, zone Zone) Window {
	loc := zone.Location()
	year, month, day := at.In(loc).Date()
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if at.Before(firstInstant(date, loc)) {
		date = date.AddDate(0, 0, -1)
	}
	first, next := p.around(date)
	return Window{
		First: first.Format(time.DateOnly), Start: firstInstant(first, loc).UTC(), End: firstInstant(next, loc).UTC(),
	}
}

// around returns the first day of the date's period, and the first day of the next period.
func (p Period) around(date time.Time) (first, next time.Time) {
	switch p {
	case Week:
		first = date.AddDate(0, 0, -(int(date.Weekday())+6)%7)
		return first, first.AddDate(0, 0, 7)
	case Month:
		first = date.AddDate(0, 0, 1-date.Day())
		return first, first.AddDate(0, 1, 0)
	case Day:
	}
	return date, date.AddDate(0, 0, 1)
}
