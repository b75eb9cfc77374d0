package calendar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// MaxHours is the maximum number of entries in a schedule.
const MaxHours = 70

// minutesOfDay is the number of minutes in a day. A schedule uses local time, which may repeat or skip
// minutes.
const minutesOfDay = 24 * 60

// scheduleHorizon is how far ahead [Schedule.Next] searches.
const scheduleHorizon = 35 * 24 * time.Hour

// Schedule restricts a coupon to certain hours of the week on the clock of a time zone. An hour that the clock
// repeats is within the schedule both times. The zero Schedule restricts nothing. Hours must not be modified.
type Schedule struct {
	Zone  Zone    `json:"timeZone"`
	Hours []Hours `json:"hours"`
}

// Hours is a span of time on one day of the week, from From, inclusive, until Until, exclusive.
// From and Until are minutes after midnight. An Until of 1440 is the end of the day. Hours that
// go past midnight are two entries.
type Hours struct {
	Day         time.Weekday
	From, Until int
}

// IsZero reports whether the schedule does not restrict a coupon.
func (s Schedule) IsZero() bool { return s.Zone.IsZero() && len(s.Hours) == 0 }

// Equal reports whether s and t have the same time zone and the same hours in the same order.
func (s Schedule) Equal(t Schedule) bool {
	return s.Zone.Equal(t.Zone) && slices.Equal(s.Hours, t.Hours)
}

// Contains reports whether the schedule allows the given instant. The zero Schedule allows every
// instant. Contains allocates no memory.
func (s Schedule) Contains(at time.Time) bool {
	if s.IsZero() {
		return true
	}
	local := at.In(s.Zone.Location())
	minute := local.Hour()*60 + local.Minute()
	for _, h := range s.Hours {
		if h.Day == local.Weekday() && h.From <= minute && minute < h.Until {
			return true
		}
	}
	return false
}

// Next returns the first instant from the given instant on that the schedule allows, in UTC if it is later. If there
// is none within 35 days, found is false.
func (s Schedule) Next(at time.Time) (next time.Time, found bool) {
	if s.Contains(at) {
		return at, true
	}
	for from := at; from.Before(at.Add(scheduleHorizon)); {
		until := offsetEnd(from, s.Zone.Location())
		wait, found := s.wait(from)
		if opens := from.Add(wait); found && (until.IsZero() || opens.Before(until)) {
			return opens.UTC(), true
		}
		if until.IsZero() {
			break
		}
		from = until
	}
	return time.Time{}, false
}

// Opens reports whether the schedule allows an instant from an instant, inclusive, until another one, exclusive.
func (s Schedule) Opens(from, until time.Time) bool {
	for from.Before(until) {
		next, found := s.Next(from)
		if found {
			return next.Before(until)
		}
		from = from.Add(scheduleHorizon)
	}
	return false
}

// wait returns the time from an instant until the schedule opens. It assumes that the offset of the
// time zone does not change.
func (s Schedule) wait(from time.Time) (least time.Duration, found bool) {
	const week = 7 * 24 * time.Hour
	local := from.In(s.Zone.Location())
	clock := sinceMidnight(local)
	for _, h := range s.Hours {
		begin := time.Duration(int(h.Day)-int(local.Weekday()))*24*time.Hour + time.Duration(h.From)*time.Minute
		end := begin + time.Duration(h.Until-h.From)*time.Minute
		if end <= clock {
			begin += week
		}
		if wait := max(begin-clock, 0); !found || wait < least {
			least, found = wait, true
		}
	}
	return least, found
}

func sinceMidnight(local time.Time) time.Duration {
	hour, minute, second := local.Clock()
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute +
		time.Duration(second)*time.Second + time.Duration(local.Nanosecond())
}

// Validate returns a [*validation.Error] that lists every broken rule by its path, such as "hours[2].until". Two
// entries must not overlap. The zero Schedule is valid.
func (s Schedule) Validate() error {
	var faults validation.Error
	if s.Zone.IsZero() && len(s.Hours) > 0 {
		faults.Add("timeZone", validation.Required, "a time zone is required")
	}
	switch {
	case len(s.Hours) == 0 && !s.IsZero():
		faults.Add("hours", validation.Required, "a schedule needs at least one entry")
	case len(s.Hours) > MaxHours:
		faults.Add("hours", validation.TooLong, fmt.Sprintf("at most %d entries", MaxHours))
		return faults.Err()
	}
	for i, h := range s.Hours {
		field := fmt.Sprintf("hours[%d]", i)
		if err := h.validate(); err != nil {
			faults.Merge(field, err)
		} else if other := slices.IndexFunc(s.Hours[:i], h.overlaps); other >= 0 {
			faults.Add(field, validation.Mismatch, fmt.Sprintf("overlaps the entry hours[%d]", other))
		}
	}
	return faults.Err()
}

func (h Hours) validate() error {
	var faults validation.Error
	if h.Day < time.Sunday || h.Day > time.Saturday {
		faults.Add("day", validation.Unknown, dayRule)
	}
	if h.From < 0 || h.From >= minutesOfDay {
		faults.Add("from", validation.TooLarge, "must be within 00:00 and 23:59")
	}
	switch {
	case h.Until < 0 || h.Until > minutesOfDay:
		faults.Add("until", validation.TooLarge, "must be within 00:01 and 24:00")
	case h.Until <= h.From:
		faults.Add("until", validation.Mismatch, "must be after from; hours past midnight are two entries")
	}
	return faults.Err()
}

func (h Hours) overlaps(g Hours) bool {
	return h.Day == g.Day && h.From < g.Until && g.From < h.Until
}

const dayRule = "must be a day from MONDAY to SUNDAY"

// Weekday is a day of the week in JSON, by its English name in capitals.
type Weekday time.Weekday

// MarshalText returns the name, such as "MONDAY".
func (d Weekday) MarshalText() ([]byte, error) {
	return []byte(strings.ToUpper(time.Weekday(d).String())), nil
}

// UnmarshalText reads a name. For another text, UnmarshalText returns a [*validation.Error].
func (d *Weekday) UnmarshalText(text []byte) error {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if string(text) == strings.ToUpper(day.String()) {
			*d = Weekday(day)
			return nil
		}
	}
	return validation.New("", validation.Unknown, dayRule)
}

// FormatClock returns a number of minutes after midnight as text, such as "09:30".
func FormatClock(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

// ParseClock returns the minutes after midnight of a time such as "09:30". The last time of a day is "24:00". For
// another text, ParseClock returns a [*validation.Error].
func ParseClock(text string) (minutes int, err error) {
	const form = "00:00"
	notDigit := func(r rune) bool { return r < '0' || r > '9' }
	if len(text) == len(form) && text[2] == ':' && !strings.ContainsFunc(text[:2]+text[3:], notDigit) {
		hour, minute := int(text[0]-'0')*10+int(text[1]-'0'), int(text[3]-'0')*10+int(text[4]-'0')
		if minutes = hour*60 + minute; minute < 60 && minutes <= minutesOfDay {
			return minutes, nil
		}
	}
	return 0, validation.New("", validation.Malformed, `must be a time such as "09:30", from 00:00 to 24:00`)
}

// clock is a time of day in minutes after midnight.
type clock int

func (c clock) MarshalText() ([]byte, error) { return []byte(FormatClock(int(c))), nil }

func (c *clock) UnmarshalText(text []byte) error {
	minutes, err := ParseClock(string(text))
	*c = clock(minutes)
	return err
}

// MarshalJSON returns a JSON object such as {"day":"MONDAY","from":"09:00","until":"17:30"}.
func (h Hours) MarshalJSON() ([]byte, error) {
	return json.Marshal(hoursDocument{new(Weekday(h.Day)), new(clock(h.From)), new(clock(h.Until))})
}

type hoursDocument struct {
	Day   *Weekday `json:"day"`
	From  *clock   `json:"from"`
	Until *clock   `json:"until"`
}

var hoursReader = strictjson.For[hoursDocument]()

// UnmarshalJSON reads the JSON that [Hours.MarshalJSON] returns. All three fields are required.
func (h *Hours) UnmarshalJSON(data []byte) error {
	var d hoursDocument
	var faults validation.Error
	faults.Merge("", hoursReader.Object(data, &d))
	if len(faults.Fields) == 0 {
		for _, member := range [...]struct {
			field string
			given bool
		}{{"day", d.Day != nil}, {"from", d.From != nil}, {"until", d.Until != nil}} {
			if !member.given {
				faults.Add(member.field, validation.Required, "is required")
			}
		}
	}
	if len(faults.Fields) == 0 {
		*h = Hours{Day: time.Weekday(*d.Day), From: int(*d.From), Until: int(*d.Until)}
	}
	return faults.Err()
}

// MarshalJSON returns a JSON object with timeZone and hours, or null for the zero Schedule.
func (s Schedule) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return []byte("null"), nil
	}
	type plain Schedule
	return json.Marshal(plain(s))
}

var scheduleReader = strictjson.For[Schedule]()

// UnmarshalJSON reads the JSON that [Schedule.MarshalJSON] returns. If UnmarshalJSON fails, *s stays unchanged.
func (s *Schedule) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*s = Schedule{}
		return nil
	}
	var faults validation.Error
	var read Schedule
	faults.Merge("", scheduleReader.Object(data, &read))
	if len(faults.Fields) == 0 && read.IsZero() {
		faults.Add("timeZone", validation.Required, "a time zone is required")
		faults.Add("hours", validation.Required, "a schedule needs at least one entry")
	}
	if len(faults.Fields) == 0 {
		*s = read
	}
	return faults.Err()
}
