package redemption

import (
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/enum"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// UseIDPrefix is the prefix of the use IDs that couponkit.Service creates.
const UseIDPrefix = "use_"

// State is the state of a use (specification 3.2).
type State uint8

// These constants are the states of a use.
const (
	// Reserved means that the use holds its claims and its order is not paid yet.
	Reserved State = iota + 1
	// Completed means that the order of the use is paid.
	Completed
	// Released means that the use has given back its claims.
	Released
)

var states = enum.Names{Reserved: "reserved", Completed: "completed", Released: "released"}

// String returns "reserved", "completed" or "released".
func (s State) String() string { return states.Of(uint8(s)) }

// ParseState returns the State with the given name. For an unknown name, ParseState returns a
// [*validation.Error].
func ParseState(text string) (v State, err error) {
	err = v.UnmarshalText([]byte(text))
	return v, err
}

// MarshalText returns the same name as String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText works like [ParseState].
func (s *State) UnmarshalText(text []byte) error { return states.Parse(text, (*uint8)(s)) }

// Origin is how a use was created.
type Origin uint8

// These constants are the origins of a use.
const (
	// FromCheckout means that the use was created in a checkout.
	FromCheckout Origin = iota + 1
	// FromPoints means that the customer bought the use with points.
	FromPoints
	// FromPayment means that the use was recorded for a payment whose order was not in the
	// store.
	FromPayment
)

var origins = enum.Names{FromCheckout: "checkout", FromPoints: "points", FromPayment: "payment"}

// String returns "checkout", "points" or "payment".
func (o Origin) String() string { return origins.Of(uint8(o)) }

// MarshalText returns the same name as String.
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads a name that String returns. For another text, the error is a [*validation.Error].
func (o *Origin) UnmarshalText(text []byte) error { return origins.Parse(text, (*uint8)(o)) }

// PointsState shows whether the host's ledger has debited or refunded the points of a use.
type PointsState uint8

// These constants are the states of the points of a use.
const (
	// NoPoints means that the use costs no points.
	NoPoints PointsState = iota
	// PointsPending means that the points are not debited yet. A checkout cannot take the use
	// before the points are debited.
	PointsPending
	// PointsDebited means that the ledger has debited the points.
	PointsDebited
	// PointsRefundDue means that the ledger must refund the points. If the points were never
	// debited, the ledger must refuse to debit them later.
	PointsRefundDue
	// PointsRefunded means that the ledger has refunded the points.
	PointsRefunded
	// PointsPassedOn means that another order of the customer has taken over the points.
	PointsPassedOn
)

var pointsStates = enum.Names{
	NoPoints: "none", PointsPending: "pending", PointsDebited: "debited", PointsRefundDue: "refund_due",
	PointsRefunded: "refunded", PointsPassedOn: "passed_on",
}

// String returns "none", "pending", "debited", "refund_due", "refunded" or "passed_on".
func (p PointsState) String() string { return pointsStates.Of(uint8(p)) }

// ParsePointsState returns the PointsState with the given name. For an unknown name, ParsePointsState returns a
// [*validation.Error].
func ParsePointsState(text string) (v PointsState, err error) {
	err = v.UnmarshalText([]byte(text))
	return v, err
}

// MarshalText returns the same name as String.
func (p PointsState) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText works like [ParsePointsState].
func (p *PointsState) UnmarshalText(text []byte) error { return pointsStates.Parse(text, (*uint8)(p)) }

// Use is one use of a coupon by a customer (specification 2.4). A use without an order is a
// points reservation.
type Use struct {
	// ID is the ID of the use.
	ID string `json:"id"`
	// CouponID is the ID of the coupon, even if the coupon was deleted later.
	CouponID string `json:"couponId"`
	// Code is the code by which the coupon came, if it is known.
	Code coupon.Code `json:"code,omitzero"`
	// CustomerID is the ID of the customer.
	CustomerID string `json:"customerId,omitempty"`
	// OrderID is the ID of the order that contains the use. OrderID is empty for a points
	// reservation.
	OrderID string `json:"orderId,omitempty"`
	// Key is the idempotency key of an exchange of points. No two exchanges of a customer have
	// the same key. Key is empty for a use that was not created by an exchange.
	Key string `json:"key,omitempty"`
	// ExchangeID is the ID of the exchange of points that paid for the use. The host's ledger
	// uses the same ID. ExchangeID equals the ID of the first use in the exchange. ExchangeID is
	// empty if the use costs no points.
	ExchangeID string `json:"exchangeId,omitempty"`
	// State is the state of the use.
	State State `json:"state"`
	// Origin is how the use was created.
	Origin Origin `json:"origin"`
	// Discount is the amount that the coupon takes off the order, in minor units of Currency. Returned
	// is the part of it that refunds took back. Currency is zero if there is no quote.
	Discount int64            `json:"-"`
	Returned int64            `json:"-"`
	Currency pricing.Currency `json:"currency,omitzero"`
	// Points is the price of the use, in points. PointsState shows whether the ledger has
	// debited or refunded the points.
	Points      int64       `json:"points,omitempty"`
	PointsState PointsState `json:"pointsState"`
	// Claims are the claims of the use. The use holds the claims while it is reserved or
	// completed.
	Claims []eligibility.Claim `json:"claims,omitempty"`
	// Restore tells when a refund gives the use back. It is that of the coupon at the checkout.
	Restore coupon.Restore `json:"restoreOnRefund,omitzero"`
	// RestoredAt is when a refund gave the use back. It is zero before that.
	RestoredAt time.Time `json:"restoredAt,omitzero"`
	// OverLimit is true if the use was completed although a limit was exceeded.
	OverLimit bool `json:"overLimit,omitempty"`
	// Deadline is the first instant at which a Lapsed event may release a points reservation. If
	// Deadline is zero, the reservation cannot lapse.
	Deadline time.Time `json:"deadline,omitzero"`
	// CreatedAt and UpdatedAt are always set. CompletedAt is zero until the use is completed,
	// and ReleasedAt is zero until the use is released. All four times are in UTC, with
	// microsecond precision.
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	ReleasedAt  time.Time `json:"releasedAt,omitzero"`
	// Version is 1 when the use is first stored. Every change of the use increases Version by 1.
	Version int64 `json:"version"`
}

// IsZero reports whether the use has no ID.
func (u Use) IsZero() bool { return u.ID == "" }

// Clone returns a copy of the use that shares no memory with u. An empty list becomes nil.
func (u Use) Clone() Use {
	u.Claims = slices.Concat(u.Claims) // nil if empty
	return u
}

// Free reports whether the use is a points reservation that a checkout can take. A free
// reservation has no order yet, and its points are debited.
func (u Use) Free() bool {
	return u.State == Reserved && u.OrderID == "" && u.PointsState == PointsDebited
}

// Validate checks a use before it is stored. The error is a [*validation.Error] that
// lists every invalid field.
func (u Use) Validate() error {
	var faults validation.Error
	textFault(&faults, "id", u.ID, MaxIDLength, true)
	textFault(&faults, "couponId", u.CouponID, MaxIDLength, true)
	textFault(&faults, "customerId", u.CustomerID, MaxIDLength, u.Origin != FromPayment)
	textFault(&faults, "orderId", u.OrderID, MaxIDLength, u.Origin != FromPoints)
	textFault(&faults, "key", u.Key, MaxIDLength, false)
	textFault(&faults, "exchangeId", u.ExchangeID, MaxIDLength, u.Origin == FromPoints)
	if u.State.String() == "" {
		faults.Add("state", validation.Unknown, "must be reserved, completed or released")
	}
	if u.Origin.String() == "" {
		faults.Add("origin", validation.Unknown, "must be checkout, points or payment")
	}
	if u.Restore > coupon.RestoreNever {
		faults.Add("restoreOnRefund", validation.Unknown, "must be full, always or never")
	}
	if u.Discount < 0 {
		faults.Add("discount", validation.TooSmall, "must be at least 0")
	}
	if u.Returned < 0 || u.Returned > max(u.Discount, 0) {
		faults.Add("returned", validation.Mismatch, "must be at least 0 and at most the discount")
	}
	instantFault(&faults, "createdAt", u.CreatedAt, true)
	instantFault(&faults, "deadline", u.Deadline, false)
	instantFault(&faults, "completedAt", u.CompletedAt, false)
	instantFault(&faults, "releasedAt", u.ReleasedAt, false)
	instantFault(&faults, "restoredAt", u.RestoredAt, false)
	u.pointsFaults(&faults)
	claimFaults(&faults, u.Claims)
	return faults.Err()
}

func (u Use) pointsFaults(faults *validation.Error) {
	bought := u.Origin == FromPoints
	switch {
	case u.PointsState > PointsPassedOn:
		faults.Add("pointsState", validation.Unknown, "must be none, pending, debited, refund_due, refunded or passed_on")
	case bought && (u.Points < 1 || u.PointsState == NoPoints):
		faults.Add("points", validation.Required, "an exchange costs at least 1 point")
	case !bought && (u.Points != 0 || u.PointsState != NoPoints || u.ExchangeID != ""):
		faults.Add("points", validation.NotAllowed, "only an exchange costs points")
	}
}

// Due reports whether a sweep must process the use at the given instant. A use is due if its
// points must be refunded. A points reservation is also due if its Deadline has been reached.
func (u Use) Due(at time.Time) bool {
	lapsed := u.State == Reserved && u.OrderID == "" && !u.Deadline.IsZero() && !u.Deadline.After(at)
	return lapsed || u.PointsState == PointsRefundDue
}
