package eligibility

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Minimums returns the least subtotal, in minor units of a currency, and the least number of units with which a cart
// can use a coupon. Both are of the eligible lines at list prices. The conditions set them, and so do the first tier
// and the units of a [pricing.BuyXGetY] discount. A minimum of 0 means that there is none.
func Minimums(c *coupon.Coupon, cart pricing.Currency) (subtotal, units int64) {
	least, _ := c.Minimum(cart)
	subtotal, units = discountMinimums(c)
	return max(least, subtotal), max(c.Conditions.MinQuantity, units)
}

// discountMinimums returns the minimums of the discount. Below them it is 0.
func discountMinimums(c *coupon.Coupon) (subtotal, units int64) {
	switch basis, from := c.Discount.FirstTier(); basis {
	case pricing.ByAmount:
		return from, 0
	case pricing.ByQuantity:
		return 0, from
	}
	buy, get := c.Discount.UnitsPerApplication()
	if c.Buys.IsZero() {
		return 0, buy + get
	}
	return 0, get // the units to buy need not be eligible
}

// unitsToBuy returns how many units of the coupon's scope Buys a cart has, and how many it needs.
func unitsToBuy(c *coupon.Coupon, lines []pricing.Line) (has, least int64) {
	if c.Buys.IsZero() {
		return 0, 0
	}
	has, _ = measureUnits(&c.Buys, lines)
	least, _ = c.Discount.UnitsPerApplication()
	return has, least
}

// checkBuys refuses a cart without the units to buy, if a scope of their own covers them.
func (d *Decision) checkBuys(c *coupon.Coupon, on *coverage) {
	if units, least := unitsToBuy(c, on.lines); units < least {
		d.refuse(coupon.RequiredItemsMissing, lacksUnits{required: coupon.Contents{Scope: c.Buys, Quantity: least}, units: units})
	}
}
