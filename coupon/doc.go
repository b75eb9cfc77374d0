// Package coupon defines coupons, their validation rules, and the reasons for which a coupon can be refused. It
// implements sections 2, 3.1 and 7 of the specification.
//
// # Idea
//
// An administrator describes a new coupon in a [Draft], and [New] returns the [Coupon]. A [Patch] describes a later
// change, and [Coupon.Apply] returns the changed coupon. [Terms] are everything that the administrator decides. The
// code, the discount, the currency and the refund policy never change after creation.
//
// If the input is invalid, New and Apply return a [*validation.Error] that lists every invalid field by its JSON path.
// Use [Coupon.Validate] to check a coupon that was loaded from a store.
//
// # Codes
//
// A [Code] holds a coupon code in its normalized form, called the key. "summer10", " SUMMER10 " and full-width
// "ＳＵＭＭＥＲ１０" are the same code everywhere.
//
// A coupon has one plain code or none, and any number of codes in batches. An [IssuedCode] of a batch can have a limit,
// an expiry and an [Owner] of its own. [NewCodes] checks the codes of a [Batch].
//
// # People and time
//
// An [EmailSet] is an allow-list of normalized e-mail addresses. Stores may load it narrowed to one entry.
//
// A coupon is valid from StartsAt, inclusive, until ExpiresAt, exclusive. A [calendar.Moment] is a start or an expiry
// as an administrator typed it: an instant or a calendar date. A coupon is valid through the end of its last date.
//
// # JSON
//
// Section 7 of the contract lists the JSON field names of [Draft], [Patch] and [Coupon]. Amounts and percentages are
// decimal strings, or an object of them by currency code. As input they may be numbers, which are read exactly. In a
// patch, null clears a value, and an absent field leaves it unchanged; see [Optional].
//
// A Draft or Patch remembers the members that could not be read, and New or Apply reports them with all other faults.
// Unmarshaling a Coupon returns one error with all unknown, malformed and invalid fields.
//
// # Refusals
//
// A refused coupon is reported as a [*Rejection] with one or more [Reason] values in a fixed order. Each
// [RejectionCode] has a sentinel error. For an expired coupon, errors.Is(err, coupon.ErrExpired) is true, even if there
// are other reasons. A Rejection never reports malformed input or a failure of a store.
//
// Values of the types in this package may be copied and read by several goroutines. All sets are immutable.
package coupon
