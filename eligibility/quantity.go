package eligibility

import (
	"math"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// checkQuantity compares the number of eligible units with the minimum.
func (d *Decision) checkQuantity(c *coupon.Coupon, lines []pricing.QuotedLine) {
	least := c.Conditions.MinQuantity
	if least == 0 {
		return
	}
	units := int64(0)
	for i := range lines {
		if lines[i].Eligible {
			units += min(lines[i].Quantity, math.MaxInt64-units)
		}
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
