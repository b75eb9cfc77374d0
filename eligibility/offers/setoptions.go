package offers

import (
	"cmp"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// These constants are the values of [SetOptions] that are 0.
const (
	DefaultMaxCoupons = 3
	DefaultMaxNodes   = 10_000
)

// SetOptions restricts a search for a set of coupons.
type SetOptions struct {
	// MaxCoupons is the maximum number of coupons of the set, at most [pricing.MaxCoupons]. A MaxCoupons of 0 means
	// [DefaultMaxCoupons].
	MaxCoupons int
	// MaxNodes is the maximum number of nodes. A coupon or a set that is evaluated is a node. So are 32 coupons or sets
	// that are compared without evaluation, and 256 coupons that are compared line by line with a set. A MaxNodes of 0
	// means [DefaultMaxNodes]. If a set reaches the first bound of the search, such as the price of all goods, the
	// search takes a hundredth of MaxNodes more to find the first of the equal sets.
	MaxNodes int
	// Beside are coupons that the customer uses in any case. Each of them must be allowed beside the set.
	// MaxCoupons does not count them, and they are not among the Offers.
	Beside []*coupon.Coupon
}

func (o SetOptions) validate() error {
	var faults validation.Error
	faults.Merge("", within("maxCoupons", cmp.Or(o.MaxCoupons, DefaultMaxCoupons), pricing.MaxCoupons))
	if o.MaxNodes < 0 {
		faults.Add("maxNodes", validation.TooSmall, "must not be negative")
	}
	faults.Merge("", noneMissing("beside", o.Beside))
	return faults.Err()
}

// noneMissing reports the nil coupons of a list.
func noneMissing(list string, coupons []*coupon.Coupon) error {
	var faults validation.Error
	for i, c := range coupons {
		if c == nil {
			faults.Add(fmt.Sprintf("%s[%d]", list, i), validation.Required, "a coupon is required")
		}
	}
	return faults.Err()
}
