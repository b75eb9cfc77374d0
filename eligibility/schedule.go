package eligibility

import (
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
)

// checkSchedule compares the instant with the weekly hours. The zero time is outside every schedule.
func (d *Decision) checkSchedule(c *coupon.Coupon, q *Question) {
	schedule := c.Conditions.Schedule
	if !schedule.IsZero() && (q.At.IsZero() || !schedule.Contains(q.At)) {
		d.refuse(coupon.OutsideSchedule, closed{schedule, q.At, c.StartsAt, c.ExpiresAt})
	}
}

type closed struct {
	schedule                calendar.Schedule
	at, startsAt, expiresAt time.Time
}

func (r closed) params() coupon.Params {
	return coupon.Params{TimeZone: r.schedule.Zone.String(), OpensAt: r.opensAt()}
}

// opensAt returns the first instant, from the question on, at which the coupon is valid and its
// schedule is open. It returns the zero time if there is none within the horizon of
// [calendar.Schedule.Next].
func (r closed) opensAt() time.Time {
	if r.at.IsZero() {
		return time.Time{}
	}
	from := r.at
	if from.Before(r.startsAt) {
		from = r.startsAt
	}
	opens, found := r.schedule.Next(from)
	if !found || !r.expiresAt.IsZero() && !opens.Before(r.expiresAt) {
		return time.Time{}
	}
	return opens.UTC()
}
