package eligibility

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// checkContains refuses a cart without enough of the required units, by their number or their list price.
func (d *Decision) checkContains(c *coupon.Coupon, on *coverage) {
	required := &c.Conditions.Contains
	if required.Quantity == 0 {
		return
	}
	least := int64(0)
	if on.fits {
		least, _ = required.MinPurchase.In(on.currency)
	}
	if units, subtotal := measureUnits(&required.Scope, on.lines); units < required.Quantity || subtotal < least {
		d.refuse(coupon.RequiredItemsMissing, lacksUnits{*required, units, subtotal, least, on.currency})
	}
}

type lacksUnits struct {
	required        coupon.Contents
	units, subtotal int64
	least           int64 // 0 if no amount is required
	in              pricing.Currency
}

func (r lacksUnits) params() coupon.Params {
	p := coupon.Params{Contains: r.required, ContainedQuantity: r.units, MissingQuantity: max(r.required.Quantity-r.units, 0)}
	if r.least > 0 {
		p.MinPurchase, p.ContainedSubtotal = amountOf(r.least, r.in), amountOf(r.subtotal, r.in)
	}
	if r.subtotal < r.least {
		p.Missing = amountOf(r.least-r.subtotal, r.in)
	}
	return p
}

// measureUnits returns the number of units in the lines that a scope covers, and their list price. Units with a
// price of 0 do not count.
func measureUnits(s *coupon.Scope, lines []pricing.Line) (units, subtotal int64) {
	for i := range lines {
		if l := &lines[i]; l.UnitPrice > 0 && s.Covers(l) {
			units, subtotal = units+l.Quantity, subtotal+l.UnitPrice*l.Quantity
		}
	}
	return units, subtotal
}
