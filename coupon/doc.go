// Package coupon models a coupon. The package defines the fields of a coupon and their
// validation rules. The package also defines the closed set of reasons for which a coupon can
// be refused.
//
// # Idea
//
// An administrator describes a new coupon in a [Draft]. [New] checks the draft and returns a
// [Coupon]. A [Patch] describes a later change to a coupon. [Coupon.Apply] checks the patch and
// returns the changed coupon. The code, the discount and the currency of a coupon never change
// after creation.
//
// If the input is invalid, New and Apply return a [*pricing.ValidationError]. The error from
// New or Apply lists every invalid field by its JSON path. Use [Coupon.Validate] to check a
// coupon that was loaded from a store.
//
// # Codes
//
// A [Code] holds a coupon code in its normalized form, called the key. A key is in Unicode form
// NFKC, trimmed and upper-cased. The key of a code has at most 255 code points. Codes are
// stored, compared and shown as keys. So "summer10", " SUMMER10 " and full-width "ＳＵＭＭＥＲ１０" are
// the same code everywhere.
//
// # People and time
//
// An [EmailSet] is an allow-list of normalized e-mail addresses. The time to look up an address
// does not depend on the size of the set. A store may return an EmailSet with only one entry of
// the allow-list, or with no entry. An EmailSet is called narrowed if it holds only a part of
// the allow-list.
//
// A coupon is valid from StartsAt, inclusive, until ExpiresAt, exclusive. A [Moment] is a start
// or an expiry as an administrator typed it. A Moment is either an instant or a calendar date.
// If the expiry is a date, the coupon is valid through the end of that day in a time zone.
//
// # JSON
//
// [Draft], [Patch] and [Coupon] use the JSON field names of section 7 of the contract. Reading
// any of these types from JSON fails if a field is unknown or a value is malformed. Reading a
// Coupon from JSON also fails if a value breaks a rule of [Coupon.Validate]. A single error
// lists all invalid fields of the JSON object.
//
// In JSON output, amounts and percentages are decimal strings. In JSON input, amounts and
// percentages are strings or numbers. Amounts and percentages are read without floating point.
// In a patch, null clears a value. A field that is absent from a patch leaves the coupon's
// value unchanged. An [Optional] field distinguishes null from an absent field.
//
// # Refusals
//
// A [*Rejection] is the error for a refusal. A Rejection has one or more [Reason] values in a
// fixed order. The first reason of a Rejection is called the headline. Each [RejectionCode] has
// a sentinel error. So errors.Is(err, coupon.ErrExpired) is true for an expired coupon, even if
// the coupon is refused for other reasons too. A Rejection never reports malformed input or a
// failure of a store.
//
// Values of the types in this package may be copied. Several goroutines may read the same value
// at once. All sets in this package are immutable. The package implements sections 2, 3.1 and 7
// of the specification.
package coupon
