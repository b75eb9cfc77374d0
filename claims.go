package couponkit

import (
	"errors"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// orderClaims are what every order takes, with or without a coupon: it is counted as one of
// its customer's orders.
func orderClaims(customerID string) []redemption.Claim {
	return []redemption.Claim{{Counter: redemption.CustomerOrders(customerID), Amount: 1}}
}

// useClaims are what a use of the coupon takes. They are taken without a limit too, so that a
// limit that is set later counts the past.
func useClaims(c coupon.Coupon, customerID string) []redemption.Claim {
	return []redemption.Claim{
		{Counter: redemption.CouponUses(c.ID), Amount: 1, Limit: c.Limits.MaxUses},
		{Counter: redemption.CustomerUses(c.ID, customerID), Amount: 1, Limit: c.Limits.MaxUsesPerUser},
	}
}

// unlimited reports whether all customers together may use the coupon without a limit.
func unlimited(c coupon.Coupon) bool { return c.Limits.MaxUses == 0 }

// limitReached turns claims that did not fit into the rejection that customers know.
func limitReached(err error, c coupon.Coupon) error {
	var full *store.LimitError
	if !errors.As(err, &full) {
		return err
	}
	refused := coupon.Rejection{CouponID: c.ID}
	for _, claim := range full.Exceeded {
		reason := coupon.Reason{Code: coupon.UserUsageLimitReached, Params: coupon.Params{MaxUsesPerUser: claim.Limit}}
		if redemption.IsShared(claim.Counter) {
			reason = coupon.Reason{Code: coupon.UsageLimitReached, Params: coupon.Params{MaxUses: claim.Limit}}
		}
		refused.Reasons = append(refused.Reasons, reason)
	}
	return &refused
}
