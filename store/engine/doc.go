// Package engine makes the decisions of a store under the lock of the store.
//
// A store opens a transaction and passes it to [Reserve], [Apply], [SaveCoupon] or [SaveCodes]. The engine
// loads rows by their keys, decides, and saves the changed rows. A call may contain a batch
// of requests. The engine handles the requests of a batch one after the other, and each
// request sees the changes of the requests before it. So a batch gets the same answers as
// single calls.
//
// A call of a store is made of these steps:
//
//   - Normalize the request and Validate it.
//   - Begin a transaction, and call the engine.
//   - On [ErrAgain], roll back and begin again: [Reserve] with thorough.
//   - On an answer with [ErrAlone], pass that event to [ApplyLate] in a transaction of its own.
//   - On any other error, roll back. The errors of answers are for the callers: commit the others.
//
// All transactions lock rows in the same order: orders and uses, then coupons, then counters.
// Rows of one kind are locked in the byte order of their keys. So transactions never
// deadlock.
//
// The engine knows no rules of coupons. Limits reach the engine as claims. When records
// change, the engine adds the difference of their claims to the counters.
package engine
