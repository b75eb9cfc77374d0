// Package processor defines the contract between couponkit and a payment processor.
//
// A processor has two roles:
//
//   - The role [Mirror] keeps a copy of every coupon at the processor. The copy is for staff who
//     work with coupons at the processor. If the staff deactivate the copy, couponkit refuses the
//     coupon.
//   - The role [Sessions] runs the payment sessions. The amounts of a payment session already
//     include the coupon's discount. The processor reports the outcome of a session in an
//     [Event].
//
// The adapter for a processor without coupons embeds [NoMirror]. The store counts the uses of a
// coupon. The processor does not count uses.
//
// # Rules for every method
//
//   - The caller may repeat every method call, from any process of the host. If an answer was
//     lost or a process crashed, the repeated call reaches the intended state.
//   - No method changes objects that belong to other applications.
//   - Every method returns when its context ends, even during a wait between retries.
//   - All methods are safe for concurrent use.
//   - All amounts are integers in minor units of the currency, as defined by ISO 4217. If the
//     processor uses different units, the adapter converts the amounts.
//
// # Errors
//
// Every error of a method matches one sentinel error of this package or the context's error.
// [ErrCodeTaken] also matches [ErrRejected]. If the error is [ErrUnavailable], the outcome of the
// call is unknown, and the caller may repeat the call. All sentinel errors except ErrUnavailable
// are final answers.
//
// Package fakeprocessor is the reference implementation of this contract. Package processortest
// tests whether an adapter fulfills this contract.
package processor
