// Package processor is the contract between couponkit and a payment processor.
//
// # Idea
//
// A processor has two roles. As a [Mirror] it keeps a copy of every coupon (a
// coupon and a promotion code), so that staff who look there see the same picture
// and a coupon that was switched off there is refused. As [Sessions] it makes the
// payment session that the customer pays, with amounts that are already adjusted
// for the discount, and tells later, in an [Event], what became of it.
//
// A processor that keeps no coupons has no copy to show: its adapter embeds [NoMirror].
//
// Usage is not counted at the processor: with adjusted amounts it never sees a
// discount. The store counts.
//
// # Rules for every method
//
//   - Every method can be repeated: it looks at what is there and does what is
//     missing. After a lost answer, a crash or a refusal the same call, in whatever
//     process of the host, leads to the wanted state, with one coupon, one active
//     promotion code and one session that can be paid.
//   - Nothing that belongs to somebody else is changed or removed.
//   - Context comes first and is obeyed, also while waiting to try again.
//   - All methods may be called from many goroutines at once.
//   - Amounts are integer minor units of couponkit's currency (exponent of ISO
//     4217). An adapter whose processor counts otherwise converts.
//
// # Errors
//
// Every error matches exactly one of the sentinels of this package, or the
// context's error; [ErrCodeTaken] is a kind of [ErrRejected] and matches that too.
// [ErrUnavailable] means that the outcome is not known and the call may be repeated;
// the others are answers.
//
// Adapters run processortest.Run; package fakeprocessor is the reference.
package processor
