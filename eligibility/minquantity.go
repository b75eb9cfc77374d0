package eligibility

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// checkMinQuantity compares the number of eligible units with the minimum quantity. The first tier may
// set the minimum.
func (d *Decision) checkMinQuantity(c *coupon.Coupon, on *coverage) {
	least := c.Conditions.MinQuantity
	if basis, from := c.Discount.FirstTier(); basis == pricing.ByQuantity {
		least = max(least, from)
	}
	if on.units < least {
		d.refuse(coupon.MinimumQuantityNotMet, belowMinQuantity{least, on.units})
	}
}

type belowMinQuantity struct{ least, units int64 }

func (r belowMinQuantity) params() coupon.Params {
	return coupon.Params{MinQuantity: r.least, EligibleQuantity: r.units, MissingQuantity: r.least - r.units}
}
