package coupon

import (
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/validation"
)

// MaxPeriodLimits is the maximum number of period limits of a coupon. Each pair of subject and period occurs at most
// once.
const MaxPeriodLimits = 9

// PeriodLimit restricts how often a coupon can be used within a day, a week or a month. The instant of the reservation
// decides which period a use belongs to.
type PeriodLimit struct {
	Per    LimitSubject    `json:"per"`
	Period calendar.Period `json:"period"`
	// Zone is the time zone in which periods begin and end.
	Zone calendar.Zone `json:"timeZone"`
	// MaxUses is the maximum number of uses in one period, at least 1.
	MaxUses int64 `json:"maxUses"`
}

// Equal reports whether l and m are the same limit.
func (l PeriodLimit) Equal(m PeriodLimit) bool {
	return l.Per == m.Per && l.Period == m.Period && l.Zone.Equal(m.Zone) && l.MaxUses == m.MaxUses
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
			faults.Add(field+".period", validation.Unknown, "must be DAY, WEEK or MONTH")
		}
		if l.Zone.IsZero() {
			faults.Add(field+".timeZone", validation.Required, "a time zone is required")
		}
		if l.MaxUses < 1 {
			faults.Add(field+".maxUses", validation.TooSmall, "a limit is at least 1")
		}
		same := func(other PeriodLimit) bool { return other.Per == l.Per && other.Period == l.Period }
		if other := slices.IndexFunc(limits[:i], same); other >= 0 {
			faults.Add(field, validation.Mismatch, fmt.Sprintf("has the subject and the period of periodLimits[%d]", other))
		}
	}
}
