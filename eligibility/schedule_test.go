package eligibility_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/eligibility"
)

// opensAt returns the parameter of the reason outside_schedule, and whether the reason is there.
func opensAt(d eligibility.Decision) (at time.Time, found bool) {
	for _, r := range d.Reasons() {
		if r.Code == coupon.OutsideSchedule {
			return r.Params.OpensAt, true
		}
	}
	return time.Time{}, false
}

// Contract section 6: the instant at which the schedule opens is one at which the coupon is valid.
func TestOpensAtLiesWithinTheValidity(t *testing.T) {
	t.Parallel()
	fridays := calendar.Schedule{Zone: mondays().Zone, Hours: []calendar.Hours{{Day: time.Friday, From: 17 * 60, Until: 18 * 60}}}
	day := func(month time.Month, day, hour int) time.Time { // in Berlin in winter
		return time.Date(2026, month, day, hour-1, 0, 0, 0, time.UTC)
	}
	for name, test := range map[string]struct {
		starts, ends, opens time.Time // zero is none
	}{
		"no start and no end":              {opens: day(11, 27, 17)},
		"ends before it opens again":       {ends: day(11, 22, 0)},
		"ends when it opens again":         {ends: day(11, 27, 17)},
		"ends just after it opens again":   {ends: day(11, 27, 17).Add(time.Microsecond), opens: day(11, 27, 17)},
		"has ended":                        {ends: day(11, 20, 19)},
		"starts after it opens again":      {starts: day(12, 1, 0), opens: day(12, 4, 17)},
		"starts while it is open":          {starts: day(12, 4, 17).Add(time.Minute), opens: day(12, 4, 17).Add(time.Minute)},
		"starts later, ends before Friday": {starts: day(12, 1, 0), ends: day(12, 4, 17)},
		"started long ago":                 {starts: day(1, 1, 0), opens: day(11, 27, 17)},
		"starts in a year":                 {starts: day(11, 20, 19).AddDate(1, 0, 0), opens: day(11, 26, 17).AddDate(1, 0, 0)},
	} {
		s := sound()
		s.coupon.Conditions.Schedule, s.coupon.StartsAt, s.coupon.ExpiresAt = fridays, test.starts, test.ends
		s.question.At = day(11, 20, 19)
		got, found := opensAt(eligibility.Check(&s.coupon, s.question))
		if diff := cmp.Diff(test.opens, got); !found || diff != "" {
			t.Errorf("%s: reason is %t (-want +got):\n%s", name, found, diff)
		}
	}
}

// No instant before opensAt, from the question and the start on, is within the schedule. Without
// opensAt, no instant of the validity is, for 35 days.
func TestOpensAtIsTheFirstInstant(t *testing.T) {
	t.Parallel()
	const horizon = 35 * 24 * time.Hour
	rapid.Check(t, func(t *rapid.T) {
		s := sound()
		schedule := coupontest.Schedule().Draw(t, "schedule")
		minutes := func(most int, name string) time.Duration {
			return time.Duration(rapid.IntRange(-most, most).Draw(t, name)) * time.Minute
		}
		at := coupontest.Instant().Draw(t, "at")
		from := at
		s.coupon.Conditions.Schedule, s.coupon.StartsAt, s.coupon.ExpiresAt, s.question.At = schedule, time.Time{}, time.Time{}, at
		if rapid.Bool().Draw(t, "starts") {
			s.coupon.StartsAt = at.Add(minutes(20*24*60, "start"))
			from = latest(at, s.coupon.StartsAt)
		}
		end := from.Add(horizon)
		if rapid.Bool().Draw(t, "ends") {
			s.coupon.ExpiresAt = from.Add(minutes(10*24*60, "end"))
			end = s.coupon.ExpiresAt
		}
		opens, refused := opensAt(eligibility.Check(&s.coupon, s.question))
		if refused == schedule.Contains(at) {
			t.Fatalf("refused is %t", refused)
		}
		if !refused {
			return
		}
		if !opens.IsZero() {
			if opens.Before(from) || !opens.Before(end) || !schedule.Contains(opens) {
				t.Fatalf("opensAt is %v, for a validity from %v until %v", opens, from, end)
			}
			end = opens
		}
		for before := end.Add(-time.Nanosecond); !before.Before(from); before = before.Add(-time.Minute) {
			if schedule.Contains(before) {
				t.Fatalf("%v is within the schedule, and opensAt is %v", before, opens)
			}
		}
	})
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
