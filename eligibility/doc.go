// Package eligibility decides whether a customer may use a coupon. The package also finds the cart
// lines that a coupon covers, and prices the cart.
//
// [Check] decides without a cart and returns a [Decision]. [Evaluate] decides for a cart and
// returns a [Result] with the Decision and the priced cart. The Decision on a refused coupon lists
// all reasons, in the order of section 6 of docs/contract.md. [EvaluateSet] and [CheckSet] decide
// about several coupons that a customer wants to use together.
//
//	result, err := eligibility.Evaluate(&c, cart, eligibility.Question{
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
//   - The reason user_required replaces user_not_allowed, customer_tags_not_met, not_first_order and
//     points_not_redeemed.
//   - The reason no_eligible_items replaces no_discount.
//   - A cart that has less than a discount needs, such as two units of "3 for 2", lacks a minimum or required items. That
//     reason replaces no_discount.
//   - The reason currency_mismatch replaces minimum_purchase_not_met and no_discount.
//
// # Claims
//
// A store keeps counters, such as a counter for all uses of a coupon. A [Claim] is what an order or a
// use takes from one counter. [Claimant.Limits] returns the limits that a decision compares with
// counters, and [UsageOf] turns the counters into the [Usage] of the decision. [Claimant.Claims],
// [BudgetClaims] and [OrderClaims] return what is claimed after the decision.
//
// # Concurrency
//
// All functions of this package are pure and safe for concurrent use.
package eligibility
