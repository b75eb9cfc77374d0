package redemption

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/couponkit/couponkit/pricing"
)

// MaxIDLength is the most bytes that an ID or key of a record has.
const MaxIDLength = 255

// IDPrefix begins the reservation IDs that the service makes.
const IDPrefix = "rsv_"

// State is where a redemption is in its life (specification 3.2).
type State uint8

// The states.
const (
	Reserved  State = iota + 1 // a place is kept
	Completed                  // the place was used and paid
	Released                   // the place is free again
)

// String returns "reserved", "completed" or "released".
func (s State) String() string {
	switch s {
	case Reserved:
		return "reserved"
	case Completed:
		return "completed"
	case Released:
		return "released"
	}
	return ""
}

// ParseState is the inverse of String.
func ParseState(text string) (State, error) {
	for s := Reserved; s <= Released; s++ {
		if s.String() == text {
			return s, nil
		}
	}
	return 0, unknown("must be reserved, completed or released")
}

// MarshalText returns the name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is [ParseState].
func (s *State) UnmarshalText(text []byte) (err error) {
	*s, err = ParseState(string(text))
	return err
}

// Origin tells how a reservation was made.
type Origin uint8

// The origins.
const (
	FromCheckout Origin = iota + 1 // with an order, before its payment session
	FromPoints                     // by exchanging points
	FromPayment                    // by a payment for which no reservation was found
)

// String returns "checkout", "points" or "payment".
func (o Origin) String() string {
	switch o {
	case FromCheckout:
		return "checkout"
	case FromPoints:
		return "points"
	case FromPayment:
		return "payment"
	}
	return ""
}

// ParseOrigin is the inverse of String.
func ParseOrigin(text string) (Origin, error) {
	for o := FromCheckout; o <= FromPayment; o++ {
		if o.String() == text {
			return o, nil
		}
	}
	return 0, unknown("must be checkout, points or payment")
}

// MarshalText returns the name.
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText is [ParseOrigin].
func (o *Origin) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOrigin(string(text))
	return err
}

// PointsState tells how far the ledger is with the points of a reservation.
type PointsState uint8

// The states of the points. They only move forward.
const (
	NoPoints        PointsState = iota // the coupon costs no points
	PointsPending                      // to be debited; the reservation cannot be used yet
	PointsDebited                      // debited
	PointsRefundDue                    // to be refunded (or, never debited, to be closed)
	PointsRefunded                     // refunded; nothing is left to do
)

// String returns "none", "pending", "debited", "refund_due" or "refunded".
func (p PointsState) String() string {
	switch p {
	case NoPoints:
		return "none"
	case PointsPending:
		return "pending"
	case PointsDebited:
		return "debited"
	case PointsRefundDue:
		return "refund_due"
	case PointsRefunded:
		return "refunded"
	}
	return ""
}

// ParsePointsState is the inverse of String.
func ParsePointsState(text string) (PointsState, error) {
	for p := NoPoints; p <= PointsRefunded; p++ {
		if p.String() == text {
			return p, nil
		}
	}
	return 0, unknown("must be none, pending, debited, refund_due or refunded")
}

// MarshalText returns the name.
func (p PointsState) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is [ParsePointsState].
func (p *PointsState) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePointsState(string(text))
	return err
}

// Redemption is one use of a coupon by a customer (specification 2.4). It is a
// value without references. Instants are UTC, to the microsecond.
type Redemption struct {
	// ID names the record; the processor's session carries it as reservationId.
	ID string `json:"id"`
	// Key makes reserving idempotent within one customer.
	Key string `json:"key"`
	// CouponID stays when the coupon is deleted.
	CouponID string `json:"couponId"`
	// CustomerID counts for the per-user limit.
	CustomerID string `json:"customerId"`
	// State of the record.
	State State `json:"state"`
	// Origin tells how the record came to be.
	Origin Origin `json:"origin"`
	// OrderID is the order that uses the reservation; empty for points that are not
	// in a checkout.
	OrderID string `json:"orderId,omitempty"`
	// SessionID is the processor's session; empty before one is attached.
	SessionID string `json:"sessionId,omitempty"`
	// Points that the reservation costs, and how far the ledger is with them.
	Points      int64       `json:"points,omitempty"`
	PointsState PointsState `json:"pointsState"`
	// AwaitingPayment tells that the customer has finished the session with a
	// delayed payment method; success or failure is still to come.
	AwaitingPayment bool `json:"awaitingPayment,omitempty"`
	// OverLimit tells that the payment arrived when no place was left.
	OverLimit bool `json:"overLimit,omitempty"`
	// Deadline is the instant from which the sweep may release a live reservation;
	// zero is never.
	Deadline time.Time `json:"deadline,omitzero"`
	// LeavingUntil tells that a checkout of the customer is about to take the live
	// reservation out of its session; until then an expiry of the session does not
	// release it. Zero, or in the past, is no such checkout.
	LeavingUntil time.Time `json:"leavingUntil,omitzero"`
	// CreatedAt and UpdatedAt are always set, the others once it happened.
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	ReleasedAt  time.Time `json:"releasedAt,omitzero"`
}

// Live reports whether the record keeps a place that is not yet used.
func (r Redemption) Live() bool { return r.State == Reserved }

// Usable reports whether a checkout of the customer may use the reservation: it is
// live, its points are paid, and no delayed payment is on its way.
func (r Redemption) Usable() bool {
	return r.State == Reserved && !r.AwaitingPayment && (r.PointsState == NoPoints || r.PointsState == PointsDebited)
}

// RefundDue reports whether the ledger still has to give points back.
func (r Redemption) RefundDue() bool { return r.PointsState == PointsRefundDue }

// Counts returns what the record adds to the coupon's completed and live counts:
// one of them 1, or both 0.
func (r Redemption) Counts() (completed, reserved int64) {
	switch r.State {
	case Completed:
		return 1, 0
	case Reserved:
		return 0, 1
	case Released:
	}
	return 0, 0
}

// Equal reports whether two records are the same, instants compared as instants.
func (r Redemption) Equal(s Redemption) bool {
	same := r.Deadline.Equal(s.Deadline) && r.LeavingUntil.Equal(s.LeavingUntil) &&
		r.CreatedAt.Equal(s.CreatedAt) && r.UpdatedAt.Equal(s.UpdatedAt) &&
		r.CompletedAt.Equal(s.CompletedAt) && r.ReleasedAt.Equal(s.ReleasedAt)
	s.Deadline, s.LeavingUntil, s.CreatedAt, s.UpdatedAt = r.Deadline, r.LeavingUntil, r.CreatedAt, r.UpdatedAt
	s.CompletedAt, s.ReleasedAt = r.CompletedAt, r.ReleasedAt
	return same && r == s
}

// Validate checks the record and returns a [*pricing.ValidationError] with all
// that is wrong with it.
func (r Redemption) Validate() error {
	var faults pricing.ValidationError
	for _, id := range [...]struct {
		field, value string
		required     bool
	}{
		{"id", r.ID, true},
		{"key", r.Key, true},
		{"couponId", r.CouponID, true},
		{"customerId", r.CustomerID, r.Origin != FromPayment},
		{"orderId", r.OrderID, r.Origin == FromCheckout},
		{"sessionId", r.SessionID, r.State == Completed},
	} {
		idFaults(&faults, id.field, id.value, id.required)
	}
	if r.State < Reserved || r.State > Released {
		faults.Add("state", pricing.FieldUnknown, "must be reserved, completed or released")
	}
	if r.Origin < FromCheckout || r.Origin > FromPayment {
		faults.Add("origin", pricing.FieldUnknown, "must be checkout, points or payment")
	}
	r.pointsFaults(&faults)
	if r.CreatedAt.IsZero() {
		faults.Add("createdAt", pricing.FieldRequired, "a record has an instant of creation")
	}
	return faults.Err()
}

func (r Redemption) pointsFaults(faults *pricing.ValidationError) {
	switch {
	case r.PointsState > PointsRefunded:
		faults.Add("pointsState", pricing.FieldUnknown, "must be none, pending, debited, refund_due or refunded")
	case r.Origin == FromPoints && (r.Points < 1 || r.PointsState == NoPoints):
		faults.Add("points", pricing.FieldRequired, "a reservation by points costs at least 1 point")
	case r.Origin != FromPoints && (r.Points != 0 || r.PointsState != NoPoints):
		faults.Add("points", pricing.FieldNotAllowed, "only a reservation by points costs points")
	}
}

func idFaults(faults *pricing.ValidationError, field, value string, required bool) {
	switch {
	case value == "" && required:
		faults.Add(field, pricing.FieldRequired, "an ID is required")
	case len(value) > MaxIDLength:
		faults.Add(field, pricing.FieldTooLong, fmt.Sprintf("an ID has at most %d bytes", MaxIDLength))
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		faults.Add(field, pricing.FieldMalformed, "an ID is valid UTF-8 text without NUL")
	}
}

func unknown(message string) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Code: pricing.FieldUnknown, Message: message}}}
}
