package codecsv

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/validation"
)

// moment reads a date or an instant. An instant without a zone is in the location.
func moment(cell string, location *time.Location) (calendar.Moment, error) {
	cell = strings.TrimSpace(cell)
	m := calendar.Moment(cell)
	_, err := m.End(location)
	var fault *validation.Error
	if err == nil || errors.As(err, &fault) && fault.Fields[0].Code != validation.Malformed {
		return m, err
	}
	for _, layout := range [...]string{
		"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05 Z0700", "2006-01-02T15:04:05Z0700",
	} {
		if at, err := time.Parse(layout, strings.Replace(cell, " UTC", "Z", 1)); err == nil {
			return checked(calendar.At(at), location)
		}
	}
	day, clock := cell, ""
	if colon := strings.IndexByte(cell, ':'); colon >= 0 {
		at := strings.LastIndexAny(cell[:colon], " T")
		if at < 0 {
			return "", noDate()
		}
		day, clock = strings.TrimSuffix(cell[:at], ","), cell[at+1:]
	}
	date, err := dateOf(day)
	if err != nil || clock == "" {
		return checked(calendar.On(date.Date()), location, err)
	}
	for _, layout := range [...]string{"15:04:05", "15:04", "3:04 PM", "3:04:05 PM", "3:04PM"} {
		if t, err := time.Parse(layout, strings.ToUpper(clock)); err == nil {
			at := time.Date(date.Year(), date.Month(), date.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), location)
			return checked(calendar.At(at), location)
		}
	}
	return "", noDate()
}

// checked returns the moment. It returns an error if errs has one or if the moment is out of range.
func checked(m calendar.Moment, location *time.Location, errs ...error) (calendar.Moment, error) {
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	_, err := m.End(location)
	return m, err
}

func noDate() error {
	return validation.New("", validation.Malformed, "must be a date such as 2026-12-31, or an instant such as 2026-12-31T18:00:00Z")
}

// dateOf reads a date in an unambiguous form.
func dateOf(text string) (time.Time, error) {
	for _, layout := range [...]string{
		"2006-1-2", "2006/1/2", "2006.1.2", "20060102", "2.1.2006", "2-Jan-2006", "2 Jan 2006", "2 January 2006", "Jan 2, 2006", "January 2, 2006",
	} {
		if date, err := time.Parse(layout, text); err == nil {
			return date, nil
		}
	}
	first, rest, _ := strings.Cut(text, "/")
	second, _, _ := strings.Cut(rest, "/")
	one, errOne := strconv.Atoi(first)
	two, errTwo := strconv.Atoi(second)
	layout := "2/1/2006"
	switch {
	case errOne != nil || errTwo != nil:
		return time.Time{}, noDate()
	case one <= 12 && two <= 12 && one != two:
		return time.Time{}, validation.New("", validation.Malformed, "may be two dates: write the year first, as in 2026-12-31")
	case two > 12:
		layout = "1/2/2006"
	}
	date, err := time.Parse(layout, text)
	if err != nil {
		return time.Time{}, noDate()
	}
	return date, nil
}
