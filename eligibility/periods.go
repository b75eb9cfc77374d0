package eligibility

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
)

// checkPeriods compares the uses in the current periods with the limits. There is one reason for
// each limit that is reached. The limits per customer apply only to a known customer.
func (d *Decision) checkPeriods(c *coupon.Coupon, q *Question) {
	for i, l := range c.Limits.Periods {
		if l.Per == coupon.PerCustomer && !q.Customer.known() || i >= len(q.Usage.Periods) {
			continue
		}
		if q.Usage.Periods[i] >= l.MaxUses {
			d.refuse(coupon.PeriodLimitReached, fullPeriod{l, q.At})
		}
	}
}

type fullPeriod struct {
	limit coupon.PeriodLimit
	at    time.Time
}

func (r fullPeriod) params() coupon.Params {
	l := r.limit
	return coupon.Params{
		Per: l.Per, Period: l.Period, TimeZone: l.Zone.String(), MaxUses: l.MaxUses, EndsAt: l.Period.Window(r.at, l.Zone).End,
	}
}
