package eligibility

import "github.com/couponkit/couponkit/coupon"

// checkMaxQuantity compares the number of eligible units with the maximum.
func (d *Decision) checkMaxQuantity(c *coupon.Coupon, on *coverage) {
	if most := c.Conditions.MaxQuantity; most > 0 && on.units > most {
		d.refuse(coupon.MaximumQuantityExceeded, aboveMaxQuantity{most, on.units})
	}
}

type aboveMaxQuantity struct{ most, units int64 }

func (r aboveMaxQuantity) params() coupon.Params {
	return coupon.Params{MaxQuantity: r.most, EligibleQuantity: r.units, ExcessQuantity: r.units - r.most}
}
