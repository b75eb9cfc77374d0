// Package ratelimit limits how often somebody may fail, such as with guessed coupon codes.
//
// A [Limiter] takes an attempt of each [Subject] before something is tried, and gives it back if that
// succeeds. Failed attempts alone therefore count, and parallel calls cannot exceed a [Limit]. A subject is
// who tries: a customer, a network address, a session. Several subjects are counted at once, and each has a
// limit of its own.
//
// Each subject has a bucket of attempts. A full bucket has Limit.Attempts, which can all be used at once.
// Taken attempts come back one by one, evenly over Limit.Window. Over a long time, no subject fails more
// than Limit.Attempts times in a window. In its worst window, it fails at most twice as often.
//
// [Memory] counts in one process. [Stored] counts in a store, for any number of processes. couponkit.WithLimiter
// takes either.
package ratelimit
