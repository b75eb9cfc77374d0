package coupon

import (
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/validation"
)

// MaxPeriodLimits is the maximum number of period limits of a coupon. Each pair of subject and
// period occurs at most once.
const MaxPeriodLimits = 9

// PeriodLimit restricts how often a coupon can be used within a day, a week or a month. The
// instant of the reservation decides which period a use belongs to.
type PeriodLimit struct {
	Per    LimitSubject `json:"per"`
	Period Period       `json:"period"`
	// Zone is the time zone in which periods begin and end.
	Zone Zone `json:"timeZone"`
	// MaxUses is the maximum number of uses in one period, at least 1.
	MaxUses int64 `json:"maxUses"`
}

// Equal reports whether l and m are the same limit.
func (l PeriodLimit) Equal(m PeriodLimit) bool {
	return l.Per == m.Per && l.Period == m.Period && l.Zone.Equal(m.Zone) && l.MaxUses == m.MaxUses
}

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

// around returns the first days of the period of a date and of the period after it.
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

func periodFaults(faults *validation.Error, limits []PeriodLimit) {
	if len(limits) > MaxPeriodLimits {
		faults.Add("periodLimits", validation.TooLong, fmt.Sprintf("at most %d limits", MaxPeriodLimits))
		return
	}
	for i, l := range limits {
		field := fmt.Sprintf("periodLimits[%d]", i)
		if l.Per.String() == "" {
			faults.Add(field+".per", validation.Unknown, limitSubjects.Rule())
		}
		if l.Period.String() == "" {
			faults.Add(field+".period", validation.Unknown, periods.Rule())
		}
		l.Zone.faults(faults, field+".timeZone")
		if l.MaxUses < 1 {
			faults.Add(field+".maxUses", validation.TooSmall, "a limit is at least 1")
		}
		same := func(other PeriodLimit) bool { return other.Per == l.Per && other.Period == l.Period }
		if other := slices.IndexFunc(limits[:i], same); other >= 0 {
			faults.Add(field, validation.Mismatch, fmt.Sprintf("has the subject and the period of periodLimits[%d]", other))
		}
	}
}
