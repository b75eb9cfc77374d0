package eligibility

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
)

// checkPeriods compares the uses in the current periods with the limits. It adds one reason for each
// reached limit. Limits per customer apply only to a known customer.
func (d *Decision) checkPeriods(c *coupon.Coupon, q *Question) {
	for i, l := range c.Limits.Periods {
		if l.Per == coupon.PerCustomer && !q.Customer.known() || i >= len(q.Usage.Periods) {
			continue
		}
		if full(l.MaxUses, q.Usage.Periods[i], 0, 0) {
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

// periodLimits returns the limits in the current periods.
func (c *Claimant) periodLimits() (limits []Limit) {
	periods := len(c.Coupon.Limits.Periods)
	for i, l := range c.Coupon.Limits.Periods {
		usage := func(u *Usage) *int64 {
			if u.Periods == nil {
				u.Periods = make([]int64, periods)
			}
			return &u.Periods[i]
		}
		for _, counter := range c.periodCounters(l) {
			limits = append(limits, Limit{
				Claim: Claim{Counter: counter, Amount: 1, Limit: l.MaxUses}, Reason: coupon.PeriodLimitReached, usage: usage, per: l.Per,
			})
		}
	}
	return limits
}

// periodCounters returns the counters of a limit for the period of the instant. A limit per customer
// has one counter for each identity of the customer.
func (c *Claimant) periodCounters(l coupon.PeriodLimit) (counters []string) {
	period, first := l.Period.String(), l.Period.Window(c.At, l.Zone).First
	switch l.Per {
	case coupon.PerCoupon:
		counters = []string{CouponPeriodUses(c.Coupon.ID, period, first)}
	case coupon.PerCode:
		counters = []string{CodePeriodUses(c.Coupon.Code.String(), period, first)}
	case coupon.PerCustomer:
		for _, identity := range c.Identities {
			counters = append(counters, CustomerPeriodUses(c.Coupon.ID, identity, period, first))
		}
	}
	return counters
}

// CouponPeriodUses returns the key of the counter for all uses of a coupon within one period. The
// period is a name such as "DAY", and first is the first day of the period.
func CouponPeriodUses(couponID, period, first string) string {
	return SharedCounter("period", couponID, period, first)
}

// CodePeriodUses returns the key of the counter for all uses of a code within one period. Coupons
// that had the same code one after the other share the counter.
func CodePeriodUses(code, period, first string) string {
	return SharedCounter("code", code, period, first)
}

// CustomerPeriodUses returns the key of the counter for one customer's uses of a coupon within one
// period. Any text that identifies the customer is accepted.
func CustomerPeriodUses(couponID, identity, period, first string) string {
	return CustomerCounter(customerPeriod, couponID, identity, period, first)
}

const customerPeriod = "period"
