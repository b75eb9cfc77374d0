package eligibility

import "github.com/couponkit/couponkit/coupon"

// checkMinQuantity compares the number of eligible units with the minimum quantity.
func (d *Decision) checkMinQuantity(c *coupon.Coupon, on *coverage) {
	if _, least := Minimums(c, on.currency); on.units < least {
		d.refuse(coupon.MinimumQuantityNotMet, belowMinQuantity{least, on.units})
	}
}

type belowMinQuantity struct{ least, units int64 }

func (r belowMinQuantity) params() coupon.Params {
	return coupon.Params{MinQuantity: r.least, EligibleQuantity: r.units, MissingQuantity: r.least - r.units}
}
