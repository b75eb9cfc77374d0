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
