package eligibility

import "github.com/couponkit/couponkit/coupon"

// checkContainsNot refuses a cart with excluded units.
func (d *Decision) checkContainsNot(c *coupon.Coupon, on *coverage) {
	excluded := &c.Conditions.ContainsNot
	if excluded.AppliesTo == 0 { // nothing is excluded
		return
	}
	if units, _ := measureUnits(excluded, on.lines); units > 0 {
		d.refuse(coupon.ExcludedItemsContained, hasUnits{*excluded, units})
	}
}

type hasUnits struct {
	excluded coupon.Scope
	units    int64
}

func (r hasUnits) params() coupon.Params {
	return coupon.Params{ContainsNot: r.excluded, ExcludedQuantity: r.units}
}
