package redemption

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/couponkit/couponkit/pricing"
)

// MaxIDLength is the maximum length of an ID or an idempotency key, in bytes.
const MaxIDLength = 255

// IDPrefix is the beginning of every reservation ID that the service creates.
const IDPrefix = "rsv_"

// State is the state of a [Redemption] (specification 3.2).
type State uint8

// These constants are the valid values of State.
const (
	// Reserved means that the use of the coupon is held for the customer.
	Reserved State = iota + 1
	// Completed means that the payment has arrived.
	Completed
	// Released means that the use of the coupon is available again.
	Released
)

// String returns "reserved", "completed" or "released". For an unknown state, String returns the
// empty string.
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

// ParseState returns the state with the given name. If no state has this name, ParseState returns
// a [*pricing.ValidationError].
func ParseState(text string) (State, error) {
	for s := Reserved; s <= Released; s++ {
		if s.String() == text {
			return s, nil
		}
	}
	return 0, unknown("must be reserved, completed or released")
}

// MarshalText returns the name of the state, as [State.String] does.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name of the state, as [ParseState] does.
func (s *State) UnmarshalText(text []byte) (err error) {
	*s, err = ParseState(string(text))
	return err
}

// Origin tells how a [Redemption] was created.
type Origin uint8

// These constants are the valid values of Origin.
const (
	// FromCheckout means that a checkout created the redemption together with the order.
	FromCheckout Origin = iota + 1
	// FromPoints means that an exchange of points created the redemption.
	FromPoints
	// FromPayment means that a payment without a reservation created the redemption.
	FromPayment
)

// String returns "checkout", "points" or "payment". For an unknown origin, String returns the
// empty string.
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

// ParseOrigin returns the origin with the given name. If no origin has this name, ParseOrigin
// returns a [*pricing.ValidationError].
func ParseOrigin(text string) (Origin, error) {
	for o := FromCheckout; o <= FromPayment; o++ {
		if o.String() == text {
			return o, nil
		}
	}
	return 0, unknown("must be checkout, points or payment")
}

// MarshalText returns the name of the origin, as [Origin.String] does.
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the name of the origin, as [ParseOrigin] does.
func (o *Origin) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOrigin(string(text))
	return err
}

// PointsState tells what the host's ledger has done with the points of a [Redemption].
type PointsState uint8

// These constants are the valid values of PointsState. A redemption never returns to an earlier
// PointsState.
const (
	// NoPoints means that the coupon costs no points.
	NoPoints PointsState = iota
	// PointsPending means that the ledger has not debited the points yet. A reservation with
	// pending points cannot be used.
	PointsPending
	// PointsDebited means that the ledger has debited the points.
	PointsDebited
	// PointsRefundDue means that the reservation was released. If the ledger has debited the
	// points, the ledger must refund the points.
	PointsRefundDue
	// PointsRefunded means that the points are refunded. After the refund, nothing remains to be
	// done for the points.
	PointsRefunded
)

// String returns "none", "pending", "debited", "refund_due" or "refunded". For an unknown state,
// String returns the empty string.
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

// ParsePointsState returns the points state with the given name. If no points state has this
// name, ParsePointsState returns a [*pricing.ValidationError].
func ParsePointsState(text string) (PointsState, error) {
	for p := NoPoints; p <= PointsRefunded; p++ {
		if p.String() == text {
			return p, nil
		}
	}
	return 0, unknown("must be none, pending, debited, refund_due or refunded")
}

// MarshalText returns the name of the points state, as [PointsState.String] does.
func (p PointsState) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the name of the points state, as [ParsePointsState] does.
func (p *PointsState) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePointsState(string(text))
	return err
}

// Redemption is the record of one use of a coupon by a customer (specification 2.4). A Redemption
// contains no references, so copies are independent of each other. All instants in a Redemption
// are in UTC, with a precision of microseconds.
type Redemption struct {
	// ID identifies the redemption. The metadata of the processor's session contain ID under the
	// key reservationId.
	ID string `json:"id"`
	// Key is the idempotency key of the reservation. No two reservations of a customer have the
	// same Key.
	Key string `json:"key"`
	// CouponID is the ID of the coupon. CouponID stays the same when the coupon is deleted.
	CouponID string `json:"couponId"`
	// CustomerID is the ID of the customer. The coupon's limit per user counts redemptions by
	// CustomerID.
	CustomerID string `json:"customerId"`
	// State is the current state of the redemption.
	State State `json:"state"`
	// Origin tells how the redemption was created.
	Origin Origin `json:"origin"`
	// OrderID is the ID of the order that uses the reservation. If the customer has exchanged
	// points, OrderID is empty until a checkout uses the reservation.
	OrderID string `json:"orderId,omitempty"`
	// SessionID is the ID of the processor's payment session. SessionID is empty before the event
	// [SessionAttached].
	SessionID string `json:"sessionId,omitempty"`
	// Points is the price of the coupon in points. PointsState tells what the host's ledger has
	// done with the points.
	Points      int64       `json:"points,omitempty"`
	PointsState PointsState `json:"pointsState"`
	// AwaitingPayment is true while a delayed payment is on its way.
	AwaitingPayment bool `json:"awaitingPayment,omitempty"`
	// OverLimit is true if the payment arrived when no use of the coupon was left.
	OverLimit bool `json:"overLimit,omitempty"`
	// Deadline is the first instant at which a sweep of the service may release the reservation.
	// A zero Deadline means that no sweep may release the reservation.
	Deadline time.Time `json:"deadline,omitzero"`
	// LeavingUntil is the Deadline of the [Leaving] event. Before LeavingUntil, an expired
	// session does not release the reservation. A zero LeavingUntil means that there is no
	// Leaving event.
	LeavingUntil time.Time `json:"leavingUntil,omitzero"`
	// CreatedAt and UpdatedAt are always set. CompletedAt is set when the redemption is
	// completed. ReleasedAt is set when the redemption is released.
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	ReleasedAt  time.Time `json:"releasedAt,omitzero"`
}

// Live reports whether the redemption has the state [Reserved].
func (r Redemption) Live() bool { return r.State == Reserved }

// Usable reports whether a checkout of the customer may use the reservation. A usable reservation
// has the state [Reserved] and is not waiting for a delayed payment. If the reservation costs
// points, the ledger must have debited the points.
func (r Redemption) Usable() bool {
	return r.State == Reserved && !r.AwaitingPayment && (r.PointsState == NoPoints || r.PointsState == PointsDebited)
}

// RefundDue reports whether the ledger must refund the points of the redemption.
func (r Redemption) RefundDue() bool { return r.PointsState == PointsRefundDue }

// Counts returns how much the redemption adds to the coupon's counts of completed and reserved
// uses. For a completed redemption, the result completed is 1. For a reserved redemption, the
// result reserved is 1. All other results are 0.
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

// Equal reports whether the redemptions r and s are the same. The same instant in two time zones
// counts as equal.
func (r Redemption) Equal(s Redemption) bool {
	same := r.Deadline.Equal(s.Deadline) && r.LeavingUntil.Equal(s.LeavingUntil) &&
		r.CreatedAt.Equal(s.CreatedAt) && r.UpdatedAt.Equal(s.UpdatedAt) &&
		r.CompletedAt.Equal(s.CompletedAt) && r.ReleasedAt.Equal(s.ReleasedAt)
	s.Deadline, s.LeavingUntil, s.CreatedAt, s.UpdatedAt = r.Deadline, r.LeavingUntil, r.CreatedAt, r.UpdatedAt
	s.CompletedAt, s.ReleasedAt = r.CompletedAt, r.ReleasedAt
	return same && r == s
}

// Validate returns nil if the redemption is valid. Otherwise, Validate returns a
// [*pricing.ValidationError] that lists every invalid field.
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
