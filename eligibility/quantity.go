package eligibility

import "github.com/couponkit/couponkit/coupon"

// checkQuantity compares the number of eligible units with the minimum.
func (d *Decision) checkQuantity(least, units int64) {
	if least == 0 {
		return
	}
	d.facts.minQuantity, d.facts.eligibleQuantity = least, units
	if units < least {
		d.refuse(coupon.MinimumQuantityNotMet)
	}
}

func (f *facts) quantityParams() coupon.Params {
	return coupon.Params{
		MinQuantity: f.minQuantity, EligibleQuantity: f.eligibleQuantity, MissingQuantity: f.minQuantity - f.eligibleQuantity,
	}
}
