package redemption

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/couponkit/couponkit/pricing"
)

// MaxIDLength is the maximum length of an ID or key, in bytes.
const MaxIDLength = 255

// IDPrefix is the beginning of every reservation ID that the service creates.
const IDPrefix = "rsv_"

// State is the state of a redemption (specification 3.2).
type State uint8

// The states.
const (
	Reserved  State = iota + 1 // the use is held for the customer
	Completed                  // the payment has arrived
	Released                   // the use is available again
)

// String returns "reserved", "completed" or "released". An unknown state returns "".
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

// ParseState returns the state whose name is text. Any other text is a
// [*pricing.ValidationError].
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

// UnmarshalText reads a name as [ParseState] does.
func (s *State) UnmarshalText(text []byte) (err error) {
	*s, err = ParseState(string(text))
	return err
}

// Origin tells how a redemption was created.
type Origin uint8

// The origins.
const (
	FromCheckout Origin = iota + 1 // by a checkout, together with the order
	FromPoints                     // by an exchange of points
	FromPayment                    // by a payment without a reservation
)

// String returns "checkout", "points" or "payment". An unknown origin returns "".
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

// ParseOrigin returns the origin whose name is text. Any other text is a
// [*pricing.ValidationError].
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

// UnmarshalText reads a name as [ParseOrigin] does.
func (o *Origin) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOrigin(string(text))
	return err
}

// PointsState tells what the ledger has done with the points of a redemption.
type PointsState uint8

// The states of the points. A state never returns to an earlier state.
const (
	NoPoints        PointsState = iota // the coupon costs no points
	PointsPending                      // not debited yet; the reservation cannot be used
	PointsDebited                      // debited
	PointsRefundDue                    // released; the ledger must refund points that it has debited
	PointsRefunded                     // refunded; nothing remains to be done
)

// String returns "none", "pending", "debited", "refund_due" or "refunded". An unknown
// state returns "".
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

// ParsePointsState returns the state whose name is text. Any other text is a
// [*pricing.ValidationError].
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

// UnmarshalText reads a name as [ParsePointsState] does.
func (p *PointsState) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePointsState(string(text))
	return err
}

// Redemption is one use of a coupon by a customer (specification 2.4). It contains no
// references, so copies are independent. Instants are in UTC, with microseconds.
type Redemption struct {
	// ID identifies the redemption. The processor's session carries it as
	// reservationId.
	ID string `json:"id"`
	// Key is the idempotency key of the reservation, unique for each customer.
	Key string `json:"key"`
	// CouponID is the coupon's ID. It stays the same when the coupon is deleted.
	CouponID string `json:"couponId"`
	// CustomerID is the customer for the limit per user.
	CustomerID string `json:"customerId"`
	// State is the current state.
	State State `json:"state"`
	// Origin tells how the redemption was created.
	Origin Origin `json:"origin"`
	// OrderID is the order that uses the reservation. It is empty for exchanged points
	// before a checkout.
	OrderID string `json:"orderId,omitempty"`
	// SessionID is the processor's session. It is empty before SessionAttached.
	SessionID string `json:"sessionId,omitempty"`
	// Points is the price in points. PointsState tells what the ledger has done with
	// the points.
	Points      int64       `json:"points,omitempty"`
	PointsState PointsState `json:"pointsState"`
	// AwaitingPayment is true while a delayed payment is on its way.
	AwaitingPayment bool `json:"awaitingPayment,omitempty"`
	// OverLimit is true if the payment arrived when no use was left.
	OverLimit bool `json:"overLimit,omitempty"`
	// Deadline is the first instant at which a sweep may release the reservation. Zero
	// means never.
	Deadline time.Time `json:"deadline,omitzero"`
	// LeavingUntil is the deadline of the [Leaving] event. Before LeavingUntil, an
	// expiry of the session does not release the reservation. Zero means no such event.
	LeavingUntil time.Time `json:"leavingUntil,omitzero"`
	// CreatedAt and UpdatedAt are always set. CompletedAt and ReleasedAt are set when
	// the redemption is completed or released.
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	ReleasedAt  time.Time `json:"releasedAt,omitzero"`
}

// Live reports whether the redemption is reserved.
func (r Redemption) Live() bool { return r.State == Reserved }

// Usable reports whether a checkout of the customer may use the reservation. The
// reservation must be live, its points must be debited, and no delayed payment may be
// on its way.
func (r Redemption) Usable() bool {
	return r.State == Reserved && !r.AwaitingPayment && (r.PointsState == NoPoints || r.PointsState == PointsDebited)
}

// RefundDue reports whether the ledger must refund points.
func (r Redemption) RefundDue() bool { return r.PointsState == PointsRefundDue }

// Counts returns what the redemption adds to the coupon's counts of completed and
// reserved uses. At most one of the results is 1; the others are 0.
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

// Equal reports whether r and s are the same. Instants may differ in their location.
func (r Redemption) Equal(s Redemption) bool {
	same := r.Deadline.Equal(s.Deadline) && r.LeavingUntil.Equal(s.LeavingUntil) &&
		r.CreatedAt.Equal(s.CreatedAt) && r.UpdatedAt.Equal(s.UpdatedAt) &&
		r.CompletedAt.Equal(s.CompletedAt) && r.ReleasedAt.Equal(s.ReleasedAt)
	s.Deadline, s.LeavingUntil, s.CreatedAt, s.UpdatedAt = r.Deadline, r.LeavingUntil, r.CreatedAt, r.UpdatedAt
	s.CompletedAt, s.ReleasedAt = r.CompletedAt, r.ReleasedAt
	return same && r == s
}

// Validate returns nil or a [*pricing.ValidationError] that lists every fault of the
// record.
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
