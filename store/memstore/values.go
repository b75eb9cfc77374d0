package memstore

import (
	"strings"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// The values that are kept have instants in UTC, to the microsecond, and text that
// every store can keep.

func storedCoupon(c coupon.Coupon) coupon.Coupon {
	c.StartsAt, c.ExpiresAt = coupon.Instant(c.StartsAt), coupon.Instant(c.ExpiresAt)
	c.CreatedAt, c.UpdatedAt = coupon.Instant(c.CreatedAt), coupon.Instant(c.UpdatedAt)
	return c
}

func storedRedemption(r redemption.Redemption) redemption.Redemption {
	r.Deadline, r.LeavingUntil = coupon.Instant(r.Deadline), coupon.Instant(r.LeavingUntil)
	r.CreatedAt, r.UpdatedAt = coupon.Instant(r.CreatedAt), coupon.Instant(r.UpdatedAt)
	r.CompletedAt, r.ReleasedAt = coupon.Instant(r.CompletedAt), coupon.Instant(r.ReleasedAt)
	return r
}

func storedOrder(o store.Order) store.Order {
	o.Deadline, o.CreatedAt, o.UpdatedAt = coupon.Instant(o.Deadline), coupon.Instant(o.CreatedAt), coupon.Instant(o.UpdatedAt)
	return o
}

func storedEvent(e redemption.Event) redemption.Event {
	e.At, e.Deadline = coupon.Instant(e.At), coupon.Instant(e.Deadline)
	return e
}

// isText reports whether every store could hold the text.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

func invalid(field, message string) error {
	var faults pricing.ValidationError
	faults.Add(field, pricing.FieldNotAllowed, message)
	return faults.Err()
}
