package couponkit

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
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

// A claimed limit is a claim with the reason for which it is refused.
type claimedLimit struct {
	redemption.Claim
	reason coupon.Reason
}

// useLimits are what a use of the coupon takes that is reserved at the given instant. The uses
// of the coupon and of the customer are taken without a limit too, so that a limit that is set
// later counts the past.
func useLimits(c coupon.Coupon, identities []string, at time.Time) []claimedLimit {
	limits := []claimedLimit{{
		redemption.Claim{Counter: redemption.CouponUses(c.ID), Amount: 1, Limit: c.Limits.MaxUses},
		coupon.Reason{Code: coupon.UsageLimitReached, Params: coupon.Params{MaxUses: c.Limits.MaxUses}},
	}}
	for _, identity := range identities {
		limits = append(limits, claimedLimit{
			redemption.Claim{Counter: redemption.CustomerUses(c.ID, identity), Amount: 1, Limit: c.Limits.MaxUsesPerUser},
			coupon.Reason{Code: coupon.UserUsageLimitReached, Params: coupon.Params{MaxUsesPerUser: c.Limits.MaxUsesPerUser}},
		})
	}
	for _, l := range c.Limits.Periods {
		window := l.Period.Window(at, l.Zone)
		reason := coupon.Reason{Code: coupon.PeriodLimitReached, Params: coupon.Params{
			Per: l.Per, Period: l.Period, TimeZone: l.Zone.String(), MaxUses: l.MaxUses, EndsAt: window.End,
		}}
		for _, counter := range periodCounters(c, l, window, identities) {
			limits = append(limits, claimedLimit{redemption.Claim{Counter: counter, Amount: 1, Limit: l.MaxUses}, reason})
		}
	}
	return limits
}

// periodCounters are the counters of a limit in one period: one for each identity of the
// customer, or the one that all customers share.
func periodCounters(c coupon.Coupon, l coupon.PeriodLimit, w coupon.Window, identities []string) []string {
	period := l.Period.String()
	switch l.Per {
	case coupon.PerCoupon:
		return []string{redemption.CouponPeriodUses(c.ID, period, w.First)}
	case coupon.PerCode:
		return []string{redemption.CodePeriodUses(c.Code.String(), period, w.First)}
	case coupon.PerCustomer:
	}
	counters := make([]string, len(identities))
	for i, identity := range identities {
		counters[i] = redemption.CustomerPeriodUses(c.ID, identity, period, w.First)
	}
	return counters
}

func useClaims(c coupon.Coupon, identities []string, at time.Time) []redemption.Claim {
	limits := useLimits(c, identities, at)
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

// limitReached turns claims that did not fit into the rejection that customers know. The uses
// were reserved at the given instant.
func limitReached(err error, p priced, at time.Time) error {
	var full *store.LimitError
	if !errors.As(err, &full) {
		return err
	}
	var refused []error
	for _, f := range p.found {
		if r := exceeded(full, f.Coupon, identities(p.customer), at); len(r.Reasons) > 0 {
			refused = append(refused, r)
		}
	}
	if len(refused) == 0 {
		return err
	}
	return refusals(refused...)
}

// exceeded returns the rejection of a coupon. It has a reason for each claim of the coupon that did
// not fit.
func exceeded(full *store.LimitError, c coupon.Coupon, identities []string, at time.Time) *coupon.Rejection {
	known := useLimits(c, identities, at)
	refused := &coupon.Rejection{CouponID: c.ID}
	for _, claim := range full.Exceeded {
		if reason, is := reasonOf(claim, known, c); is {
			refused.Reasons = append(refused.Reasons, reason)
		}
	}
	slices.SortStableFunc(refused.Reasons, coupon.CompareReasons)
	refused.Reasons = slices.CompactFunc(refused.Reasons, coupon.Reason.Equal) // one for each identity
	return refused
}

// reasonOf is the reason for which the coupon is refused if the claim does not fit, if it is one
// of the coupon's.
func reasonOf(claim redemption.Claim, known []claimedLimit, c coupon.Coupon) (coupon.Reason, bool) {
	for _, l := range known {
		if l.Counter == claim.Counter {
			return l.reason, true
		}
	}
	for m := range c.Limits.Budget.All() {
		if claim.Counter == redemption.Budget(c.ID, m.Currency().Code()) {
			return coupon.Reason{Code: coupon.BudgetExhausted, Params: coupon.Params{Budget: coupon.Amount{Money: m}}}, true
		}
	}
	ofOrders := strings.HasPrefix(claim.Counter, redemption.CustomerOrders(""))
	return coupon.Reason{Code: coupon.NotFirstOrder, Params: coupon.Params{Orders: claim.Limit}}, ofOrders && c.Conditions.FirstOrder
}
