package eligibility

import (
	"math"

	"github.com/couponkit/couponkit/coupon"
)

// checkFirstOrder adds the orders that the host knows of to those in the store. An order that the
// new one would replace is not among them.
func (d *Decision) checkFirstOrder(c *coupon.Coupon, q *Question) {
	stored, earlier := max(q.Usage.Orders, 0), max(q.Customer.EarlierOrders, 0)
	d.facts.orders = stored + min(earlier, math.MaxInt64-stored)
	if c.Conditions.FirstOrder && d.facts.orders > 0 {
		d.refuse(coupon.NotFirstOrder)
	}
}
