// Package coupon is the model of a coupon: its fields, what makes them valid,
// and the closed set of reasons for which a coupon is refused.
//
// # Idea
//
// An administrator describes a coupon in a [Draft]; [New] checks it and makes
// the [Coupon]. Later changes are a [Patch]; [Coupon.Apply] checks and applies
// it. Code, discount and currency never change after creation. Both report all
// faults at once as a [*pricing.ValidationError] with the paths of the JSON
// fields. A coupon that comes back from a store is checked again with
// [Coupon.Validate].
//
// # Codes
//
// A [Code] is the normalised key of what somebody typed: NFKC, trimmed,
// upper-cased, at most 255 code points. The key is what is stored, compared and
// shown, so "summer10", " SUMMER10 " and full-width "ＳＵＭＭＥＲ１０" are one
// code everywhere.
//
// # People and time
//
// An [EmailSet] holds normalised addresses and answers in the same time whatever
// its size; a store may hand out one that is narrowed to one address, or to none. Validity is
// the half-open window [StartsAt, ExpiresAt) of instants. A [Moment] is how
// somebody gives a bound: an instant, or a date, which as expiry means through the
// end of that day in a location.
//
// # JSON
//
// [Draft], [Patch] and [Coupon] read and write the field names of contract section
// 7. Reading is strict and finds every fault: unknown fields, values of the wrong
// form and, in a coupon, values that break a rule. Amounts and percentages are
// decimal strings, and exact numbers on input; no floating point is involved. An
// [Optional] field of a patch tells null, which clears, from absent, which leaves
// alone.
//
// # Refusals
//
// A refusal is a [*Rejection]: an error with one or more [Reason] values in a
// fixed order, the first being the headline. Each [RejectionCode] has a sentinel,
// so that errors.Is(err, coupon.ErrExpired) works whatever else applies. A
// malformed input is not a refusal, and neither is a store that is down.
//
// Values of this package are safe to copy and to read from many goroutines; the
// sets inside are immutable. It implements sections 2, 3.1 and 7 of the
// specification.
package coupon
