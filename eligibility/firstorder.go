package eligibility

import (
	"math"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
)

// checkFirstOrder adds the orders known to the host to the orders in the store. The order that the new
// order would replace is not counted. An anonymous customer has no orders.
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

// OrderClaims returns what an order with the given coupons claims, in addition to the claims of its
// uses. Every order is counted as an order of each identity of its customer. The count has a limit
// if a coupon is for first orders.
func OrderClaims(identities []string, coupons ...*coupon.Coupon) []Claim {
	limit := int64(0)
	if slices.ContainsFunc(coupons, func(c *coupon.Coupon) bool { return c.Conditions.FirstOrder }) {
		limit = 1
	}
	claims := make([]Claim, len(identities))
	for i, identity := range identities {
		claims[i] = Claim{Counter: CustomerOrders(identity), Amount: 1, Limit: limit}
	}
	return claims
}

// orderLimits returns the limit of a coupon for first orders.
func (c *Claimant) orderLimits() (limits []Limit) {
	if !c.Coupon.Conditions.FirstOrder {
		return nil
	}
	for _, claim := range OrderClaims(c.Identities, c.Coupon) {
		limits = append(limits, Limit{
			Claim: claim, Reason: coupon.NotFirstOrder, usage: func(u *Usage) *int64 { return &u.Orders },
		})
	}
	return limits
}

// CustomerOrders returns the key of the counter for one customer's orders. Any text that
// identifies the customer is accepted, such as an ID or an e-mail address.
func CustomerOrders(identity string) string { return CustomerCounter(customerOrders, identity) }

const customerOrders = "orders"

// HashedIdentities returns the hashed identities for which an order has the claims that [OrderClaims] returns.
func HashedIdentities(claims []Claim) (identities []string) {
	for _, c := range claims {
		if identity, of := strings.CutPrefix(c.Counter, CustomerOrders("")); of && IsHashed(identity) {
			identities = append(identities, identity)
		}
	}
	return identities
}
