// Package stripefake is a Stripe account in memory, for tests and demonstrations. It is
// an http.Handler that answers the calls of package stripeprocessor as Stripe does.
//
// An [Account] keeps coupons, promotion codes, sessions and idempotency keys. It
// follows Stripe's rules:
//
//   - the terms of a coupon are fixed
//   - the text of an active promotion code is unique
//   - some promotion codes can never be active again
//   - an idempotency key returns its saved answer
//   - lists have pages, and parameters have bounds
//
// Account.Faults makes calls fail. Other methods of Account simulate staff in the
// dashboard and customers on the payment page. [Account.Deliver] sends signed events to
// a webhook.
//
// The account refuses parameters that package stripeprocessor does not send. It
// processes no cards. All methods are safe for concurrent use.
package stripefake
