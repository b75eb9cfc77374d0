// Package couponkit decides whether customers may use coupons, prices carts, and counts each use of
// a coupon exactly once.
//
// A [Service] works with the host's database and, with [WithProcessor], with a payment processor. A
// Service uses the database through the interface store.Store, and the processor through the
// interface processor.Processor. All data is in the store, so several processes can share one database. In
// memory, a Service only caches the processor's recent answers about coupons.
//
// # A purchase
//
//	validation, err := service.Validate(ctx, couponkit.ValidateRequest{…}) // may the customer use it?
//	quote, err := service.Quote(ctx, couponkit.QuoteRequest{…})            // what would the cart cost?
//	checkout, err := service.Checkout(ctx, couponkit.CheckoutRequest{…})
//	// the customer pays at checkout.Session.URL
//	http.Handle("POST /webhook", payments.Handler(service.Webhook(ship)))
//
// Validate and Quote change nothing. Checkout reserves a use of the coupon and stores the order
// with its quote. Checkout then opens a payment session for the discounted amounts. Later changes
// to a coupon do not affect stored orders. The webhook records the payment and counts the use in
// one transaction of the store.
//
// Ship an order when its state is redemption.OrderPaid and the [Outcome] has the flag [FlagNone].
// An order may be reported more than once, so ship each order ID only once. [Service.Sweep] reports
// paid orders too, because the event of a payment may never arrive. Its report also contains the
// orders that ended unpaid.
//
// # Payments of the host
//
// A host with its own payments needs no processor:
//
//	order, err := service.Reserve(ctx, couponkit.ReserveRequest{…}) // keeps a use of each coupon
//	_, err = service.BeginPayment(ctx, order.Order.ID)              // the payment may be created now
//	_, err = service.AttachPayment(ctx, couponkit.Payment{…})       // it may be shown now
//	paid, err := service.Record(ctx, couponkit.Payment{…})          // what the provider tells
//
// An order whose payment was begun keeps its uses until the end of the payment is recorded. What has to
// be done at the provider is listed by [Service.Due], such as to void the payment of an order that was
// cancelled. The answers are recorded, too. Of one use, two payments are never payable.
//
// # Transactions of the host
//
// The SQL stores have a method WithTx. It returns a store that works inside the host's transaction.
// [Service.In] reserves, records and refunds there, and asks nobody. A Service on such a store records
// events, sweeps, and reads. Calls that open payment sessions or
// move money, points or mirrors return [ErrInTransaction], because a rollback would forget them.
//
// # Currency
//
// [WithCurrency] sets the currency of coupons whose draft names no currency. The default currency
// is EUR. A cart always names its currency, as in pricing.Cart{Currency: pricing.USD()}.
//
// # Errors
//
// A Service returns four kinds of errors:
//
//   - A refusal is a [*coupon.Rejection] with at least one reason. Each reason has a stable code, a
//     message for the customer, and parameters. Each reason also has a sentinel error for
//     errors.Is, such as coupon.ErrExpired.
//   - Malformed input is reported by a [*validation.Error] that names every invalid field.
//   - The error of a conflict matches store.ErrConflict, [ErrOrderEnded], [ErrOrderPaid] or
//     [ErrReservationClosed]. For example, store.ErrKeyReused and store.ErrStaleRevision match
//     store.ErrConflict.
//   - All other errors are failures. [ErrUnavailable] means that the processor did not answer.
//     processor.ErrRejected and processor.ErrForbidden mean that the processor refused a request,
//     usually because of a configuration error. [ErrInTransaction] means that the call cannot be
//     made inside a transaction of the host. Other failures come from the store, or from the host's
//     [Users] or [Points].
//
// If the context of a call ends, the error matches context.DeadlineExceeded or context.Canceled.
// After a context error, [ErrUnavailable] or a failure of the store, the call may or may not have taken
// effect. To find out, repeat the call with the same idempotency key. An HTTP host should answer a context error
// with status 503.
//
// # Repetition
//
// Every method of a Service can be called again. Checkout and ExchangePoints take an idempotency
// key. Events may arrive twice and in any order. If a crash interrupts a call, a second call with
// the same key finishes the work. Call [Service.Sweep] and [Service.Reconcile] regularly, from any
// number of nodes, to finish all other interrupted work:
//
//   - Sweep finishes orders, exchanges of points, and refunds. Call Sweep every minute. Hosts with
//     their own payments also do what is [Service.Due] then.
//   - Reconcile repairs the coupons' mirrors at the processor. Call Reconcile every few minutes.
//
// A mirror is the processor's own copy of a coupon.
package couponkit
