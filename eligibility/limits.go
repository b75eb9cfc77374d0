package eligibility

import "github.com/couponkit/couponkit/coupon"

// checkLimits compares the counted uses with the limits. The customer's own reservation does not count.
// The limit per user applies only to a known customer.
func (d *Decision) checkLimits(l *coupon.Limits, q *Question) {
	known, own := q.Customer.known(), int64(0)
	if known && q.Usage.CustomerHoldsReservation {
		own = 1
	}
	if full(l.MaxUses, q.Usage.Completed, q.Usage.Reserved, own) {
		d.refuse(coupon.UsageLimitReached, usedUp(l.MaxUses))
	}
	if known && full(l.MaxUsesPerUser, q.Usage.CompletedByCustomer, q.Usage.ReservedByCustomer, own) {
		d.refuse(coupon.UserUsageLimitReached, usedUpByUser(l.MaxUsesPerUser))
	}
}

// full reports whether a limit is reached. A limit of 0 is never reached. Negative counts count as 0.
// full subtracts and does not add, so that nothing overflows.
func full(limit, completed, reserved, own int64) bool {
	return limit > 0 && max(max(reserved, 0)-own, 0) >= limit-max(completed, 0)
}

// These types are reasons of reached limits.
type (
	usedUp       int64
	usedUpByUser int64
)

func (r usedUp) params() coupon.Params       { return coupon.Params{MaxUses: int64(r)} }
func (r usedUpByUser) params() coupon.Params { return coupon.Params{MaxUsesPerUser: int64(r)} }

// useLimits returns the limits for all customers together and for the customer.
func (c *Claimant) useLimits() []Limit {
	limits := make([]Limit, 0, 1+len(c.Identities))
	limits = append(limits, Limit{
		Claim:  Claim{Counter: CouponUses(c.Coupon.ID), Amount: 1, Limit: c.Coupon.Limits.MaxUses},
		Reason: coupon.UsageLimitReached, usage: func(u *Usage) *int64 { return &u.Reserved },
	})
	for _, identity := range c.Identities {
		limits = append(limits, Limit{
			Claim:  Claim{Counter: CustomerUses(c.Coupon.ID, identity), Amount: 1, Limit: c.Coupon.Limits.MaxUsesPerUser},
			Reason: coupon.UserUsageLimitReached, usage: func(u *Usage) *int64 { return &u.ReservedByCustomer },
		})
	}
	return limits
}

// CouponUses returns the key of the counter for all uses of a coupon.
func CouponUses(couponID string) string { return SharedCounter("uses", couponID) }

// CustomerUses returns the key of the counter for one customer's uses of a coupon. Any text that
// identifies the customer is accepted, such as an ID or an e-mail address.
func CustomerUses(couponID, identity string) string {
	return CustomerCounter(customerUses, couponID, identity)
}

const customerUses = "uses"
