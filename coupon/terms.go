package coupon

import (
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// Terms are what an administrator decides about a coupon: what it takes off, for whom, and when.
// Amounts of money have their currency, and instants are in UTC. Terms can be copied by assignment.
type Terms struct {
	// Discount holds the type and the value of the discount. Discount never changes after
	// creation.
	Discount pricing.Discount
	// Currency is the currency of a fixed discount amount and of MinPurchase. Currency never
	// changes after creation.
	Currency pricing.Currency
	// Scope defines the lines of a cart that the coupon covers.
	Scope Scope
	// Buys is the scope of what has to be bought for a discount of type BUY_X_GET_Y. With the zero
	// Scope, the units are bought from Scope. Buys never changes after creation.
	Buys Scope
	// Group is the group of the coupon, at most [MaxGroupLength] code points long. A coupon without
	// a group is exclusive. Of one group, at most one coupon applies to a cart.
	Group string
	// Distribution defines who may use the coupon.
	Distribution Distribution
	// AllowedUserEmails is the allow-list of a [UserSpecific] coupon. AllowedUserEmails is empty
	// for a coupon with any other distribution.
	AllowedUserEmails EmailSet
	// PointsRequired is the price of a [PointsRedeemable] coupon, in points. PointsRequired is 0
	// for a coupon with any other distribution.
	PointsRequired int64
	// Limits restricts how often the coupon can be used.
	Limits Limits
	// MinPurchase is the minimum eligible subtotal of a cart, in minor units of Currency. A
	// MinPurchase of 0 means that there is no minimum.
	MinPurchase int64
	// Conditions restricts when the coupon can be used, by whom and for which carts.
	Conditions Conditions
	// MinPurchases are the minimum eligible subtotals in other currencies. They replace MinPurchase
	// for carts in these currencies.
	MinPurchases Amounts
	// RefundPolicy tells what a refund does if the rest of an order no longer meets a threshold of
	// the coupon. RefundPolicy never changes after creation.
	RefundPolicy pricing.RefundPolicy
	// RestoreOnRefund tells when a refund gives a use back. A change applies to later checkouts.
	RestoreOnRefund Restore
	// StartsAt is the first instant at which the coupon is valid. If StartsAt is zero, the
	// coupon has no start date.
	StartsAt time.Time
	// ExpiresAt is the first instant at which the coupon is no longer valid. If ExpiresAt is
	// zero, the coupon never expires.
	ExpiresAt time.Time
}
