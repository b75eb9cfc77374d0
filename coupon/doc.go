// Package coupon is the model of a coupon: its fields, what makes them valid,
// and the closed set of reasons for which a coupon is refused.
//
// # Idea
//
// An administrator describes a coupon in a [Draft]. [New] checks the draft and
// returns the [Coupon]. A later change is a [Patch]. [Coupon.Apply] checks and
// applies the patch. Code, discount and currency never change after creation.
// New and Apply report all faults together, as a [*pricing.ValidationError]
// with the paths of the JSON fields. Use [Coupon.Validate] to check a coupon
// that was loaded from a store.
//
// # Codes
//
// A [Code] is the normalized key of the text that somebody typed: in Unicode
// form NFKC, trimmed, upper-cased, at most 255 code points. Keys are stored,
// compared and shown. So "summer10", " SUMMER10 " and full-width "ＳＵＭＭＥＲ１０" are
// the same code everywhere.
//
// # People and time
//
// An [EmailSet] is an allow-list of normalized addresses. The time of a look-up
// does not depend on the size of the set. A store may return a set that is
// narrowed to one entry or to no entry.
//
// A coupon is valid in the half-open window [StartsAt, ExpiresAt). A [Moment]
// is a bound as somebody typed it: an instant or a date. A date as expiry means
// through the end of that day in a location.
//
// # JSON
//
// [Draft], [Patch] and [Coupon] use the field names of section 7 of the contract.
// Reading refuses unknown fields and values of the wrong form. Reading a coupon
// also refuses values that break a rule. One error lists all faults.
//
// Amounts and percentages are written as decimal strings. They are read from
// strings or numbers, without floating point. In a patch, null clears a value, and
// an absent field leaves the value unchanged. An [Optional] field distinguishes the
// two.
//
// # Refusals
//
// A refusal is a [*Rejection]: an error with one or more [Reason] values in a
// fixed order. The first reason is the headline. Each [RejectionCode] has a
// sentinel. So errors.Is(err, coupon.ErrExpired) works even if the coupon is
// refused for other reasons too. Malformed input and failures of a store are
// not refusals.
//
// Values of this package may be copied and read by several goroutines. The sets
// inside are immutable. The package implements sections 2, 3.1 and 7 of the
// specification.
package coupon
