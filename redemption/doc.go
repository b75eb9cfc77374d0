// Package redemption is the record of one use of a coupon and the state machine
// that every store applies to it.
//
// # Idea
//
// A [Redemption] is a place kept for one customer: reserved when points are
// exchanged or a checkout is opened, completed when the payment arrives, released
// when it does not.
//
//	(none) --reserve--> reserved --completed--> completed
//	                     |  ^ |                     ^
//	          taken over +--+ +--expired, failed,   |
//	                             cancelled, lapsed  |
//	                                  v             |
//	                              released --paid after all
//
// [Apply] is the whole machine: one pure function from a record and an [Event] to
// the next record. A store reads the record under its own lock, calls Apply, and
// writes the result with the counts in the same transaction; nothing else decides
// transitions. Every legal repetition returns the same record, so that redelivered
// and reordered events do no harm; completed wins over expired in whichever order
// they arrive.
//
// # Leaving a session
//
// A customer who tries again keeps his place: the checkout ends the session that has it
// and takes the reservation over. The processor tells of that end as of any other, and may
// tell it to another process before the checkout has moved the reservation. So the
// checkout says first that the reservation is [Leaving] the session; until the instant
// that it names, an expiry does not release it.
//
// # Points
//
// The points of a reservation are debited and refunded by the host's ledger, which
// is not part of the store's transaction. PointsState records how far that is:
// what is due is repeated until the ledger has answered, and the ledger is
// idempotent by reservation ID. Points of a reservation that was released are
// refunded exactly once, also when the payment arrives after all. Points that the ledger
// refuses give up the reservation only while they are pending, for another call may have
// debited them meanwhile.
//
// It implements sections 2.4, 3.2 and 6 of the specification.
package redemption
