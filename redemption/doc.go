// Package redemption is the state machine of a checkout. The package defines how events change
// an order and its uses of coupons.
//
// An [Order] is what a customer buys in one checkout. A [Use] is one use of a coupon by an
// order. An order can use several coupons, each of them once. [Order.After] applies an [Event]
// to an order and its uses. [Use.After] applies an event to a single use.
//
// A store keeps counters, such as a counter for all uses of a coupon. An [eligibility.Claim] is the amount
// that an order or a use takes from one counter. [Holdings] returns how much an order and its
// uses hold in each counter. [Moves] compares the holdings before and after an event. A store
// adds these differences to its counters.
//
// A points reservation is a use that a customer bought with points before the checkout. A points
// reservation has no order, but it already holds claims. A checkout passes the points of the
// reservation on to a new use in its order. A use in an order can also have claims that depend
// on the quote.
//
// The functions of this package do no I/O and read no clock. Several goroutines may read the
// same value at once.
package redemption
