// Package redemption defines the record of one use of a coupon, and its state machine.
//
// A [Redemption] reserves one use for one customer. It is reserved when a checkout
// starts or points are exchanged. It is completed when the payment arrives. It is
// released if the payment does not arrive.
//
//	(none) --reserve--> reserved --completed--> completed
//	                     |  ^ |                     ^
//	          taken over +--+ +--expired, failed,   |
//	                             cancelled, lapsed  |
//	                                  v             |
//	                              released --paid after all
//
// [Apply] returns the record after an [Event]. A store locks the record, calls Apply,
// and writes the result and the counts in one transaction. A repeated event returns the
// record unchanged. A completed payment wins over an expired session, whichever event
// arrives first.
//
// # Retries of a checkout
//
// A customer who starts a second checkout keeps the reservation. The service ends the
// first session and moves the reservation to the new order. The processor reports the
// end as an expiry, which normally releases the reservation. The service therefore
// records [Leaving] first. Until the deadline of that event, an expiry does not release
// the reservation.
//
// # Points
//
// The host's ledger debits and refunds points outside of the store's transaction.
// PointsState records the next step. The service repeats the step until the ledger
// answers. The ledger must be idempotent by reservation ID. Points of a released
// reservation are refunded once, even if the payment arrives later.
//
// All functions are pure and safe for concurrent use.
package redemption
