package store

import (
	"slices"
	"time"

	"github.com/couponkit/couponkit/calendar"
)

// Normalize returns the reservation in the form that is stored. Times are in UTC, to the
// microsecond. The order and its uses have their first version. The result shares no memory with the
// original reservation. Stores normalize a reservation before they use it.
func (r Reservation) Normalize() Reservation {
	r.Order, r.Uses, r.Coupons = r.Order.Clone(), slices.Clone(r.Uses), slices.Clone(r.Coupons)
	normalInstants(&r.Order.Deadline, &r.Order.CreatedAt)
	if !r.Order.IsZero() {
		r.Order.Version, r.Order.UpdatedAt = 1, r.Order.CreatedAt
	}
	for i := range r.Uses {
		u := &r.Uses[i]
		*u = u.Clone()
		normalInstants(&u.Deadline, &u.CreatedAt, &u.CompletedAt, &u.ReleasedAt, &u.RestoredAt)
		u.Version, u.UpdatedAt = 1, u.CreatedAt
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
	normalInstants(&c.Coupon.StartsAt, &c.Coupon.ExpiresAt, &c.Coupon.CreatedAt, &c.Coupon.UpdatedAt)
	return c
}

func normalInstants(instants ...*time.Time) {
	for _, t := range instants {
		*t = instant(*t)
	}
}

func instant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return calendar.Instant(t)
}
