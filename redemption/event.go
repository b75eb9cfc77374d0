package redemption

import (
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// EventKind is what happens to an order or to a points reservation.
type EventKind uint8

// The events.
const (
	// SessionAttached: the processor's session for the order was made.
	SessionAttached EventKind = iota + 1
	// Paid: the session was finished and paid.
	Paid
	// PaymentPending: the session was finished with a delayed payment method.
	PaymentPending
	// PaymentFailed: the delayed payment did not arrive.
	PaymentFailed
	// SessionExpired: the session ended unpaid.
	SessionExpired
	// Cancelled: the customer or the host gave the order or the points reservation up.
	Cancelled
	// Lapsed: the deadline has passed, and the processor knows of no payment.
	Lapsed
	// PointsExchanged: the ledger has debited the points.
	PointsExchanged
	// PointsRefused: the ledger has refused to debit the points.
	PointsRefused
	// PointsGivenBack: the ledger has refunded the points.
	PointsGivenBack
)

var eventKinds = [...]string{
	SessionAttached: "session_attached", Paid: "paid", PaymentPending: "payment_pending",
	PaymentFailed: "payment_failed", SessionExpired: "session_expired", Cancelled: "cancelled", Lapsed: "lapsed",
	PointsExchanged: "points_exchanged", PointsRefused: "points_refused", PointsGivenBack: "points_given_back",
}

// String returns the event's name, in lower case with underscores.
func (k EventKind) String() string { return nameOf(eventKinds[:], k) }

// MarshalText returns the name.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// OfUse reports whether the event is about the points of a use.
func (k EventKind) OfUse() bool { return k >= PointsExchanged && k <= PointsGivenBack }

// Event is something that happens at an instant.
type Event struct {
	Kind EventKind
	// At is when it happens, by the clock of the host; required.
	At time.Time
	// OrderID names the order.
	OrderID string
	// UseID names the use, for the events of points, and for Cancelled and Lapsed of a
	// points reservation without an order.
	UseID string
	// SessionID is the session that the event speaks of. For Cancelled and Lapsed it is
	// the session that the caller saw attached; empty when there was none.
	SessionID string
	// SessionURL is where the customer pays, for SessionAttached.
	SessionURL string
	// Deadline is the new deadline, for SessionAttached, and for PaymentPending if it is
	// later than the order's.
	Deadline time.Time
}

// Validate refuses an event that no record can take, with a [*pricing.ValidationError].
func (e Event) Validate() error {
	var faults pricing.ValidationError
	if e.Kind.String() == "" {
		faults.Add("kind", pricing.FieldUnknown, "is no event")
	}
	instantFault(&faults, "at", e.At, true)
	instantFault(&faults, "deadline", e.Deadline, false)
	paid := e.Kind == Paid || e.Kind == SessionAttached || e.Kind == PaymentPending
	textFault(&faults, "sessionId", e.SessionID, MaxIDLength, paid)
	textFault(&faults, "sessionUrl", e.SessionURL, MaxMetadataLength, false)
	textFault(&faults, "useId", e.UseID, MaxIDLength, e.Kind.OfUse())
	ended := e.Kind == Cancelled || e.Kind == Lapsed
	if e.UseID != "" && !ended && !e.Kind.OfUse() {
		faults.Add("useId", pricing.FieldNotAllowed, "the event is one of an order")
	}
	named := e.Kind == SessionAttached || e.UseID == "" && (ended || e.SessionID == "")
	textFault(&faults, "orderId", e.OrderID, MaxIDLength, named && !e.Kind.OfUse())
	return faults.Err()
}

// Errors that an event is refused with; [*TransitionError] wraps one.
var (
	// ErrIllegal: the event makes no sense in this state.
	ErrIllegal = errors.New("illegal transition")
	// ErrOtherSession: the order has another session.
	ErrOtherSession = fmt.Errorf("%w: the order has another session", ErrIllegal)
	// ErrNotLapsed: the deadline has not passed.
	ErrNotLapsed = fmt.Errorf("%w: the deadline has not passed", ErrIllegal)
)

// TransitionError tells which event was refused for which record.
type TransitionError struct {
	// ID is the order's or the use's.
	ID    string
	State string
	Kind  EventKind
	Cause error
}

// Error names record, state, event and cause.
func (e *TransitionError) Error() string {
	return fmt.Sprintf("%s is %s, event %s: %v", e.ID, e.State, e.Kind, e.Cause)
}

// Unwrap returns the cause, which matches [ErrIllegal].
func (e *TransitionError) Unwrap() error { return e.Cause }
