package eligibility

import (
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// coverage is what a coupon covers of a cart. The sums are those of a valid cart only.
type coverage struct {
	currency pricing.Currency
	lines    []pricing.Line
	eligible []bool // one for each line
	bought   []bool // nil without a scope of its own for what is bought
	covered  bool   // at least one line is eligible
	fits     bool   // the amounts of the coupon can be compared with those of the cart
	subtotal int64  // the list price of the eligible lines
	units    int64  // in the eligible lines, but for those that cost nothing
}

// measure looks at the lines that the coupon covers.
func (on *coverage) measure(c *coupon.Coupon, cart *pricing.Cart, eligible []bool) {
	on.currency, on.lines, on.eligible, on.fits = cart.Currency, cart.Lines, eligible, c.Accepts(cart.Currency)
	for i := range cart.Lines {
		if l := &cart.Lines[i]; eligible[i] {
			on.covered = true
			if l.UnitPrice > 0 {
				on.subtotal += l.UnitPrice * l.Quantity
				on.units += l.Quantity
			}
		}
	}
}

// appendTerms appends the terms of the coupon on the cart. Without comparable amounts it takes nothing
// off.
func (on *coverage) appendTerms(dst []pricing.Terms, c *coupon.Coupon) []pricing.Terms {
	if !on.fits {
		return append(dst, pricing.Terms{ID: c.ID, Group: c.Group, Eligible: on.eligible})
	}
	refund := pricing.RefundTerms{Policy: c.RefundPolicy}
	if refund.Policy == pricing.Rebill {
		refund.MinPurchase, _ = c.Minimum(on.currency)
		refund.MinQuantity = c.Conditions.MinQuantity
	}
	return append(dst, pricing.Terms{
		ID: c.ID, Group: c.Group, Discount: c.Discount, Eligible: on.eligible, Bought: on.bought, Refund: refund,
	})
}

// belowFirstTier reports whether the cart does not reach the first tier of the discount.
func (on *coverage) belowFirstTier(c *coupon.Coupon) bool {
	switch basis, from := c.Discount.FirstTier(); basis {
	case pricing.ByAmount:
		return on.subtotal < from
	case pricing.ByQuantity:
		return on.units < from
	}
	return false
}

// checkCart compares the coupon with the list prices of the cart.
func (d *Decision) checkCart(c *coupon.Coupon, on *coverage) {
	d.checkCartConditions(c, on)
	if !on.covered {
		d.refuse(coupon.NoEligibleItems, nil)
	}
	if !on.fits {
		d.refuseCurrency(c, on.currency)
	}
}

// checkTaken refuses a coupon that takes nothing off. A cart below the first tier has a reason of its
// own.
func (d *Decision) checkTaken(c *coupon.Coupon, on *coverage, discount int64) {
	if discount == 0 && !on.belowFirstTier(c) {
		d.refuse(coupon.NoDiscount, nil)
	}
}

func (d *Decision) refuseCurrency(c *coupon.Coupon, cart pricing.Currency) {
	d.refuse(coupon.CurrencyMismatch, otherCurrency{c.Currency, cart})
}

type otherCurrency struct{ coupon, cart pricing.Currency }

func (r otherCurrency) params() coupon.Params {
	return coupon.Params{CouponCurrency: r.coupon, CartCurrency: r.cart}
}

// CheckCurrency returns the decision for a cart in the given currency. If the coupon cannot be used
// in the given currency, the decision gets the reason currency_mismatch. A coupon with amounts, such
// as a fixed amount, a minimum purchase or a budget, needs a cart in one of their currencies.
// [Evaluate] checks the currency itself, but [Check] does not.
func (d Decision) CheckCurrency(c *coupon.Coupon, cart pricing.Currency) Decision {
	if !c.Accepts(cart) {
		d.reasons = slices.Clip(d.reasons) // a copy of d may have the rest
		d.refuseCurrency(c, cart)
	}
	return d
}
