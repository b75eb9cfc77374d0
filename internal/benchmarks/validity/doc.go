// Package validity decides whether a customer may use a coupon, in the ways that a
// team could choose from: this repository's rules, the same rules written by hand,
// and the two rule engines that Go programs use, cel-go and expr, with one rule
// compiled for each coupon.
//
// # What is equal and what is not
//
// A test holds all ways to one answer on random coupons, carts and questions. The
// engines are given every advantage that keeps the answer: a rule has only the
// conditions that its coupon needs, constants are folded in, least amounts are
// computed beforehand, instants are integers, e-mail addresses come normalised, an
// allow-list is a map, variables are made before the clock starts, and the fastest of
// several forms of variables and of sums is used. They answer yes or no, and stop at the first no. This repository's
// [eligibility.Check] finds every reason, and [eligibility.SetResult.Reevaluate] prices
// the cart as well; both normalise the address themselves.
//
//	go test ./validity                      # the same answers?
//	go test -run '^$' -bench . ./validity   # at what price?
package validity
