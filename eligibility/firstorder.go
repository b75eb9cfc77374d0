package eligibility

import (
	"math"

	"github.com/couponkit/couponkit/coupon"
)

// checkFirstOrder adds the orders that the host knows of to those in the store. An order that the
// new one would replace is not among them. An anonymous customer has no orders.
func (d *Decision) checkFirstOrder(c *coupon.Coupon, q *Question) {
	if !c.Conditions.FirstOrder || !q.Customer.known() {
		return
	}
	stored, earlier := max(q.Usage.Orders, 0), max(q.Customer.EarlierOrders, 0)
	if orders := stored + min(earlier, math.MaxInt64-stored); orders > 0 {
		d.refuse(coupon.NotFirstOrder, hasOrders(orders))
	}
}

type hasOrders int64

func (r hasOrders) params() coupon.Params { return coupon.Params{Orders: int64(r)} }
