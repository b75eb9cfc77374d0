package eligibility

import (
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Decision tells whether a customer may use a coupon. The Decision on a refused coupon contains the
// reasons for the refusal. The zero Decision allows the coupon. A Decision is safe for concurrent
// use.
type Decision struct {
	reasons uint64 // bit n is set when rejection code n applies
	periods uint16 // bit n is set when period limit n is reached
	facts   facts
}

// facts are what the parameters of the reasons are made of.
type facts struct {
	couponID         string
	startsAt         time.Time
	expiresAt        time.Time
	limits           coupon.Limits
	pointsRequired   int64
	minPurchase      int64
	eligibleSubtotal int64
	currency         pricing.Currency
	cartCurrency     pricing.Currency
	at               time.Time
	schedule         coupon.Schedule
	required         coupon.CustomerTags
	tags             []string
	orders           int64
	minQuantity      int64
	eligibleQuantity int64
	spent            coupon.Amounts
	budget           int64
	remaining        int64
	discount         pricing.Money
	excludedBy       []string
}

// Allowed reports whether the customer may use the coupon.
func (d Decision) Allowed() bool { return d.reasons == 0 }

// Has reports whether the decision has a reason with the given code.
func (d Decision) Has(code coupon.RejectionCode) bool { return d.reasons&(1<<code) != 0 }

// Headline returns the code of the first reason. If the coupon is allowed, Headline returns 0.
func (d Decision) Headline() coupon.RejectionCode {
	var first coupon.RejectionCode
	for code := range d.codes() {
		if first == 0 || code.Rank() < first.Rank() {
			first = code
		}
	}
	return first
}

// codes yields the codes of all reasons by their numbers.
func (d Decision) codes() iter.Seq[coupon.RejectionCode] {
	return func(yield func(coupon.RejectionCode) bool) {
		for rest := d.reasons; rest != 0; rest &= rest - 1 {
			if !yield(coupon.RejectionCode(bits.TrailingZeros64(rest))) { //nolint:gosec // below 64
				return
			}
		}
	}
}

// Reasons returns all reasons of the decision with their parameters, sorted by
// [coupon.RejectionCode.Rank]. The decision has one reason for each period limit that is reached.
// If the coupon is allowed, Reasons returns nil.
func (d Decision) Reasons() []coupon.Reason {
	if d.Allowed() {
		return nil
	}
	reasons := make([]coupon.Reason, 0, bits.OnesCount64(d.reasons))
	for code := range d.codes() {
		if code == coupon.PeriodLimitReached {
			reasons = append(reasons, d.periodReasons()...)
			continue
		}
		reasons = append(reasons, coupon.Reason{Code: code, Params: d.facts.params(code)})
	}
	slices.SortStableFunc(reasons, coupon.CompareReasons)
	return reasons
}

// Equal reports whether d and e have the same reasons with the same parameters. Package go-cmp uses
// Equal to compare values.
func (d Decision) Equal(e Decision) bool {
	return slices.EqualFunc(d.Reasons(), e.Reasons(), coupon.Reason.Equal)
}

// Without returns the decision with the given reason removed.
func (d Decision) Without(code coupon.RejectionCode) Decision {
	d.reasons &^= 1 << code
	return d
}

// Err returns nil if the coupon is allowed. If the coupon is refused, Err returns a
// [*coupon.Rejection] with all reasons.
func (d Decision) Err() error {
	if d.Allowed() {
		return nil
	}
	return &coupon.Rejection{CouponID: d.facts.couponID, Reasons: d.Reasons()}
}

func (d *Decision) refuse(code coupon.RejectionCode) { d.reasons |= 1 << code }

func (f *facts) params(code coupon.RejectionCode) coupon.Params {
	switch code { //nolint:exhaustive // the other codes have no parameters here
	case coupon.OutsideSchedule:
		return f.scheduleParams()
	case coupon.BudgetExhausted:
		return f.budgetParams()
	case coupon.MinimumQuantityNotMet:
		return f.quantityParams()
	case coupon.CustomerTagsNotMet:
		return f.tagParams()
	case coupon.NotFirstOrder:
		return coupon.Params{Orders: f.orders}
	case coupon.NotCombinable:
		return coupon.Params{ExcludedBy: f.excludedBy}
	case coupon.CouponNotStarted:
		return coupon.Params{StartsAt: f.startsAt}
	case coupon.CouponExpired:
		return coupon.Params{ExpiresAt: f.expiresAt}
	case coupon.UsageLimitReached:
		return coupon.Params{MaxUses: f.limits.MaxUses}
	case coupon.UserUsageLimitReached:
		return coupon.Params{MaxUsesPerUser: f.limits.MaxUsesPerUser}
	case coupon.PointsNotRedeemed:
		return coupon.Params{PointsRequired: f.pointsRequired}
	case coupon.CurrencyMismatch:
		return coupon.Params{CouponCurrency: f.currency, CartCurrency: f.cartCurrency}
	case coupon.MinimumPurchaseNotMet:
		return coupon.Params{
			MinPurchase:      f.amount(f.minPurchase),
			EligibleSubtotal: f.amount(f.eligibleSubtotal),
			Missing:          f.amount(f.minPurchase - f.eligibleSubtotal),
		}
	}
	return coupon.Params{}
}

func (f *facts) amount(minor int64) coupon.Amount {
	return coupon.Amount{Money: pricing.NewMoney(minor, f.currency)}
}
