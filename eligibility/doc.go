// Package eligibility decides whether a customer may use a coupon. It also finds the lines
// of a cart that the coupon covers, and prices the cart.
//
// [Check] decides without a cart. [Evaluate] decides with a cart and prices it. The
// answer is a [Decision]. A refusal lists every reason, in the order of contract
// section 6.
//
//	result, err := eligibility.Evaluate(c, cart, eligibility.Question{
//		At:       now,
//		Customer: eligibility.Customer{ID: "u1", Email: "ann@example.com"},
//		Usage:    usage, // counted by the store
//	})
//
// A decision does not reserve a use. Another customer may take the last use afterwards.
// The store enforces limits when it reserves.
//
// # Reasons
//
// A reason that only repeats another reason is left out:
//
//   - user_required replaces user_not_allowed and points_not_redeemed
//   - no_eligible_items replaces no_discount
//   - currency_mismatch replaces minimum_purchase_not_met and no_discount
//
// All functions are pure and safe for concurrent use.
package eligibility
