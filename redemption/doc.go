// Package redemption is the state machine of a checkout: what may happen to an order and
// to the uses of coupons that it holds.
//
// An [Order] is the unit of a checkout. It holds any number of uses, one per coupon. A
// [Use] claims counters, and so does the order itself. [Order.After] and [Use.After] return
// the records after an [Event]. [Holdings] tells what records hold in each counter. What an
// event adds to a counter is the holdings after it, less those before it. No transition
// does arithmetic of its own.
//
// A use that was bought with points begins without an order. It claims its counters when
// the points are exchanged. A checkout takes it into an order and adds the claims that
// depend on the quote.
//
// All functions are pure. Values may be read from many goroutines.
package redemption
