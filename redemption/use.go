package redemption

import (
	"slices"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// UseIDPrefix begins the IDs of uses that the service makes.
const UseIDPrefix = "use_"

// State is where a use is in its life (specification 3.2).
type State uint8

// The states of a use.
const (
	Reserved  State = iota + 1 // claimed, not yet paid
	Completed                  // paid
	Released                   // given back
)

var states = [...]string{Reserved: "reserved", Completed: "completed", Released: "released"}

// String returns "reserved", "completed" or "released".
func (s State) String() string { return nameOf(states[:], s) }

// ParseState is the inverse of String.
func ParseState(text string) (State, error) { return parseName[State](states[:], text) }

// MarshalText returns the name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is [ParseState].
func (s *State) UnmarshalText(text []byte) (err error) {
	*s, err = ParseState(string(text))
	return err
}

// Origin tells how a use began.
type Origin uint8

// The origins.
const (
	FromCheckout Origin = iota + 1 // with an order
	FromPoints                     // by an exchange of points
	FromPayment                    // by a payment whose order the store did not know
)

var origins = [...]string{FromCheckout: "checkout", FromPoints: "points", FromPayment: "payment"}

// String returns "checkout", "points" or "payment".
func (o Origin) String() string { return nameOf(origins[:], o) }

// ParseOrigin is the inverse of String.
func ParseOrigin(text string) (Origin, error) { return parseName[Origin](origins[:], text) }

// MarshalText returns the name.
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText is [ParseOrigin].
func (o *Origin) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOrigin(string(text))
	return err
}

// PointsState tells how far the host's ledger is with the points of a use.
type PointsState uint8

// The states of points. They only move forward.
const (
	NoPoints        PointsState = iota // the use costs no points
	PointsPending                      // to be debited; the use cannot be checked out yet
	PointsDebited                      // debited
	PointsRefundDue                    // to be refunded, or closed if they were never debited
	PointsRefunded                     // refunded
	PointsPassedOn                     // another order of the customer has taken the use over
)

var pointsStates = [...]string{
	NoPoints: "none", PointsPending: "pending", PointsDebited: "debited", PointsRefundDue: "refund_due",
	PointsRefunded: "refunded", PointsPassedOn: "passed_on",
}

// String returns "none", "pending", "debited", "refund_due", "refunded" or "passed_on".
func (p PointsState) String() string { return nameOf(pointsStates[:], p) }

// ParsePointsState is the inverse of String.
func ParsePointsState(text string) (PointsState, error) {
	return parseName[PointsState](pointsStates[:], text)
}

// MarshalText returns the name.
func (p PointsState) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is [ParsePointsState].
func (p *PointsState) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePointsState(string(text))
	return err
}

// Use is one use of a coupon by a customer (specification 2.4).
type Use struct {
	// ID names the use.
	ID string `json:"id"`
	// CouponID stays when the coupon is deleted.
	CouponID string `json:"couponId"`
	// CustomerID is the customer's primary identity.
	CustomerID string `json:"customerId,omitempty"`
	// OrderID is the order that the use belongs to. It is empty for a points reservation
	// that no checkout has taken yet.
	OrderID string `json:"orderId,omitempty"`
	// Key is the idempotency key of an exchange of points, unique within the customer. It
	// is empty for other uses.
	Key string `json:"key,omitempty"`
	// ExchangeID names the exchange of points that the use was bought in: the ID of the
	// first use of that exchange. The host's ledger knows the exchange by it. It is empty
	// for other uses.
	ExchangeID string `json:"exchangeId,omitempty"`
	// State of the use.
	State State `json:"state"`
	// Origin tells how the use began.
	Origin Origin `json:"origin"`
	// Discount is what the coupon takes off the order, in minor units.
	Discount int64 `json:"discount"`
	// Points is what the exchange costs; PointsState tells how far the ledger is.
	Points      int64       `json:"points,omitempty"`
	PointsState PointsState `json:"pointsState"`
	// Claims are what the use holds while it is reserved or completed.
	Claims []Claim `json:"claims,omitempty"`
	// OverLimit tells that a late payment has forced a claim beyond its limit.
	OverLimit bool `json:"overLimit,omitempty"`
	// Deadline is the instant from which a points reservation without an order may be
	// given up; zero is never.
	Deadline time.Time `json:"deadline,omitzero"`
	// CreatedAt and UpdatedAt are always set, the others once it happened. All are
	// instants in UTC, to the microsecond.
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	ReleasedAt  time.Time `json:"releasedAt,omitzero"`
	// Version is 1 when the use is stored and grows by 1 with every change.
	Version int64 `json:"version"`
}

// IsZero reports whether u is no use.
func (u Use) IsZero() bool { return u.ID == "" }

// Clone returns a use that shares no memory with u.
func (u Use) Clone() Use {
	u.Claims = slices.Clone(u.Claims)
	return u
}

// Free reports whether a checkout of the customer can take the points reservation.
func (u Use) Free() bool {
	return u.State == Reserved && u.OrderID == "" && u.PointsState == PointsDebited
}

// Validate checks a use that is about to be stored. The error is a
// [*pricing.ValidationError] that names every fault.
func (u Use) Validate() error {
	var faults pricing.ValidationError
	textFault(&faults, "id", u.ID, MaxIDLength, true)
	textFault(&faults, "couponId", u.CouponID, MaxIDLength, true)
	textFault(&faults, "customerId", u.CustomerID, MaxIDLength, u.Origin != FromPayment)
	textFault(&faults, "orderId", u.OrderID, MaxIDLength, u.Origin != FromPoints)
	textFault(&faults, "key", u.Key, MaxIDLength, false)
	textFault(&faults, "exchangeId", u.ExchangeID, MaxIDLength, u.Origin == FromPoints)
	if u.State.String() == "" {
		faults.Add("state", pricing.FieldUnknown, "must be reserved, completed or released")
	}
	if u.Origin.String() == "" {
		faults.Add("origin", pricing.FieldUnknown, "must be checkout, points or payment")
	}
	if u.Discount < 0 {
		faults.Add("discount", pricing.FieldTooSmall, "must be at least 0")
	}
	instantFault(&faults, "createdAt", u.CreatedAt, true)
	instantFault(&faults, "deadline", u.Deadline, false)
	instantFault(&faults, "completedAt", u.CompletedAt, false)
	instantFault(&faults, "releasedAt", u.ReleasedAt, false)
	u.pointsFaults(&faults)
	claimFaults(&faults, u.Claims)
	return faults.Err()
}

func (u Use) pointsFaults(faults *pricing.ValidationError) {
	bought := u.Origin == FromPoints
	switch {
	case u.PointsState > PointsPassedOn:
		faults.Add("pointsState", pricing.FieldUnknown, "must be none, pending, debited, refund_due, refunded or passed_on")
	case bought && (u.Points < 1 || u.PointsState == NoPoints):
		faults.Add("points", pricing.FieldRequired, "an exchange costs at least 1 point")
	case !bought && (u.Points != 0 || u.PointsState != NoPoints || u.ExchangeID != ""):
		faults.Add("points", pricing.FieldNotAllowed, "only an exchange costs points")
	}
}

// Due reports whether a sweep has to look at the use at an instant: its points are to be
// refunded, or it is a points reservation without an order whose deadline is not after
// the instant.
func (u Use) Due(at time.Time) bool {
	lapsed := u.State == Reserved && u.OrderID == "" && !u.Deadline.IsZero() && !u.Deadline.After(at)
	return lapsed || u.PointsState == PointsRefundDue
}
