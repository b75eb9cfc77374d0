package eligibility

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// checkMaxPurchase compares the eligible subtotal with the maximum.
func (d *Decision) checkMaxPurchase(c *coupon.Coupon, on *coverage) {
	if most, _ := c.Conditions.MaxPurchase.In(on.currency); on.fits && most > 0 && on.subtotal > most {
		d.refuse(coupon.MaximumPurchaseExceeded, aboveMaxPurchase{most, on.subtotal, on.currency})
	}
}

type aboveMaxPurchase struct {
	most, subtotal int64
	in             pricing.Currency
}

func (r aboveMaxPurchase) params() coupon.Params {
	return coupon.Params{
		MaxPurchase: amountOf(r.most, r.in), EligibleSubtotal: amountOf(r.subtotal, r.in), Excess: amountOf(r.subtotal-r.most, r.in),
	}
}
