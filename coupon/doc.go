// Package coupon defines coupons and their validation rules. The package also defines the
// reasons for which a coupon can be refused.
//
// # Idea
//
// An administrator describes a new coupon in a [Draft]. [New] checks the draft and returns a
// [Coupon]. A [Patch] describes a later change to a coupon. [Coupon.Apply] checks the patch and
// returns the changed coupon. The code, the discount, the currency and the refund policy of a coupon
// never change after creation. [Terms] are everything that the administrator decides.
//
// If the input is invalid, New and Apply return a [*validation.Error]. The error lists
// every invalid field by its JSON path. Use [Coupon.Validate] to check a coupon that was loaded
// from a store.
//
// # Codes
//
// A [Code] holds a coupon code in its normalized form, called the key. A key is in Unicode form
// NFKC, trimmed and upper-cased. The key of a code has at most 255 code points. Codes are
// stored, compared and shown as keys. For example, "summer10", " SUMMER10 " and full-width
// "ＳＵＭＭＥＲ１０" are the same code everywhere.
//
// A coupon has one plain code or none, and any number of codes in batches. An [IssuedCode] of a batch
// can have a limit and an expiry of its own. It can also have an [Owner], who alone may use it.
// [NewCodes] checks the codes of a [Batch].
//
// # People and time
//
// An [EmailSet] is an allow-list of normalized e-mail addresses. Looking up an address takes the
// same time in a set of any size. An EmailSet that holds only a part of the allow-list is called
// narrowed. A store may return a narrowed EmailSet with one entry or with no entry.
//
// A coupon is valid from StartsAt, inclusive, until ExpiresAt, exclusive. A [Moment] is a start
// or an expiry as an administrator typed it. A Moment is either an instant or a calendar date.
// If the expiry is a date, the coupon is valid through the end of that day. [Moment.End] takes
// the time zone of the date as an argument.
//
// # JSON
//
// Section 7 of the contract lists the JSON field names of [Draft], [Patch] and [Coupon].
// A Draft or Patch remembers the members that could not be read, and New or Apply reports them with all
// other faults. Unmarshaling a Coupon fails if a field is unknown, a value is malformed or a value breaks
// a rule of [Coupon.Validate]. A single error lists all invalid fields.
//
// In JSON output, amounts and percentages are decimal strings. Amounts in several currencies are an
// object by currency code. In JSON input, amounts and
// percentages may be strings or numbers. Numbers are read exactly, without floating point. In a
// patch, null clears a value. A field that is absent from a patch leaves the coupon's value
// unchanged. An [Optional] field distinguishes null from an absent field.
//
// # Refusals
//
// A refused coupon is reported as a [*Rejection]. A Rejection has one or more [Reason] values in
// a fixed order. The first reason of a Rejection is called the headline. Each [RejectionCode]
// has a sentinel error. For an expired coupon, errors.Is(err, coupon.ErrExpired) is true, even
// if there are other reasons. A Rejection never reports malformed input or a failure of a store.
//
// Values of the types in this package may be copied. Several goroutines may read the same value
// at once. All sets in this package are immutable. The package implements sections 2, 3.1 and 7
// of the specification.
package coupon
