package eligibility

import "github.com/couponkit/couponkit/coupon"

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
	p := coupon.Params{TimeZone: f.schedule.Zone.String()}
	if !f.at.IsZero() {
		p.OpensAt, _ = f.schedule.Next(f.at)
	}
	return p
}
