// Quote prices carts with coupons: JSON documents on standard input, one JSON
// result a line on standard output, in the same order.
//
//	go run ./examples/quote <carts.jsonl
//
// A document stands on one line or on several; documents follow one another with
// nothing or white space between them. It is an object of these fields:
//
//	id        names the document in its result
//	at        the instant of the question, RFC 3339; absent: now
//	currency  any code of ISO 4217
//	step      the step of amounts, where a payment processor does not charge to the
//	          last decimal ("0.010" for its dinars); absent: none. Prices and a fixed
//	          amount have to be multiples of it, and every amount of the result is
//	customer  {"id","email"}; absent: nobody, which is a preview (see below)
//	lines     [{"id","kind","itemId","quantity","unitPrice"}], kind being plan,
//	          device, accessory or shipping, which alone may go without itemId
//	coupon    the coupon; null or absent: the cart is priced without one
//	usage     {"completed","reserved","completedByCustomer","reservedByCustomer",
//	          "customerHoldsReservation"}; whatever is absent is 0 or false
//
// Amounts and percentages are decimal strings ("12.50") or JSON numbers, which
// are read digit by digit; the lists are empty and other fields absent when null.
// A field that is unknown or given twice is refused, at every level.
//
// # The coupon
//
// It has the fields of a coupon as the library writes one, so that a stored
// coupon can be pasted in. What decides:
//
//   - code, name, discountType and discountValue are required; currency is EUR,
//     appliesTo ALL and distribution GENERAL unless given.
//   - active is true unless given; false refuses the coupon.
//   - maxUses and maxUsesPerUser are no limit when absent: the limit of 1 that an
//     omitted maxUsesPerUser becomes belongs to creating a coupon.
//   - a date without a time is a day in UTC: a coupon that expires on 2026-12-31
//     is valid through the end of that day.
//   - allowedUserEmails is a list, or one text with commas or newlines.
//
// The other fields of a stored coupon must be of their form and are then left
// aside: id, processorCouponId, promotionCodeId, mirrorUnsupported, createdAt,
// updatedAt, revision, description, and usedCount and reservedCount, in whose place usage counts.
//
// # The result
//
// A refused coupon changes nothing but "applied" and "rejections": the cart has
// its list prices, and "eligible" tells which lines the coupon would cover. A
// cart without a coupon has no eligible line. Without a customer, only coupons
// that depend on one (USER_SPECIFIC, POINTS_REDEEMABLE) are refused for it.
//
// # Status
//
// 0 when every document was answered, refusals included. 2 when one is
// malformed: a message on standard error names it by number and id, with every
// offending field; results of earlier documents are written, later documents are
// not read. 1 when reading or writing fails. (go run prints the status and ends
// with 1 itself; go build the program to see it.)
//
// The program streams: it holds one document at a time, of at most 16 MiB.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "quote: no arguments; it reads documents from standard input, see go doc ./examples/quote")
		os.Exit(statusMalformed)
	}
	os.Exit(run(os.Stdin, os.Stdout, os.Stderr, time.Now))
}
