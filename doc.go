// Package couponkit decides about coupons, prices carts, and counts each use exactly once.
//
// A [Service] is built from a store (package store) and a payment processor (package processor).
// Both are small interfaces. The service keeps no state except the processor's recent answers
// about coupons. So any number of services, in any number of processes, may share a store.
//
// # A purchase
//
//	validation, err := service.Validate(ctx, couponkit.ValidateRequest{…}) // may the customer use it?
//	quote, err := service.Quote(ctx, couponkit.QuoteRequest{…})            // what would the cart cost?
//	checkout, err := service.Checkout(ctx, couponkit.CheckoutRequest{…})
//	// the customer pays at checkout.Session.URL
//	http.Handle("POST /webhook", payments.Handler(service.Webhook(ship)))
//
// Validate and Quote change nothing. Checkout reserves a use within the coupon's limits, stores
// the order with its quote, and opens a payment session with the discounted amounts. Later
// changes of the coupon leave the order as it is. The webhook records the payment and counts the
// use, in one transaction of the store.
//
// Ship an order when the outcome's Order.State is redemption.OrderPaid and its Flag is [FlagNone],
// once for each order ID. [Service.Sweep] returns outcomes too: it finds payments whose event did
// not arrive.
//
// # Currency
//
// A coupon that names no currency is in EUR, or in the currency of [WithCurrency]. A cart always
// names its currency, as in pricing.Cart{Currency: pricing.USD()}.
//
// # Errors
//
// There are four kinds of errors:
//
//   - A refusal is a [*coupon.Rejection]. It has a stable code, a message for the customer, and
//     parameters. Each reason has a sentinel for errors.Is, such as coupon.ErrExpired.
//   - Malformed input is a [*pricing.ValidationError] that names every field.
//   - A conflict matches store.ErrConflict (such as store.ErrKeyReused or
//     store.ErrStaleRevision), [ErrOrderEnded] or [ErrReservationClosed].
//   - A failure is any other error. It matches [ErrUnavailable] when the processor did not
//     answer. It matches processor.ErrRejected or processor.ErrForbidden when the processor
//     refused the call, which is usually a configuration error. All other failures are errors of
//     the store.
//
// When the context of a call ends, the error matches context.DeadlineExceeded or
// context.Canceled. The caller then does not know whether the call took effect, as after
// [ErrUnavailable], and repeats it with the same key. An HTTP host answers 503.
//
// # Repetition
//
// Every call can be repeated. Checkout and ExchangePoints take an idempotency key. Events may
// arrive twice and in any order. A crash may leave work half done. The same call with the same
// key finishes it, and so do two calls that hosts make from time to time, on any number of nodes:
//
//   - [Service.Sweep], every minute, finishes reservations, orders and refunds;
//   - [Service.Reconcile], every few minutes, repairs the coupons' mirrors at the processor.
//
// A mirror is the processor's own copy of a coupon.
package couponkit
