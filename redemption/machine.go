package redemption

import "time"

// After returns the order and its uses after an event. An event that changes nothing
// returns both as they are: it happened before, or came too late to matter. An event that
// must not happen is a [*TransitionError], and both are as they were.
//
// Paid wins over everything that came before it. The uses of a cancelled order become
// completed again; whoever keeps the counters sees from [Holdings] whether they still fit.
func (o Order) After(e Event, uses ...Use) (Order, []Use, error) {
	next, err := o.after(e)
	if err != nil {
		return o, uses, &TransitionError{ID: o.ID, State: o.State.String(), Kind: e.Kind, Cause: err}
	}
	if same(o, next) {
		return o, uses, nil
	}
	next.UpdatedAt, next.Version = later(e.At, o.UpdatedAt), o.Version+1
	changed := make([]Use, len(uses))
	for i, u := range uses {
		changed[i] = u.follow(next, e.At)
	}
	return next, changed, nil
}

func same(o, p Order) bool {
	return o.State == p.State && o.SessionID == p.SessionID && o.SessionURL == p.SessionURL && o.Deadline.Equal(p.Deadline)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (o Order) after(e Event) (Order, error) {
	if foreign := o.SessionID != "" && o.SessionID != e.SessionID; foreign {
		return o, ErrOtherSession
	}
	switch e.Kind {
	case SessionAttached:
		return o.attached(e)
	case Paid:
		return o.paid(e), nil
	case PaymentPending:
		return o.pending(e), nil
	case PaymentFailed:
		return o.cancelledUnless(o.State.Ended(), e), nil
	case SessionExpired: // a session that was finished does not expire: the payment decides
		return o.cancelledUnless(o.State != OrderOpen, e), nil
	case Cancelled:
		return o.givenUp(e)
	case Lapsed:
		return o.lapsed(e)
	case PointsExchanged, PointsRefused, PointsGivenBack:
	}
	return o, ErrIllegal
}

func (o Order) attached(e Event) (Order, error) {
	switch {
	case o.SessionID != "" && o.State == OrderCancelled, o.SessionID == "" && o.State != OrderOpen:
		return o, ErrIllegal
	case o.SessionID == "":
		o.SessionID, o.Deadline = e.SessionID, e.Deadline
	}
	o.SessionURL = e.SessionURL
	return o, nil
}

func (o Order) paid(e Event) Order {
	if o.State == OrderPaid {
		return o
	}
	o.State, o.SessionID, o.Deadline = OrderPaid, e.SessionID, time.Time{}
	return o
}

// pending waits longer. A cancelled order stays so: should the payment arrive, it is paid
// all the same.
func (o Order) pending(e Event) Order {
	if o.State.Ended() {
		return o
	}
	o.State, o.SessionID, o.Deadline = OrderAwaitingPayment, e.SessionID, later(e.Deadline, o.Deadline)
	return o
}

func (o Order) cancelledUnless(stays bool, e Event) Order {
	if stays {
		return o
	}
	if o.SessionID == "" {
		o.SessionID = e.SessionID
	}
	o.State, o.Deadline = OrderCancelled, time.Time{}
	return o
}

func (o Order) givenUp(e Event) (Order, error) {
	switch o.State {
	case OrderOpen:
		return o.cancelledUnless(false, e), nil
	case OrderCancelled:
		return o, nil
	case OrderAwaitingPayment, OrderPaid:
	}
	return o, ErrIllegal
}

func (o Order) lapsed(e Event) (Order, error) {
	switch {
	case o.State == OrderCancelled:
		return o, nil
	case o.State == OrderPaid:
		return o, ErrIllegal
	case o.Deadline.IsZero() || e.At.Before(o.Deadline):
		return o, ErrNotLapsed
	}
	return o.cancelledUnless(false, e), nil
}

// Replace returns the order and its uses after another order of the customer has taken
// their claims over. Only an open order can be replaced; another one is a
// [*TransitionError].
func (o Order) Replace(by string, at time.Time, uses ...Use) (Order, []Use, error) {
	if o.State != OrderOpen {
		return o, uses, &TransitionError{ID: o.ID, State: o.State.String(), Kind: Cancelled, Cause: ErrIllegal}
	}
	o.State, o.ReplacedBy, o.Deadline = OrderCancelled, by, time.Time{}
	o.UpdatedAt, o.Version = later(at, o.UpdatedAt), o.Version+1
	replaced := make([]Use, len(uses))
	for i, u := range uses {
		replaced[i] = u.PassOn(at)
	}
	return o, replaced, nil
}

// Resume returns the order and its uses after a payment for it is on its way although another
// order has replaced it: it holds its claims again. Only a replaced order can be resumed, and
// only by PaymentPending; everything else is a [*TransitionError].
func (o Order) Resume(e Event, uses ...Use) (Order, []Use, error) {
	refused := TransitionError{ID: o.ID, State: o.State.String(), Kind: e.Kind, Cause: ErrIllegal}
	if o.State != OrderCancelled || o.ReplacedBy == "" || e.Kind != PaymentPending {
		return o, uses, &refused
	}
	if o.SessionID != "" && o.SessionID != e.SessionID {
		refused.Cause = ErrOtherSession
		return o, uses, &refused
	}
	o.State = OrderOpen
	return o.After(e, uses...)
}

// PassOn returns the use after another order has taken its claims and points over.
func (u Use) PassOn(at time.Time) Use {
	if u.State != Reserved {
		return u
	}
	u.State, u.ReleasedAt = Released, at
	if u.PointsState == PointsDebited {
		u.PointsState = PointsPassedOn
	}
	return u.changed(at)
}

// follow brings a use to the state of its order.
func (u Use) follow(o Order, at time.Time) Use {
	state := o.State.holds()
	if u.State == state {
		return u
	}
	switch state {
	case Completed:
		u.State, u.CompletedAt, u.ReleasedAt = Completed, at, time.Time{}
		return u.changed(at)
	case Released:
		return u.released(at)
	case Reserved: // the order was resumed
		u.State, u.ReleasedAt = Reserved, time.Time{}
		return u.changed(at)
	}
	return u
}

func (u Use) released(at time.Time) Use {
	u.State, u.ReleasedAt, u.Deadline = Released, at, time.Time{}
	if u.PointsState == PointsPending || u.PointsState == PointsDebited {
		u.PointsState = PointsRefundDue
	}
	return u.changed(at)
}

func (u Use) changed(at time.Time) Use {
	u.UpdatedAt, u.Version = later(at, u.UpdatedAt), u.Version+1
	return u
}

// After returns the use after an event of its points, or after a points reservation
// without an order was cancelled or has lapsed. An event that changes nothing returns the
// use as it is; one that must not happen is a [*TransitionError].
func (u Use) After(e Event) (Use, error) {
	next, err := u.after(e)
	if err != nil {
		return u, &TransitionError{ID: u.ID, State: u.State.String(), Kind: e.Kind, Cause: err}
	}
	return next, nil
}

func (u Use) after(e Event) (Use, error) {
	switch e.Kind {
	case PointsExchanged:
		return u.exchanged(e.At)
	case PointsRefused:
		return u.refused(e.At)
	case PointsGivenBack:
		return u.givenBack(e.At)
	case Cancelled:
		return u.givenUp(e.At)
	case Lapsed:
		if u.State == Reserved && (u.Deadline.IsZero() || e.At.Before(u.Deadline)) {
			return u, ErrNotLapsed
		}
		return u.givenUp(e.At)
	case SessionAttached, Paid, PaymentPending, PaymentFailed, SessionExpired:
	}
	return u, ErrIllegal
}

func (u Use) exchanged(at time.Time) (Use, error) {
	switch {
	case u.PointsState == PointsDebited:
		return u, nil
	case u.State != Reserved || u.PointsState != PointsPending:
		return u, ErrIllegal
	}
	u.PointsState, u.Deadline = PointsDebited, time.Time{}
	return u.changed(at), nil
}

// refused gives up what is still to be debited. Two calls may exchange at once: the points
// that one of them found too few may have been enough for the other.
func (u Use) refused(at time.Time) (Use, error) {
	if u.State == Reserved && u.PointsState != PointsPending {
		return u, ErrIllegal
	}
	return u.givenUp(at)
}

func (u Use) givenUp(at time.Time) (Use, error) {
	switch {
	case u.State == Released:
		return u, nil
	case u.State != Reserved || u.OrderID != "":
		return u, ErrIllegal
	}
	return u.released(at), nil
}

func (u Use) givenBack(at time.Time) (Use, error) {
	switch u.PointsState {
	case PointsRefunded:
		return u, nil
	case PointsRefundDue:
		u.PointsState = PointsRefunded
		return u.changed(at), nil
	case NoPoints, PointsPending, PointsDebited, PointsPassedOn:
	}
	return u, ErrIllegal
}
