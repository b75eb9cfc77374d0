package eligibility

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// The three functions below list all conditions. Each condition of [coupon.Conditions] has one line
// here, and its rule in a file of its own.

// checkConditions calls the rules on time and facts.
func (d *Decision) checkConditions(c *coupon.Coupon, q *Question) {
	d.checkSchedule(c, q)
	d.checkChannels(c, q)
	d.checkCountries(c, q)
}

// checkCustomerConditions calls the rules on the customer.
func (d *Decision) checkCustomerConditions(c *coupon.Coupon, q *Question) {
	d.checkTags(c, q)
	d.checkFirstOrder(c, q)
}

// checkCartConditions calls the rules on the cart at list prices.
func (d *Decision) checkCartConditions(c *coupon.Coupon, on *coverage) {
	d.checkMinPurchase(c, on)
	d.checkMaxPurchase(c, on)
	d.checkMinQuantity(c, on)
	d.checkMaxQuantity(c, on)
	d.checkContains(c, on)
	d.checkBuys(c, on)
	d.checkContainsNot(c, on)
}

// amountOf converts an amount in minor units to a parameter of a reason.
func amountOf(minor int64, in pricing.Currency) coupon.Amount {
	return coupon.Amount{Money: pricing.NewMoney(minor, in)}
}
