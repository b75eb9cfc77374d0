// Package redemption defines the record of one use of a coupon. The package also defines the
// state machine of this record.
//
// A [Redemption] reserves one use of a coupon for one customer. A Redemption is reserved when a
// checkout starts or when the customer exchanges points. A Redemption is completed when the
// payment arrives. A Redemption is released if the payment does not arrive.
//
//	(none) --reserve--> reserved --completed--> completed
//	                     |  ^ |                     ^
//	          taken over +--+ +--expired, failed,   |
//	                             cancelled, lapsed  |
//	                                  v             |
//	                              released --paid after all
//
// [Apply] returns the Redemption after an [Event]. A store locks the Redemption, calls Apply, and
// writes the result. The store also updates the coupon's counts of uses in the same transaction.
// A repeated Event leaves the Redemption unchanged. A completed payment wins over an expired
// session, regardless of the order of the two events.
//
// # Retries of a checkout
//
// A customer who starts a second checkout keeps the reservation of the first checkout. The
// service ends the session of the first checkout and moves the reservation to the new order. The
// processor reports the ended session as expired. An expired session normally releases its
// reservation. The service therefore records the event [Leaving] before it ends the session.
// Until the Deadline of the Leaving event, an expired session does not release the reservation.
//
// # Points
//
// The host's points ledger debits and refunds points outside the store's transaction. The field
// PointsState of a Redemption records the next step for the ledger. The service repeats this step
// until the ledger answers. The ledger must be idempotent by reservation ID. The points of a
// released reservation are refunded once, even if the payment arrives later.
//
// All functions of this package are pure and safe for concurrent use.
package redemption
