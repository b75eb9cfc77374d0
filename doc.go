// Package couponkit decides whether customers may use coupons, prices carts, and counts each use
// exactly once.
//
// A [Service] is built from a store (package store) and a payment processor (package processor).
// The types store.Store and processor.Processor are small interfaces. A service keeps its data in
// the store. In memory, a service keeps only the processor's recent answers about coupons. Several
// services in several processes may therefore share one store.
//
// # A purchase
//
//	validation, err := service.Validate(ctx, couponkit.ValidateRequest{…}) // may the customer use it?
//	quote, err := service.Quote(ctx, couponkit.QuoteRequest{…})            // what would the cart cost?
//	checkout, err := service.Checkout(ctx, couponkit.CheckoutRequest{…})
//	// the customer pays at checkout.Session.URL
//	http.Handle("POST /webhook", payments.Handler(service.Webhook(ship)))
//
// Validate and Quote change nothing. Checkout reserves a use within the coupon's limits, and stores
// the order with its quote. Checkout then opens a payment session with the discounted amounts.
// Later changes of the coupon do not change a stored order. The webhook records the payment and
// counts the use in one transaction of the store.
//
// Ship an order when the [Outcome] has the Order.State store.OrderPaid and the Flag [FlagNone].
// Ship each order ID only once. Outcomes come from the webhook and from [Service.Sweep].
// Service.Sweep finds payments whose event did not arrive.
//
// # Currency
//
// A draft without a currency makes a coupon in the currency of [WithCurrency]. Without the option
// WithCurrency, a draft without a currency makes a coupon in EUR. A cart always names its currency,
// as in pricing.Cart{Currency: pricing.USD()}.
//
// # Errors
//
// A service returns four kinds of errors:
//
//   - A refusal is returned as a [*coupon.Rejection] with at least one reason. Each reason has a
//     stable code, a message for the customer, and parameters. Each reason also has a sentinel
//     error for errors.Is, such as coupon.ErrExpired.
//   - Malformed input is reported by a [*pricing.ValidationError] that names every invalid field.
//   - A conflict is reported by an error that matches store.ErrConflict, [ErrOrderEnded] or
//     [ErrReservationClosed]. For example, store.ErrKeyReused and store.ErrStaleRevision match
//     store.ErrConflict.
//   - A failure is an error that is neither a refusal, malformed input nor a conflict. A failure
//     matches [ErrUnavailable] when the processor did not answer. A failure matches
//     processor.ErrRejected or processor.ErrForbidden when the processor refused the service's
//     request. A refusal by the processor usually comes from a configuration error. All other
//     failures are errors of the store.
//
// When the context of a call ends, the error matches context.DeadlineExceeded or context.Canceled.
// After a context error or [ErrUnavailable], the caller does not know whether the call took effect.
// After a context error or [ErrUnavailable], the caller repeats the call with the same key. An HTTP
// host answers a request with status 503 when the call ended with a context error.
//
// # Repetition
//
// Every method of a service can be called again. Checkout and ExchangePoints take an idempotency
// key. Events may arrive twice and in any order. A crash may leave the work of a call unfinished.
// Repeating the interrupted call with the same key finishes the call's work. Two methods also
// finish interrupted work. Hosts call the two methods regularly on any number of nodes:
//
//   - [Service.Sweep], called every minute, finishes reservations, orders and refunds.
//   - [Service.Reconcile], called every few minutes, repairs the coupons' mirrors at the processor.
//
// A mirror is the processor's own copy of a coupon.
package couponkit
