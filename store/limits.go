package store

import "github.com/couponkit/couponkit/coupon"

// WithinLimits decides whether one more use fits, when taken places (completed
// redemptions and live reservations) are used in all and byCustomer by this
// customer. It returns nil, or the *coupon.Rejection that
// [Redemptions].Reserve answers with. Stores call it under their lock.
func WithinLimits(couponID string, l coupon.Limits, taken, byCustomer int64) error {
	var reasons []coupon.Reason
	if l.MaxUses > 0 && taken >= l.MaxUses {
		reasons = append(reasons, coupon.Reason{
			Code: coupon.UsageLimitReached, Params: coupon.Params{MaxUses: l.MaxUses},
		})
	}
	if l.MaxUsesPerUser > 0 && byCustomer >= l.MaxUsesPerUser {
		reasons = append(reasons, coupon.Reason{
			Code: coupon.UserUsageLimitReached, Params: coupon.Params{MaxUsesPerUser: l.MaxUsesPerUser},
		})
	}
	if len(reasons) == 0 {
		return nil
	}
	return &coupon.Rejection{CouponID: couponID, Reasons: reasons}
}
