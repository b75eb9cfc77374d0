package eligibility

import "github.com/couponkit/couponkit/coupon"

// checkPeriods compares the uses in the current periods with the limits. The limits per customer
// apply only to a known customer.
func (d *Decision) checkPeriods(c *coupon.Coupon, q *Question) {
	for i, l := range c.Limits.Periods {
		if l.Per == coupon.PerCustomer && !q.Customer.known() || i >= len(q.Usage.Periods) {
			continue
		}
		if q.Usage.Periods[i] >= l.MaxUses {
			d.periods |= 1 << i
			d.refuse(coupon.PeriodLimitReached)
		}
	}
}

// periodReasons returns one reason for each limit that is reached.
func (d *Decision) periodReasons() (reasons []coupon.Reason) {
	for i, l := range d.facts.limits.Periods {
		if d.periods&(1<<i) == 0 {
			continue
		}
		reasons = append(reasons, coupon.Reason{Code: coupon.PeriodLimitReached, Params: coupon.Params{
			Per: l.Per, Period: l.Period, TimeZone: l.Zone.String(), MaxUses: l.MaxUses,
			EndsAt: l.Period.Window(d.facts.at, l.Zone).End,
		}})
	}
	return reasons
}
