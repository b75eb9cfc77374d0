// Package shop is the host around couponkit: what a backend has already when it
// adds coupons. It keeps the catalogue, the users with their passwords and roles,
// the sign-in sessions, and the ledger of points, in tables beside those of the
// coupon store.
//
// The statements are the same for SQLite and PostgreSQL. [DB] implements
// couponkit.Users and couponkit.Points; those two methods, and the promises in
// their comments, are all that couponkit asks of a host.
package shop
