package eligibility

import (
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// coverage has the lines of a cart that a coupon covers. The sums are meaningful only for a valid cart.
type coverage struct {
	currency pricing.Currency
	lines    []pricing.Line
	eligible []bool // one entry for each line
	bought   []bool // nil if no separate scope says which lines count as bought
	covered  bool   // at least one line is eligible
	fits     bool   // coupon and cart have a common currency
	subtotal int64  // list price of the eligible lines
	units    int64  // units in the eligible lines, without units of price 0
}

// measure finds the lines that the coupon covers, and sums them.
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

// appendTerms appends the terms of the coupon on the cart. If the amounts cannot be compared, the
// discount is 0.
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

// checkCart checks the coupon against the cart at list prices.
func (d *Decision) checkCart(c *coupon.Coupon, on *coverage) {
	d.checkCartConditions(c, on)
	if !on.covered {
		d.refuse(coupon.NoEligibleItems, nil)
	}
	if !on.fits {
		d.refuseCurrency(c, on.currency)
	}
}

// checkTaken refuses a coupon whose discount is 0. A cart that has less than the discount needs has another reason.
func (d *Decision) checkTaken(c *coupon.Coupon, on *coverage, discount int64) {
	if discount > 0 {
		return
	}
	subtotal, units := discountMinimums(c)
	bought, least := unitsToBuy(c, on.lines)
	if on.subtotal >= subtotal && on.units >= units && bought >= least {
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
		d.reasons = slices.Clip(d.reasons) // a copy of d may share the rest of the array
		d.refuseCurrency(c, cart)
	}
	return d
}
