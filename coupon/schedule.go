package coupon

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/validation"
)

// Schedule is a [calendar.Schedule] as an administrator typed it. [New] and [Coupon.Apply] check it. The zero Schedule
// restricts nothing.
type Schedule struct {
	// TimeZone is the name of an IANA time zone, such as "Europe/Berlin".
	TimeZone string
	Hours    []Hours
}

// Hours is a span of time on one day of the week, from From, inclusive, until Until, exclusive. Both are times on the
// clock, such as "09:30". An Until of "24:00" is the end of the day. Hours that go past midnight are two entries.
type Hours struct {
	Day         time.Weekday
	From, Until string
}

// NewSchedule returns the text of a schedule.
func NewSchedule(s calendar.Schedule) Schedule {
	text := Schedule{TimeZone: s.Zone.String()}
	for _, h := range s.Hours {
		text.Hours = append(text.Hours, Hours{h.Day, calendar.FormatClock(h.From), calendar.FormatClock(h.Until)})
	}
	return text
}

// IsZero reports whether there is neither a time zone nor an entry.
func (s Schedule) IsZero() bool { return s.TimeZone == "" && len(s.Hours) == 0 }

// MarshalJSON returns a JSON object with timeZone and hours, or null for the zero Schedule. An entry is a JSON object
// such as {"day":"MONDAY","from":"09:00","until":"17:30"}.
func (s Schedule) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return []byte("null"), nil
	}
	type hours struct {
		Day   calendar.Weekday `json:"day"`
		From  string           `json:"from"`
		Until string           `json:"until"`
	}
	entries := make([]hours, len(s.Hours))
	for i, h := range s.Hours {
		entries[i] = hours{calendar.Weekday(h.Day), h.From, h.Until}
	}
	return json.Marshal(struct {
		TimeZone string  `json:"timeZone"`
		Hours    []hours `json:"hours"`
	}{s.TimeZone, entries})
}

// UnmarshalJSON reads the JSON that [Schedule.MarshalJSON] returns, and checks each field. If UnmarshalJSON fails, *s
// stays unchanged.
func (s *Schedule) UnmarshalJSON(data []byte) error {
	var read calendar.Schedule
	err := read.UnmarshalJSON(data)
	if err == nil {
		*s = NewSchedule(read)
	}
	return err
}

// resolve returns the schedule of a draft. If the text has a fault, it returns the zero schedule.
func (s Schedule) resolve(faults *validation.Error) calendar.Schedule {
	if s.IsZero() {
		return calendar.Schedule{}
	}
	var own validation.Error
	read := calendar.Schedule{Hours: make([]calendar.Hours, min(len(s.Hours), calendar.MaxHours+1))}
	if s.TimeZone != "" {
		var err error
		read.Zone, err = calendar.ParseZone(s.TimeZone)
		own.At("schedule.timeZone", err)
	}
	for i, h := range s.Hours {
		if len(s.Hours) > calendar.MaxHours {
			break // stop: the list is too long
		}
		field := fmt.Sprintf("schedule.hours[%d]", i)
		read.Hours[i] = calendar.Hours{Day: h.Day, From: clock(h.From, field+".from", &own), Until: clock(h.Until, field+".until", &own)}
	}
	if err := own.Err(); err != nil {
		faults.Merge("", err)
		return calendar.Schedule{}
	}
	return read
}

// clock parses a time of day.
func clock(text, field string, faults *validation.Error) int {
	if text == "" {
		faults.Add(field, validation.Required, "is required")
		return 0
	}
	minutes, err := calendar.ParseClock(text)
	faults.At(field, err)
	return minutes
}
