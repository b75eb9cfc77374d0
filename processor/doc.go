// Package processor defines the contract between couponkit and a payment processor.
//
// A processor has two roles:
//
//   - [Mirror] keeps a copy of every coupon at the processor, for the staff who work
//     there. If they deactivate the copy, couponkit refuses the coupon.
//   - [Sessions] runs the payment sessions. The amounts of a session already include
//     the discount. The processor reports the outcome in an [Event].
//
// The adapter of a processor without coupons embeds [NoMirror]. The store counts uses;
// the processor does not.
//
// # Rules for every method
//
//   - Every method can be repeated, in any process of the host. After a lost answer or
//     a crash, a repetition leads to the wanted state.
//   - Objects of other applications stay unchanged.
//   - Methods return when the context ends, even between retries.
//   - All methods are safe for concurrent use.
//   - Amounts are integers in the minor units of ISO 4217. The adapter converts amounts
//     if the processor uses other units.
//
// # Errors
//
// Every error matches one sentinel of this package or the context's error.
// [ErrCodeTaken] also matches [ErrRejected]. After [ErrUnavailable] the outcome is
// unknown, and the caller may repeat the call. All other sentinels are final answers.
//
// Package fakeprocessor is the reference implementation. Package processortest tests
// adapters.
package processor
