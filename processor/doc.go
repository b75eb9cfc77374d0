// Package processor defines the contract between couponkit and a payment processor.
//
// A processor has two roles:
//
//   - [Mirror] keeps a copy of every coupon at the processor, for staff who manage coupons there.
//     If the staff deactivate a copy, couponkit refuses the coupon.
//   - [Sessions] runs the payment sessions. The amounts of a payment session already include the
//     coupon's discount. The processor reports the outcome of a session in an [Event].
//
// Adapters may have further, optional roles:
//
//   - [Refunder] returns money to customers.
//   - [SessionFinder] finds the session of an order whose session ID was lost. Without it, a session that
//     the customer may still pay can stay unknown until its event arrives.
//   - [MirrorLister] lists the copies of coupons.
//
// If a processor cannot store coupons, its adapter embeds [NoMirror]. If a processor can store
// only some coupons, its adapter reports the other coupons as unsupported. The store counts the
// uses of each coupon, so the processor does not need to.
//
// # Rules for every method
//
//   - The caller may repeat any call, from any process of the host. After a lost answer or a
//     crash, the repeated call must reach the intended state.
//   - No method may change objects that belong to other applications.
//   - Every method must return when its context ends, even while it waits to retry.
//   - All methods must be safe for concurrent use.
//   - All amounts are integers in minor units of the currency, as defined by ISO 4217. If the
//     processor uses different units, the adapter converts the amounts.
//
// # Errors
//
// Every error that a method returns must match a sentinel error of this package or the error of
// the context. [ErrCodeTaken] also matches [ErrRejected]. After [ErrUnavailable], the outcome of
// the call is unknown, and the caller may repeat the call. All other sentinel errors are final
// answers of the processor.
//
// Package fakeprocessor is the reference implementation of this contract. Package processortest
// tests whether an adapter fulfills the contract.
package processor
