package eligibility

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
)

// checkSchedule compares the instant with the hours of the week. The zero time is within no
// schedule.
func (d *Decision) checkSchedule(c *coupon.Coupon, q *Question) {
	schedule := c.Conditions.Schedule
	d.facts.schedule = schedule
	if !schedule.IsZero() && (q.At.IsZero() || !schedule.Contains(q.At)) {
		d.refuse(coupon.OutsideSchedule)
	}
}

func (f *facts) scheduleParams() coupon.Params {
	return coupon.Params{TimeZone: f.schedule.Zone.String(), OpensAt: f.opensAt()}
}

// opensAt returns the first instant from the question on at which the coupon is valid and its
// schedule is open. It returns the zero time if there is no such instant within the horizon of
// [coupon.Schedule.Next].
func (f *facts) opensAt() time.Time {
	if f.at.IsZero() {
		return time.Time{}
	}
	from := f.at
	if from.Before(f.startsAt) {
		from = f.startsAt
	}
	opens, found := f.schedule.Next(from)
	if !found || !f.expiresAt.IsZero() && !opens.Before(f.expiresAt) {
		return time.Time{}
	}
	return opens.UTC()
}
