package eligibility

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// checkContains refuses a cart without enough of the required units.
func (d *Decision) checkContains(c *coupon.Coupon, on *coverage) {
	required := &c.Conditions.Contains
	if required.Quantity == 0 {
		return
	}
	if units := countUnits(&required.Scope, on.lines); units < required.Quantity {
		d.refuse(coupon.RequiredItemsMissing, lacksUnits{*required, units})
	}
}

type lacksUnits struct {
	required coupon.Contents
	units    int64
}

func (r lacksUnits) params() coupon.Params {
	return coupon.Params{Contains: r.required, ContainedQuantity: r.units, MissingQuantity: r.required.Quantity - r.units}
}

// countUnits returns the number of units in the lines that a scope covers. Units with a price of 0 do
// not count.
func countUnits(s *coupon.Scope, lines []pricing.Line) (units int64) {
	for i := range lines {
		if l := &lines[i]; l.UnitPrice > 0 && s.Covers(l) {
			units += l.Quantity
		}
	}
	return units
}
