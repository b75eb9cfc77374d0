// Package stripeprocessor runs couponkit on Stripe: it implements both roles of
// package processor with stripe-go.
//
// # Idea
//
// Stripe can do neither of the things that couponkit asks of it without help. Its
// coupons cannot be edited, its promotion codes cannot be deleted, neither can be
// searched for by metadata, and an answer that is lost on the way leaves objects
// that nobody knows of. So every method of [Processor] looks at what is there,
// compares it with what should be there, and does what is missing: a call that is
// repeated after a lost answer, a crash or a refusal ends in the wanted state, with
// one coupon and at most one active promotion code. Nothing has to be remembered
// between two attempts, because the ID of a coupon at Stripe is derived from the ID
// and the revision of ours, and because everything that this package makes says in
// its metadata whose it is. What does not say so is never touched.
//
// # What is mirrored
//
// A coupon becomes a Stripe coupon (name, percent_off or amount_off with currency,
// duration once, max_redemptions) and a promotion code with the coupon's code.
// Scope, minimum purchase, limits per customer, allow-lists and points are not
// mirrored: Stripe has no place for them, or counts them otherwise. The expiry is
// not mirrored either unless [Options].MirrorExpiry says so: a promotion code that
// has expired at Stripe can never be active again, while couponkit lets an
// administrator prolong a coupon.
//
// Payment sessions carry amounts that are discounted already. Stripe therefore
// sees no discount and times_redeemed never moves: the store counts the uses.
//
// A change that Stripe does not allow (max_redemptions, or the expiry where it is
// mirrored) replaces the objects: the new coupon is made, the old promotion code
// is deactivated, a new one with the same code is made, the old coupon is deleted.
//
// # Subscriptions
//
// The unit amount of a recurring line is charged with every renewal. A discount
// for the first period (SessionRequest.FirstPeriodDiscount) therefore goes to
// Stripe as a coupon of its own for this session: exact amount, duration once, one
// redemption. It is removed when the session ends, by [Processor.Handler] or by
// [Processor.Sweep]. A discount for every period arrives as lower unit amounts.
//
// # Amounts
//
// Amounts are integers all the way. Stripe's minor units differ from those of ISO
// 4217 for some currencies (ISK, UGX, MGA); [Processor] converts. Currencies that
// Stripe charges in steps (BHD, JOD, KWD, OMR, TND: ten; MGA: hundred) are declared
// in [Processor.Abilities], in which couponkit's service prices carts; a total that
// is off the step is refused.
//
// # Webhooks
//
// [Processor.ParseEvent] checks the signature and translates a delivery;
// [Processor.Handler] is a ready http.Handler around it. Both accept several
// secrets, so that one can be rolled.
//
// # Errors
//
// Every error of a call is an [*Error] that matches one sentinel of package
// processor and, through errors.As, the *stripe.Error behind it; or it is the
// context's.
//
// A Processor is safe for use by many goroutines, and two of them do not share
// anything: no package of stripe-go is configured globally. The README of this
// module is the walkthrough: keys, permissions, webhook, what is mirrored.
package stripeprocessor
