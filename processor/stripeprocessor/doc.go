// Package stripeprocessor implements package processor with Stripe.
//
//	p, err := stripeprocessor.New(key, stripeprocessor.Options{
//		WebhookSecrets: []string{secret},
//	})
//	http.Handle("POST /webhook", p.Handler(handleEvent))
//
// [New] returns a [Processor]. Every method compares the objects at Stripe with the
// wanted objects, and creates what is missing. A call can therefore be repeated after a
// lost answer or a crash. Objects of this application are marked in their metadata.
// Other objects stay unchanged.
//
// The README of this module explains keys, permissions and the webhook.
//
// # Coupons
//
// A coupon becomes a Stripe coupon and a promotion code with the same code. A coupon
// without a plain code becomes a Stripe coupon alone. The Stripe coupon has the name, the discount and max_redemptions, with duration once. These are
// not mirrored:
//
//   - scope and minimum purchase
//   - limits per customer and allow-lists
//   - points
//   - the expiry, unless [Options].MirrorExpiry is set
//
// Stripe cannot express every discount; see [Processor.CanMirror]. A coupon that Stripe
// cannot express has no objects at Stripe, and its code need not fit Stripe's rules.
//
// Stripe cannot change max_redemptions or an expiry. After such a change the objects
// are replaced.
//
// Sessions have amounts that include all discounts. The adapter does not use Stripe's
// discounts for this, because a Checkout Session takes one coupon only, and because a
// Stripe coupon has no scope. So several coupons on one order, and coupons that Stripe
// cannot express, are passed on as computed line amounts too. Stripe's times_redeemed
// therefore stays 0. The store counts the uses.
//
// # Subscriptions
//
// A discount for every period lowers the unit amounts. A discount for the first period
// (SessionRequest.FirstPeriodDiscount) becomes a Stripe coupon for this session only,
// with one redemption. [Processor.Handler] or [Processor.Sweep] removes it after the
// session has ended.
//
// # Amounts
//
// All amounts are integers. Processor converts the currencies whose minor units differ
// between Stripe and ISO 4217 (ISK, UGX, MGA). Stripe charges some currencies in steps
// of minor units: 10 for BHD, JOD, KWD, OMR and TND, 100 for MGA. They are declared in
// [Processor.Abilities]. Other amounts are refused.
//
// # Webhooks
//
// [Processor.Handler] is an HTTP handler for Stripe's webhook. [Processor.ParseEvent]
// does its work without HTTP: it checks the signature and translates the event. Both
// accept several secrets, so that secrets can be rotated.
//
// # Errors
//
// Every error is an [*Error] or the context's error. An *Error matches one sentinel of
// package processor. errors.As finds the *stripe.Error behind it.
//
// # Concurrency
//
// A Processor is safe for concurrent use. Processors share no state, and stripe-go has
// no global configuration from this package.
package stripeprocessor
