package redemption

import (
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// EventKind is what happens to a redemption.
type EventKind uint8

// The events.
const (
	// PointsExchanged: the ledger has debited the points.
	PointsExchanged EventKind = iota + 1
	// SessionAttached: the processor's session for the order was made.
	SessionAttached
	// TakenOver: another order of the same customer uses the reservation from now
	// on; the session before, if any, was expired at the processor first.
	TakenOver
	// SessionCompleted: the session was finished and paid.
	SessionCompleted
	// SessionUnpaid: the session was finished with a delayed payment method.
	SessionUnpaid
	// PaymentFailed: the delayed payment did not arrive.
	PaymentFailed
	// SessionExpired: the session ended unpaid.
	SessionExpired
	// Cancelled: the customer or the host gave the reservation up.
	Cancelled
	// Lapsed: the deadline has passed, and the processor knows of no payment.
	Lapsed
	// PointsGivenBack: the ledger has refunded the points.
	PointsGivenBack
	// PointsRefused: the ledger has refused to debit the points, or they are not to be debited
	// any more, since the coupon refuses by now. A reservation whose points are pending is
	// given up; one that another call has debited meanwhile is not, and the event is illegal.
	PointsRefused
	// Leaving: a checkout of the customer is about to end the session and to take the
	// reservation over. Until Deadline an expiry of the session does not release it; a
	// deadline of zero takes that back.
	Leaving
)

// String returns the name for messages.
func (k EventKind) String() string {
	names := [...]string{
		PointsExchanged: "points exchanged", SessionAttached: "session attached", TakenOver: "taken over",
		SessionCompleted: "session completed", SessionUnpaid: "session completed unpaid",
		PaymentFailed: "payment failed", SessionExpired: "session expired", Cancelled: "cancelled",
		Lapsed: "lapsed", PointsGivenBack: "points given back",
		PointsRefused: "points refused", Leaving: "leaving",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return ""
}

// Event is something that happens to a redemption at an instant.
type Event struct {
	Kind EventKind
	// At is when it happens, by the clock of the host. Every event that a store is told has
	// it; see [Event.Validate].
	At time.Time
	// SessionID is the session that the event speaks of. For Leaving and TakenOver it is
	// the session that the reservation leaves, and for Cancelled, Lapsed and PointsRefused
	// the one that the caller saw attached; empty when there was none.
	SessionID string
	// OrderID is the order that the event speaks of. For SessionAttached and the
	// events of a session it tells whose session it is; for TakenOver it is the new
	// order.
	OrderID string
	// Deadline is the new deadline, for SessionAttached and TakenOver, and for SessionUnpaid
	// if it is later than the one that the reservation has; for Leaving it is the instant by
	// which the reservation is taken over, or is not.
	Deadline time.Time
	// NoPlaceLeft tells, for SessionCompleted, that the limits leave no place for a
	// reservation that was released; the store finds out under its lock.
	NoPlaceLeft bool
}

// Validate refuses an event without an instant, with a [*pricing.ValidationError]: the record
// would tell that it happened, and not when. Stores call it on every event that they are told,
// to the microsecond, which they keep. What the event is about, Apply and the record decide.
func (e Event) Validate() error {
	if !e.At.IsZero() {
		return nil
	}
	var faults pricing.ValidationError
	faults.Add("at", pricing.FieldRequired, "an event has an instant")
	return faults.Err()
}

// OfSession reports whether the event is one that the processor tells of a session, which
// a store settles: SessionCompleted, SessionUnpaid, PaymentFailed or SessionExpired. A
// payment without its session is none, for nothing would tell it from another one; the
// other three may come without, of an order whose session never came to be.
func (e Event) OfSession() bool {
	switch e.Kind {
	case SessionCompleted:
		return e.SessionID != ""
	case SessionUnpaid, PaymentFailed, SessionExpired:
		return true
	case PointsExchanged, SessionAttached, TakenOver, Cancelled, Lapsed, PointsGivenBack, PointsRefused, Leaving:
	}
	return false
}

// Errors that a transition is refused with; [*TransitionError] wraps one.
var (
	// ErrIllegal: the event makes no sense in this state.
	ErrIllegal = errors.New("illegal transition")
	// ErrOtherSession: the reservation belongs to another session or order.
	ErrOtherSession = fmt.Errorf("%w: the reservation belongs to another session", ErrIllegal)
	// ErrNotLapsed: the deadline has not passed.
	ErrNotLapsed = fmt.Errorf("%w: the deadline has not passed", ErrIllegal)
)

// TransitionError tells which event was refused for which record.
type TransitionError struct {
	ID    string
	State State
	Kind  EventKind
	Cause error
}

// Error names record, state, event and cause.
func (e *TransitionError) Error() string {
	return fmt.Sprintf("redemption %s is %s, event %q: %v", e.ID, e.State, e.Kind, e.Cause)
}

// Unwrap returns the cause, which matches [ErrIllegal].
func (e *TransitionError) Unwrap() error { return e.Cause }

// Apply returns the record after the event. An event that changes nothing, because
// it happened before or came too late to matter, returns the record as it is; one
// that must not happen returns the record as it is and a [*TransitionError].
func Apply(r Redemption, e Event) (Redemption, error) {
	next, err := apply(r, e)
	if err != nil {
		return r, &TransitionError{ID: r.ID, State: r.State, Kind: e.Kind, Cause: err}
	}
	if next != r {
		next.UpdatedAt = e.At
	}
	return next, nil
}

func apply(r Redemption, e Event) (Redemption, error) {
	switch e.Kind {
	case PointsExchanged:
		return r.exchanged()
	case SessionAttached:
		return r.attached(e)
	case TakenOver:
		return r.takenOver(e)
	case SessionCompleted:
		return r.completed(e)
	case SessionUnpaid:
		return r.unpaid(e), nil
	case PaymentFailed:
		return r.failed(e), nil
	case SessionExpired:
		return r.expired(e), nil
	case Cancelled:
		return r.cancelled(e)
	case Lapsed:
		return r.lapsed(e)
	case PointsGivenBack:
		return r.refunded()
	case PointsRefused:
		return r.refused(e)
	case Leaving:
		return r.leaving(e)
	}
	return r, ErrIllegal
}

// concerns reports whether an event of a session is about this record: it names
// the attached session, or none is attached and it names the order. An event that
// names neither is about no record, also not about one that has neither.
func (r Redemption) concerns(e Event) bool {
	if r.SessionID != "" {
		return r.SessionID == e.SessionID
	}
	return r.OrderID == e.OrderID && (e.OrderID != "" || e.SessionID != "")
}

func (r Redemption) exchanged() (Redemption, error) {
	switch {
	case r.PointsState == PointsDebited:
		return r, nil
	case r.State != Reserved || r.PointsState != PointsPending:
		return r, ErrIllegal
	}
	r.PointsState = PointsDebited
	r.Deadline = time.Time{}
	return r, nil
}

func (r Redemption) attached(e Event) (Redemption, error) {
	switch {
	case e.SessionID == "":
		return r, ErrIllegal
	case r.SessionID == e.SessionID:
		return r, nil
	case r.SessionID != "" || r.OrderID != e.OrderID:
		return r, ErrOtherSession
	case r.State != Reserved:
		return r, ErrIllegal
	}
	r.SessionID, r.Deadline = e.SessionID, e.Deadline
	return r, nil
}

func (r Redemption) takenOver(e Event) (Redemption, error) {
	switch {
	case e.OrderID == "":
		return r, ErrIllegal
	case r.OrderID == e.OrderID:
		return r, nil
	case !r.Usable():
		return r, ErrIllegal
	case r.SessionID != e.SessionID:
		return r, ErrOtherSession
	}
	r.OrderID, r.SessionID, r.Deadline, r.LeavingUntil = e.OrderID, "", e.Deadline, time.Time{}
	return r, nil
}

// leaving marks the record for as long as the sweep leaves it alone.
func (r Redemption) leaving(e Event) (Redemption, error) {
	switch {
	case e.SessionID == "" || !r.Usable():
		return r, ErrIllegal
	case r.SessionID != e.SessionID:
		return r, ErrOtherSession
	}
	r.LeavingUntil = e.Deadline
	if !r.Deadline.IsZero() && r.Deadline.Before(e.Deadline) {
		r.Deadline = e.Deadline
	}
	return r, nil
}

func (r Redemption) completed(e Event) (Redemption, error) {
	switch {
	case e.SessionID == "":
		return r, ErrIllegal
	case !r.concerns(e):
		return r, ErrOtherSession
	case r.State == Completed:
		return r, nil
	}
	r.OverLimit = r.State == Released && e.NoPlaceLeft
	r.State, r.SessionID, r.CompletedAt = Completed, e.SessionID, e.At
	r.AwaitingPayment, r.Deadline, r.LeavingUntil, r.ReleasedAt = false, time.Time{}, time.Time{}, time.Time{}
	return r, nil
}

// unpaid waits longer. On a record that was released it changes nothing: should
// the payment arrive, it completes the record all the same.
func (r Redemption) unpaid(e Event) Redemption {
	if r.State != Reserved || e.SessionID == "" || !r.concerns(e) {
		return r
	}
	r.SessionID, r.AwaitingPayment, r.LeavingUntil = e.SessionID, true, time.Time{}
	if e.Deadline.After(r.Deadline) {
		r.Deadline = e.Deadline
	}
	return r
}

func (r Redemption) failed(e Event) Redemption {
	if r.State != Reserved || !r.concerns(e) {
		return r
	}
	return r.released(e)
}

// expired does not end a reservation whose customer has finished the session: such
// a session does not expire, and the delayed payment decides. Nor does it end one that
// is leaving the session: the checkout that takes it over has ended the session for
// that. Should the checkout never come, the reservation lapses when it should have.
func (r Redemption) expired(e Event) Redemption {
	if r.AwaitingPayment || r.State != Reserved || !r.concerns(e) {
		return r
	}
	if e.At.Before(r.LeavingUntil) {
		if r.Deadline.IsZero() || r.Deadline.After(r.LeavingUntil) {
			r.Deadline = r.LeavingUntil
		}
		return r
	}
	return r.released(e)
}

func (r Redemption) cancelled(e Event) (Redemption, error) {
	switch {
	case r.State == Released:
		return r, nil
	case r.State != Reserved:
		return r, ErrIllegal
	case r.SessionID != e.SessionID:
		return r, ErrOtherSession
	}
	return r.released(e), nil
}

// refused gives up what is still to be debited. Two calls may be at it at once: the points
// that the one found too few may have been enough for the other.
func (r Redemption) refused(e Event) (Redemption, error) {
	if r.State == Reserved && r.PointsState != PointsPending {
		return r, ErrIllegal
	}
	return r.cancelled(e)
}

func (r Redemption) lapsed(e Event) (Redemption, error) {
	switch {
	case r.State == Released:
		return r, nil
	case r.State != Reserved:
		return r, ErrIllegal
	case r.SessionID != e.SessionID:
		return r, ErrOtherSession
	case r.Deadline.IsZero() || e.At.Before(r.Deadline):
		return r, ErrNotLapsed
	}
	return r.released(e), nil
}

func (r Redemption) released(e Event) Redemption {
	r.State, r.ReleasedAt = Released, e.At
	r.AwaitingPayment, r.Deadline, r.LeavingUntil = false, time.Time{}, time.Time{}
	if r.SessionID == "" {
		r.SessionID = e.SessionID
	}
	if r.PointsState == PointsPending || r.PointsState == PointsDebited {
		r.PointsState = PointsRefundDue
	}
	return r
}

func (r Redemption) refunded() (Redemption, error) {
	switch r.PointsState {
	case PointsRefunded:
		return r, nil
	case PointsRefundDue:
		r.PointsState = PointsRefunded
		return r, nil
	case NoPoints, PointsPending, PointsDebited:
	}
	return r, ErrIllegal
}
