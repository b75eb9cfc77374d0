package store

import (
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// Validate checks that the record is at the beginning of its life and that the
// order beside it is its own: a checkout has one, and both agree on what they
// share. What is wrong is a [*pricing.ValidationError], the record's fields by their
// names and the order's under order. Stores call it before they look at anything
// else, on the values as they will be kept.
func (r Reservation) Validate() error {
	var faults pricing.ValidationError
	record := &r.Redemption
	faults.Merge("", record.Validate())
	if record.State != redemption.Reserved || record.OverLimit || record.AwaitingPayment ||
		!record.LeavingUntil.IsZero() || !record.CompletedAt.IsZero() || !record.ReleasedAt.IsZero() {
		faults.Add("state", pricing.FieldMismatch, "a reservation begins reserved")
	}
	if record.PointsState > redemption.PointsPending {
		faults.Add("pointsState", pricing.FieldMismatch, "points are debited after a reservation has begun")
	}
	switch o := r.Order; {
	case o == nil && record.Origin == redemption.FromCheckout:
		faults.Add("order", pricing.FieldRequired, "a checkout has an order")
	case o != nil:
		faults.Merge("order", o.Validate())
		if o.ID != record.OrderID || o.ReservationID != record.ID || o.CouponID != record.CouponID ||
			o.CustomerID != record.CustomerID || o.Key != record.Key {
			faults.Add("order", pricing.FieldMismatch, "the order is not that of the redemption")
		}
	}
	return faults.Err()
}

// Validate checks the order and that the change has an instant. What is wrong is a
// [*pricing.ValidationError], the order's fields under order. Stores call it before they
// look at anything else, on the values as they will be kept.
func (t TakeOver) Validate() error {
	var faults pricing.ValidationError
	faults.Merge("order", t.Order.Validate())
	instantFault(&faults, t.At)
	return faults.Err()
}

// Validate checks that the session can be kept and that the change has an instant. What is
// wrong is a [*pricing.ValidationError]. Stores call it on the values as they will be kept.
func (a Attachment) Validate() error {
	var faults pricing.ValidationError
	textFaults(&faults, "sessionId", a.SessionID, redemption.MaxIDLength)
	if a.SessionID == "" {
		faults.Add("sessionId", pricing.FieldRequired, "a session has an ID")
	}
	textFaults(&faults, "sessionUrl", a.SessionURL, MaxMetadataLength)
	instantFault(&faults, a.At)
	return faults.Err()
}

// instantFault refuses a change without an instant: the record would tell that it happened,
// and not when.
func instantFault(faults *pricing.ValidationError, at time.Time) {
	if at.IsZero() {
		faults.Add("at", pricing.FieldRequired, "a change has an instant")
	}
}
