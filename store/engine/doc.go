// Package engine decides what a store does under its lock.
//
// A store opens a transaction and calls [Reserve], [Apply] or [SaveCoupon] with it. The
// engine loads rows by their keys, decides, and saves the rows that have changed. It decides
// request by request, in the order given, each on what the requests before have left. So a
// batch of requests has the answers that its requests would have had one after the other.
//
// Rows are locked in one order everywhere: orders and uses, coupons, counters; each kind
// by the bytes of its keys. Two transactions never wait for each other in a circle.
//
// No rule of a coupon is decided here. Limits arrive as claims, and every change of a
// counter is the difference of what records hold before and after.
package engine
