package redemption

import (
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// EventKind tells what happens to a [Redemption].
type EventKind uint8

// These constants are the valid values of EventKind.
const (
	// PointsExchanged means that the host's ledger has debited the points.
	PointsExchanged EventKind = iota + 1
	// SessionAttached means that the processor has created the session of the order.
	SessionAttached
	// TakenOver means that a different order of the same customer uses the reservation from now
	// on. The session of the previous order, if any, must already have expired at the processor.
	TakenOver
	// SessionCompleted means that the customer has finished and paid the session.
	SessionCompleted
	// SessionUnpaid means that the customer has chosen a delayed payment method.
	SessionUnpaid
	// PaymentFailed means that the delayed payment has failed.
	PaymentFailed
	// SessionExpired means that the session has ended without a payment.
	SessionExpired
	// Cancelled means that the customer or the host has canceled the reservation.
	Cancelled
	// Lapsed means that the reservation's deadline has passed and no payment has arrived at the
	// processor.
	Lapsed
	// PointsGivenBack means that the host's ledger has refunded the points.
	PointsGivenBack
	// PointsRefused means that the ledger will not debit the pending points. The event
	// PointsRefused releases the reservation. If another call has already debited the points,
	// Apply returns [ErrIllegal].
	PointsRefused
	// Leaving means that a new checkout is about to take over the reservation. Until the event's
	// Deadline, an expired session does not release the reservation. A Leaving event with a zero
	// Deadline ends this protection.
	Leaving
)

// String returns a short description of the event kind for messages, such as "session expired".
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

// Event is something that happens to a [Redemption].
type Event struct {
	Kind EventKind
	// At is the instant of the event, according to the host's clock. At is required.
	At time.Time
	// SessionID is the ID of the session that the event is about. For Leaving and TakenOver,
	// SessionID is the ID of the session that the reservation is leaving. For Cancelled, Lapsed
	// and PointsRefused, SessionID is the ID of the session that the caller has read from the
	// Redemption. An empty SessionID means that there is no session.
	SessionID string
	// OrderID is the ID of the order that the event is about. For TakenOver, OrderID is the ID of
	// the new order.
	OrderID string
	// Deadline is the reservation's new deadline for SessionAttached and TakenOver. SessionUnpaid
	// uses Deadline only if Deadline is later than the reservation's current deadline. For
	// Leaving, a session that expires before Deadline does not release the reservation.
	Deadline time.Time
	// NoPlaceLeft matters only if a SessionCompleted event concerns a released reservation. The
	// store sets NoPlaceLeft if no use within the coupon's limits is left.
	NoPlaceLeft bool
}

// Validate returns a [*pricing.ValidationError] if At is zero. [Apply] checks all other fields of
// the event.
func (e Event) Validate() error {
	if !e.At.IsZero() {
		return nil
	}
	var faults pricing.ValidationError
	faults.Add("at", pricing.FieldRequired, "an event has an instant")
	return faults.Err()
}

// OfSession reports whether the event is a report of the processor about a session. Such an event
// has the kind SessionCompleted, SessionUnpaid, PaymentFailed or SessionExpired. For a
// SessionCompleted event without a SessionID, OfSession returns false.
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

// [Apply] returns these errors wrapped in a [*TransitionError].
var (
	// ErrIllegal means that the state of the redemption does not allow the event.
	ErrIllegal = errors.New("illegal transition")
	// ErrOtherSession means that the reservation belongs to a different session or order than the
	// event. ErrOtherSession matches ErrIllegal.
	ErrOtherSession = fmt.Errorf("%w: the reservation belongs to another session", ErrIllegal)
	// ErrNotLapsed means that the deadline of the reservation has not passed. ErrNotLapsed
	// matches ErrIllegal.
	ErrNotLapsed = fmt.Errorf("%w: the deadline has not passed", ErrIllegal)
)

// TransitionError tells which event [Apply] refused for which redemption.
type TransitionError struct {
	// ID is the ID of the redemption.
	ID string
	// State is the state of the redemption before the event.
	State State
	// Kind is the kind of the event.
	Kind EventKind
	// Cause is the reason for the refusal. Cause always matches [ErrIllegal].
	Cause error
}

// Error returns a message that contains the fields ID, State, Kind and Cause.
func (e *TransitionError) Error() string {
	return fmt.Sprintf("redemption %s is %s, event %q: %v", e.ID, e.State, e.Kind, e.Cause)
}

// Unwrap returns the field Cause.
func (e *TransitionError) Unwrap() error { return e.Cause }

// Apply returns the redemption after the event. If the event is repeated or outdated, Apply
// returns the redemption unchanged. If the event is not allowed, Apply returns the unchanged
// redemption and a [*TransitionError].
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
