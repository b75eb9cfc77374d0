// Package eligibility decides whether a customer may use a coupon. It also finds the cart lines
// that the coupon covers, and prices the cart.
//
// [Check] decides without a cart and returns a [Decision]. [Evaluate] decides for a cart and
// returns a [Result] with the Decision and the priced cart. The Decision on a refused coupon lists
// all reasons, in the order of section 6 of docs/contract.md.
//
//	result, err := eligibility.Evaluate(c, cart, eligibility.Question{
//		At:       now,
//		Customer: eligibility.Customer{ID: "u1", Email: "ann@example.com"},
//		Usage:    usage, // The store has counted these uses.
//	})
//
// A Decision does not reserve a use of the coupon. Another customer may take the last use after the
// Decision was made. The store enforces the limits when it reserves a use.
//
// # Reasons
//
// A Decision leaves out a reason that only repeats another reason:
//
//   - A Decision with user_required contains neither user_not_allowed nor points_not_redeemed.
//   - A Decision with no_eligible_items does not contain no_discount.
//   - A Decision with currency_mismatch contains neither minimum_purchase_not_met nor no_discount.
//
// # Concurrency
//
// All functions of this package are pure and safe for concurrent use.
package eligibility
