// Package eligibility decides whether a customer may use a coupon, on which
// lines, and what the cart costs then.
//
// # Idea
//
// The rules are pure functions of values: the coupon, the cart, the customer, how
// often the coupon was used, and the instant. [Check] decides what can be decided
// without a cart; [Evaluate] adds the cart and prices it. A [Decision] carries
// every reason that applies, in the order of contract section 6, at no cost until
// somebody asks for the details.
//
// Deciding is not reserving: between a decision and a redemption other customers
// may take the last place. Limits are enforced where the use is reserved, by the
// store, in one atomic step; the decision here is what the customer is told
// beforehand.
//
// # Reasons that follow from others
//
// A reason that only restates another is left out: without a customer the
// decision is user_required and neither user_not_allowed nor
// points_not_redeemed; without an eligible line it is no_eligible_items and not
// no_discount; in another currency than the coupon's, amounts are not compared,
// so that it is currency_mismatch and neither minimum_purchase_not_met nor
// no_discount.
//
// It implements sections 2.2, 2.3, 4.4 and 7 of the specification.
package eligibility
