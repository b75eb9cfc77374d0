package redemption

import (
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/internal/enum"
	"github.com/couponkit/couponkit/validation"
)

// EventKind is the kind of an [Event].
type EventKind uint8

// These constants are the kinds of events.
const (
	// SessionAttached means that the processor has created a payment session for the order.
	SessionAttached EventKind = iota + 1
	// Paid means that the payment for the order has arrived.
	Paid
	// PaymentPending means that the customer finished the payment session with a delayed payment
	// method.
	PaymentPending
	// PaymentFailed means that a delayed payment failed.
	PaymentFailed
	// SessionExpired means that the payment session ended without a payment.
	SessionExpired
	// Cancelled means that the customer or the host cancelled the order or the points
	// reservation.
	Cancelled
	// Lapsed means that the deadline has passed and the processor knows of no payment.
	Lapsed
	// PointsExchanged means that the host's ledger has debited the points.
	PointsExchanged
	// PointsRefused means that the host's ledger has refused to debit the points.
	PointsRefused
	// PointsGivenBack means that the host's ledger has refunded the points.
	PointsGivenBack
	// Refunded means that a part of a paid order, or everything, is refunded.
	Refunded
	// Reported means that the processor has reported refunds or disputes of the payment.
	Reported
	// PaymentBegun means that a payment for the order is going to be created.
	PaymentBegun
	// PaymentEnded means that the payment of the order can no longer be paid, or does not exist. Unlike
	// SessionExpired, PaymentEnded leaves an open order without a session open until its deadline.
	PaymentEnded
	// PaymentOpened means that the customer can pay, also if nobody has asked the processor for the
	// payment.
	PaymentOpened
)

var eventKinds = enum.Names{
	SessionAttached: "session_attached", Paid: "paid", PaymentPending: "payment_pending",
	PaymentFailed: "payment_failed", SessionExpired: "session_expired", Cancelled: "cancelled", Lapsed: "lapsed",
	PointsExchanged: "points_exchanged", PointsRefused: "points_refused", PointsGivenBack: "points_given_back",
	Refunded: "refunded", Reported: "reported", PaymentBegun: "payment_begun", PaymentEnded: "payment_ended",
	PaymentOpened: "payment_opened",
}

// String returns the name of the event kind, such as "session_attached".
func (k EventKind) String() string { return eventKinds.Of(uint8(k)) }

// MarshalText returns the same name as String.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// OfUse reports whether the event concerns the points of a use.
func (k EventKind) OfUse() bool { return k >= PointsExchanged && k <= PointsGivenBack }

// Event describes something that happened to an order or to a points reservation.
type Event struct {
	// Kind says what happened. Kind is required.
	Kind EventKind
	// At is when the event happened, by the clock of the host. At is required.
	At time.Time
	// OrderID is the ID of the order. A SessionAttached event needs an OrderID. A Cancelled or
	// Lapsed event needs an OrderID or a UseID. A PaymentFailed or SessionExpired event needs an
	// OrderID or a SessionID.
	OrderID string
	// UseID is the ID of the use. UseID is required for events about points. UseID also
	// identifies a points reservation in a Cancelled or Lapsed event. In the events of an order,
	// UseID must be empty.
	UseID string
	// SessionID is the ID of the payment session. SessionID is required for SessionAttached,
	// PaymentOpened, Paid, PaymentPending and Reported events. If the order already has a session, the event must have
	// the same SessionID, except for Paid events and for Reported events about Order.OtherPayments. A
	// Paid or PaymentPending event that names an OrderID may leave out the SessionID. It is then about the
	// payment that the order has. A PaymentEnded event without a SessionID tells that nobody has found a
	// payment of an order without a session.
	SessionID string
	// SessionURL is the address of the payment page. Only SessionAttached uses SessionURL.
	SessionURL string
	// Deadline is the order's new deadline. Only SessionAttached and PaymentPending use
	// Deadline. A PaymentPending event never moves the deadline to an earlier time. If the order waits for the
	// payment already, PaymentPending moves the deadline only after it has passed.
	Deadline time.Time
	// Learned are further identities of the customer that the payment has shown, such as the
	// address that the payer entered. [EmailIdentity] and [AliasIdentity] return identities.
	// Only a Paid event may have Learned, with at most [MaxLearned] entries.
	Learned []string
	// Charge is what the processor has charged. Only a Paid event may have a Charge.
	Charge Charge
	// Refund is the request of a Refunded event. Other events have no Refund.
	Refund RefundRequest
	// Report is what the processor tells in a Reported event. Other events have no Report.
	Report Report
	// PaymentOver tells that the caller has ended the payment in SessionID, or knows that there is
	// none. Only Cancelled and Lapsed use it. Without it, an order whose payment was begun is ending,
	// and SessionID is ignored.
	PaymentOver bool
	// BegunBy is when the payment was begun, at the latest, that the event tells of. The events
	// PaymentEnded, SessionExpired, Cancelled and Lapsed use it if they name no session. An order without
	// a session whose payment was begun later stays as it is: the payment may be created right now.
	BegunBy time.Time
	// AskedAt is the version of the order when somebody began to ask for what the event tells. It is 0
	// if nobody has asked. Only PaymentPending uses it.
	AskedAt int64
}

// Validate checks the fields of the event. The error is a [*validation.Error] that lists
// every invalid field.
func (e Event) Validate() error {
	var faults validation.Error
	if e.Kind.String() == "" {
		faults.Add("kind", validation.Unknown, "is no event")
	}
	instantFault(&faults, "at", e.At, true)
	instantFault(&faults, "deadline", e.Deadline, false)
	paid := e.Kind == SessionAttached || e.Kind == PaymentOpened || e.OrderID == "" && (e.Kind == Paid || e.Kind == PaymentPending || e.Kind == Reported)
	textFault(&faults, "sessionId", e.SessionID, MaxIDLength, paid)
	textFault(&faults, "sessionUrl", e.SessionURL, MaxMetadataLength, false)
	textFault(&faults, "useId", e.UseID, MaxIDLength, e.Kind.OfUse())
	ended := e.Kind == Cancelled || e.Kind == Lapsed
	if e.UseID != "" && !ended && !e.Kind.OfUse() {
		faults.Add("useId", validation.NotAllowed, "the event is one of an order")
	}
	named := e.Kind == SessionAttached || e.Kind == Refunded || e.Kind == PaymentBegun || e.UseID == "" && (ended || e.SessionID == "")
	textFault(&faults, "orderId", e.OrderID, MaxIDLength, named && !e.Kind.OfUse())
	e.learnedFaults(&faults)
	e.Charge.faults(&faults)
	if e.Kind != Paid && !e.Charge.IsZero() {
		faults.Add("charge", validation.NotAllowed, "only a payment charges")
	}
	e.refundFaults(&faults)
	e.reportFaults(&faults)
	return faults.Err()
}

// A [*TransitionError] wraps one of these errors or [ErrOtherRefund]. ErrOtherSession and ErrNotLapsed match
// ErrIllegal, too.
var (
	// ErrIllegal means that the event is not allowed in the current state of the order or the
	// use.
	ErrIllegal = errors.New("illegal transition")
	// ErrOtherSession means that the event belongs to a different payment session than the
	// order.
	ErrOtherSession = fmt.Errorf("%w: the order has another session", ErrIllegal)
	// ErrDeadline means that the deadline of the order has passed.
	ErrDeadline = fmt.Errorf("%w: the deadline has passed", ErrIllegal)
	// ErrNotLapsed means that a Lapsed event came before the deadline, or that there is no
	// deadline.
	ErrNotLapsed = fmt.Errorf("%w: the deadline has not passed", ErrIllegal)
)

// TransitionError reports an event that is not allowed for an order or a use.
type TransitionError struct {
	// ID and State describe the order or the use. Kind is the kind of the event. Cause is
	// [ErrIllegal], [ErrOtherSession], [ErrDeadline], [ErrNotLapsed] or
	// [ErrOtherRefund].
	ID    string
	State string
	Kind  EventKind
	Cause error
}

// Error returns a text with the ID, the state, the event and the cause.
func (e *TransitionError) Error() string {
	return fmt.Sprintf("%s is %s, event %s: %v", e.ID, e.State, e.Kind, e.Cause)
}

// Unwrap returns the cause. Every cause matches [ErrIllegal].
func (e *TransitionError) Unwrap() error { return e.Cause }
