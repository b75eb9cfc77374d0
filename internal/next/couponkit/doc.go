// Package couponkit is the front door of a library for coupon rules and pricing.
//
// # Idea
//
// A [Service] answers three questions and keeps the answers true: may this
// customer use this coupon on this cart, what does each line cost then, and has
// this use been counted exactly once. It is built from a store (package store)
// and a payment processor (package processor), both small interfaces, and keeps
// nothing between calls: any number of services in any number of processes may
// share a store.
//
// # A purchase
//
//	validation, err := service.Validate(ctx, "SUMMER10", customer)   // may I?
//	quote, err := service.Quote(ctx, couponkit.QuoteRequest{…})      // what would it cost?
//	checkout, err := service.Checkout(ctx, couponkit.CheckoutRequest{…})
//	// the customer pays at checkout.Session.URL
//	outcome, err := service.HandleEvent(ctx, event)                  // the webhook
//
// Validate and Quote change nothing. Checkout keeps a place within the coupon's
// limits, stores the order with the frozen quote, and opens a payment session
// whose amounts are already discounted. HandleEvent records the redemption and
// counts it, in one transaction of the store. Nothing that happens to the coupon
// after Checkout touches the order.
//
// Ship when outcome.Order.State is redemption.OrderPaid and outcome.Flag is [FlagNone], once for
// each order ID; see [Service.HandleEvent]. [Service.Sweep] returns outcomes too, of payments
// whose event did not come.
//
// # Refusals and failures
//
// A business "no" is a [*coupon.Rejection] with a stable code, a message for the
// customer and parameters; errors.Is finds each reason by its sentinel. Malformed
// input is a [*pricing.ValidationError] that names every field. What a caller did at the
// wrong time is a conflict: store.ErrKeyReused, [ErrOrderEnded], [ErrReservationClosed],
// store.ErrStaleRevision, store.ErrConflict. Everything else is a failure:
// [ErrUnavailable] when the processor did not answer, processor.ErrRejected and
// processor.ErrForbidden when it does not take what it is asked, which is a matter of
// configuration, or an error of the store. A failure never looks like a refusal.
//
// When the context of a call ends, also while processor or store are being asked, the error
// is context.DeadlineExceeded or context.Canceled, and not [ErrUnavailable]. Whether the call
// took effect is not known then either, and the way on is the same: a host over HTTP answers
// 503, and the caller repeats the call with the same key. Logs have 499 for callers
// that have gone.
//
// # Repetition
//
// Every call can be repeated. Checkout and ExchangePoints take an idempotency key;
// events may arrive twice and in any order. What a crash leaves half done is
// finished by the same call with the same key, by [Service.Sweep] (reservations,
// orders, refunds) or by [Service.Reconcile] (mirrors at the processor); hosts run
// the first every minute and the second every few, on as many nodes as they like.
//
// It carries the whole of the specification; the doc comments name the sections.
package couponkit
