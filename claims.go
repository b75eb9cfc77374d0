package couponkit

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// firstOrder is the limit of a claim on a customer's orders by an order that must be the first.
const firstOrder = 1

// orderClaims are what every order takes, with or without a coupon: it is counted as one of the
// orders of each of its customer's identities. Limit 0 only counts.
func orderClaims(identities []string, limit int64) []redemption.Claim {
	claims := make([]redemption.Claim, len(identities))
	for i, identity := range identities {
		claims[i] = redemption.Claim{Counter: redemption.CustomerOrders(identity), Amount: 1, Limit: limit}
	}
	return claims
}

// orderLimit is how many orders a customer may have who uses the coupon. 0 is no limit.
func orderLimit(c coupon.Coupon) int64 {
	if c.Conditions.FirstOrder {
		return firstOrder
	}
	return 0
}

// A claimedLimit is a claim with the reason for which it is refused.
type claimedLimit struct {
	redemption.Claim
	reason coupon.RejectionCode
}

// useLimits are what a use of the coupon by a code takes that is reserved at the given instant. The uses
// of the coupon and of the customer are taken without a limit too, so that a limit that is set
// later counts the past.
func useLimits(c coupon.Coupon, code coupon.IssuedCode, identities []string, at time.Time) []claimedLimit {
	limits := []claimedLimit{{
		redemption.Claim{Counter: redemption.CouponUses(c.ID), Amount: 1, Limit: c.Limits.MaxUses}, coupon.UsageLimitReached,
	}}
	for _, identity := range identities {
		limits = append(limits, claimedLimit{
			redemption.Claim{Counter: redemption.CustomerUses(c.ID, identity), Amount: 1, Limit: c.Limits.MaxUsesPerUser},
			coupon.UserUsageLimitReached,
		})
	}
	if !code.Plain() {
		limits = append(limits, claimedLimit{
			redemption.Claim{Counter: redemption.CodeUses(c.ID, code.Key.String()), Amount: 1, Limit: code.MaxUses}, coupon.UsageLimitReached,
		})
	}
	for _, l := range c.Limits.Periods {
		for _, counter := range periodCounters(c, l, identities, at) {
			limits = append(limits, claimedLimit{
				redemption.Claim{Counter: counter, Amount: 1, Limit: l.MaxUses}, coupon.PeriodLimitReached,
			})
		}
	}
	return limits
}

// allLimits are the limits of useLimits, the budgets, and the limit of a coupon for first orders.
func allLimits(c coupon.Coupon, code coupon.IssuedCode, identities []string, at time.Time) []claimedLimit {
	limits := useLimits(c, code, identities, at)
	for m := range c.Limits.Budget.All() {
		limits = append(limits, claimedLimit{
			redemption.Claim{Counter: redemption.Budget(c.ID, m.Currency().Code()), Limit: m.Minor()}, coupon.BudgetExhausted,
		})
	}
	if c.Conditions.FirstOrder {
		for _, claim := range orderClaims(identities, firstOrder) {
			limits = append(limits, claimedLimit{claim, coupon.NotFirstOrder})
		}
	}
	return limits
}

// periodCounters are the counters of a limit in the period of an instant: one for each identity of
// the customer, or the one that all customers share.
func periodCounters(c coupon.Coupon, l coupon.PeriodLimit, identities []string, at time.Time) []string {
	period, first := l.Period.String(), l.Period.Window(at, l.Zone).First
	switch l.Per {
	case coupon.PerCoupon:
		return []string{redemption.CouponPeriodUses(c.ID, period, first)}
	case coupon.PerCode:
		return []string{redemption.CodePeriodUses(c.Code.String(), period, first)}
	case coupon.PerCustomer:
	}
	counters := make([]string, len(identities))
	for i, identity := range identities {
		counters[i] = redemption.CustomerPeriodUses(c.ID, identity, period, first)
	}
	return counters
}

func useClaims(c coupon.Coupon, code coupon.IssuedCode, identities []string, at time.Time) []redemption.Claim {
	limits := useLimits(c, code, identities, at)
	claims := make([]redemption.Claim, len(limits))
	for i, l := range limits {
		claims[i] = l.Claim
	}
	return claims
}

// budgetClaims are what a discount takes from the coupon's budget.
func budgetClaims(c coupon.Coupon, discount pricing.Money) []redemption.Claim {
	budget, limited := c.Limits.Budget.In(discount.Currency())
	if !limited || discount.Minor() < 1 {
		return nil
	}
	return []redemption.Claim{{
		Counter: redemption.Budget(c.ID, discount.Currency().Code()), Amount: discount.Minor(), Limit: budget,
	}}
}

// unlimited reports whether all customers together may use the coupon without a limit.
func unlimited(c coupon.Coupon) bool { return c.Limits.MaxUses == 0 }
