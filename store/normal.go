package store

import (
	"slices"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/redemption"
)

// Normalize returns the reservation in the form that is stored. Times are in UTC, to the
// microsecond. The result shares no memory with the original reservation. Stores normalize a
// reservation before they use it.
func (r Reservation) Normalize() Reservation {
	r.Order = normalOrder(r.Order.Clone())
	r.Uses, r.Coupons = slices.Clone(r.Uses), slices.Clone(r.Coupons)
	for i, u := range r.Uses {
		r.Uses[i] = normalUse(u.Clone())
	}
	return r
}

// Normalize returns the settlement in the form that is stored, like [Reservation.Normalize].
func (s Settlement) Normalize() Settlement {
	s.Event.At, s.Event.Deadline = instant(s.Event.At), instant(s.Event.Deadline)
	s.Event.Learned = slices.Clone(s.Event.Learned)
	s.Event.Refund.Returns.Lines = slices.Clone(s.Event.Refund.Returns.Lines)
	if !s.Unknown.Order.IsZero() {
		s.Unknown = s.Unknown.Normalize()
	}
	return s
}

// Normalize returns the change with all times in UTC, to the microsecond.
func (c CouponChange) Normalize() CouponChange {
	c.At = instant(c.At)
	for _, t := range []*time.Time{&c.Coupon.StartsAt, &c.Coupon.ExpiresAt, &c.Coupon.CreatedAt, &c.Coupon.UpdatedAt} {
		*t = instant(*t)
	}
	return c
}

func normalOrder(o redemption.Order) redemption.Order {
	o.Deadline, o.CreatedAt, o.UpdatedAt = instant(o.Deadline), instant(o.CreatedAt), instant(o.UpdatedAt)
	return o
}

func normalUse(u redemption.Use) redemption.Use {
	for _, t := range []*time.Time{&u.Deadline, &u.CreatedAt, &u.UpdatedAt, &u.CompletedAt, &u.ReleasedAt, &u.RestoredAt} {
		*t = instant(*t)
	}
	return u
}

func instant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return calendar.Instant(t)
}
