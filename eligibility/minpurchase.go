package eligibility

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// checkMinPurchase compares the eligible subtotal with the minimum purchase.
func (d *Decision) checkMinPurchase(c *coupon.Coupon, on *coverage) {
	if least, _ := Minimums(c, on.currency); on.fits && on.subtotal < least {
		d.refuse(coupon.MinimumPurchaseNotMet, belowMinPurchase{least, on.subtotal, on.currency})
	}
}

type belowMinPurchase struct {
	least, subtotal int64
	in              pricing.Currency
}

func (r belowMinPurchase) params() coupon.Params {
	return coupon.Params{
		MinPurchase: amountOf(r.least, r.in), EligibleSubtotal: amountOf(r.subtotal, r.in), Missing: amountOf(r.least-r.subtotal, r.in),
	}
}
