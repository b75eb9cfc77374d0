package redemption

import "time"

// After applies an event to an order and all of its uses, and returns them in their new states.
// If the event was applied before or arrived too late, After returns the order and the uses
// unchanged. If the event is not allowed, After also returns a [*TransitionError].
//
// After accepts a payment of the order's session in every state, even after the order was
// cancelled. If a cancelled order is paid, its uses become completed. After does not check
// limits, so a late payment may exceed a limit. The caller can compare the [Holdings] with the
// limits.
//
// A payment in another session than that of the order is recorded in OtherPayments. It pays the order
// if nothing else has.
//
// A Refunded event records a refund. A repeated key changes nothing, unless the repayment has failed;
// it then begins again. If the request does not fit the order's quote, After returns the
// [*validation.Error] of [pricing.Quote.Refund].
//
// A Reported event records what the processor tells about a paid order. The states of refunds never
// go back, so that reports may come in any order.
//
// A payment may add claims for the identities in Learned. These claims follow the claims that the
// order and its uses had before. After adds them even if the order is already paid.
func (o Order) After(e Event, uses ...Use) (Order, []Use, error) {
	next, err := o.after(e)
	if invalidRefund(err) {
		return o, uses, err
	}
	if err != nil {
		return o, uses, &TransitionError{ID: o.ID, State: o.State.String(), Kind: e.Kind, Cause: err}
	}
	if next.State != OrderOpen || !next.BegunAt.IsZero() {
		next = next.withoutKept()
	}
	own := len(next.Claims)
	next.Claims = e.learn(o.CustomerID, next.Claims)
	grown, refunded := len(next.Claims) > own, len(next.Refunds) > len(o.Refunds)
	changed := make([]Use, len(uses))
	for i, u := range uses {
		changed[i] = u.follow(next, e)
		if refunded {
			changed[i] = changed[i].refund(next, e.At)
		}
		grown = grown || len(changed[i].Claims) > len(u.Claims)
	}
	if same(o, next) && !grown && SameMoney(o, next) {
		return o, uses, nil
	}
	next.UpdatedAt, next.Version = later(e.At, o.UpdatedAt), o.Version+1
	return next, changed, nil
}

func same(o, p Order) bool {
	return o.State == p.State && o.SessionID == p.SessionID && o.SessionURL == p.SessionURL && o.Deadline.Equal(p.Deadline) &&
		o.BegunAt.Equal(p.BegunAt) && o.Asks == p.Asks
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (o Order) after(e Event) (Order, error) {
	if o.SessionID != "" && o.SessionID != e.SessionID && !e.ofAnySession() {
		return o.afterOther(e)
	}
	switch e.Kind {
	case Refunded:
		return o.refunded(e)
	case PaymentBegun:
		return o.begun(e)
	case PaymentEnded:
		return o.paymentEnded(e), nil
	case SessionAttached:
		return o.attached(e)
	case PaymentOpened:
		return o.opened(e), nil
	case Paid:
		return o.paid(e), nil
	case PaymentPending:
		return o.pending(e), nil
	case PaymentFailed:
		return o.ended(o.State.Ended(), e), nil
	case SessionExpired: // a completed session cannot expire: its payment decides
		return o.ended(o.State == OrderAwaitingPayment || o.State.Ended() || o.mayBeCreated(e), e), nil
	case Cancelled:
		return o.givenUp(e)
	case Lapsed:
		return o.lapsed(e)
	case Reported:
		return o.reported(e)
	case PointsExchanged, PointsRefused, PointsGivenBack:
	}
	return o, ErrIllegal
}

// ofAnySession reports whether the event belongs to its order whatever session the order has.
func (e Event) ofAnySession() bool {
	switch e.Kind { //nolint:exhaustive // the others name a session
	case Refunded, PaymentBegun:
		return true
	case Cancelled, Lapsed:
		return !e.PaymentOver
	case Paid, PaymentPending, Reported:
		return e.SessionID == ""
	}
	return false
}

// begun marks an open order before its payment is created. A repeated event marks it again, because
// another call may create the payment. Each mark is later than the one before, even if the clock stands
// still. A call can therefore see whether another call has begun after it.
func (o Order) begun(e Event) (Order, error) {
	switch {
	case o.State != OrderOpen:
		return o, ErrIllegal
	case !o.Deadline.IsZero() && !e.At.Before(o.Deadline):
		return o, ErrDeadline
	case o.SessionID != "":
		return o, nil // the payment already exists
	case !o.BegunAt.IsZero():
		o.BegunAt = o.BegunAt.Add(time.Microsecond)
	}
	o.BegunAt = later(e.At, o.BegunAt)
	return o, nil
}

// mayBeCreated reports whether an unknown payment may exist. The order began it after the payment that,
// by the event, does not exist.
func (o Order) mayBeCreated(e Event) bool {
	return o.begunSession() == "" && o.BegunAt.After(e.BegunBy)
}

// paymentEnded records that the payment has ended or does not exist. A payment that began after
// e.BegunBy may still exist, and so may a payment whose session became known since. An open order
// without a session stays open until its deadline.
func (o Order) paymentEnded(e Event) Order {
	lapsed := !o.Deadline.IsZero() && !e.At.Before(o.Deadline)
	switch {
	case o.mayBeCreated(e):
	case o.State == OrderOpen && !lapsed && o.SessionID == "":
		o.BegunAt = time.Time{} // it does not exist, and a later call may create it
	case o.unanswered() || o.State == OrderOpen:
		return o.ended(o.State.Ended(), e)
	}
	return o
}

// afterOther applies an event of a session that is not the order's session.
func (o Order) afterOther(e Event) (Order, error) {
	switch e.Kind { //nolint:exhaustive // the others are about the order's own session
	case Paid:
		return o.paidElsewhere(e)
	case Reported:
		return o.reportedElsewhere(e)
	case PaymentEnded, PaymentFailed, SessionExpired:
		if o.State.Paid() && !o.BegunAt.IsZero() && o.begunSession() == e.SessionID {
			if o.mayBeCreated(e) {
				return o, nil
			}
			o.BegunAt = time.Time{}
			return o.due(e.At), nil
		}
	}
	return o, ErrOtherSession
}

func (o Order) attached(e Event) (Order, error) {
	switch {
	case o.SessionID != "" && o.State == OrderCancelled, o.SessionID == "" && o.State != OrderOpen:
		return o, ErrIllegal
	case o.BegunAt.IsZero() && o.Awaits != "":
		return o, ErrIllegal
	case o.SessionID == "", o.State == OrderOpen && o.SessionURL == "": // the session is unknown, or known only from a PaymentOpened event
		o.SessionID, o.Deadline = e.SessionID, e.Deadline
	}
	if o.State == OrderOpen && o.BegunAt.IsZero() {
		o.BegunAt = e.At
	}
	o.SessionURL = e.SessionURL
	return o, nil
}

// opened records that a payment of the order can be paid. If the order has ended, the end of the
// payment is due. An order that waits for the end of another payment does not change.
func (o Order) opened(e Event) Order {
	waits := o.BegunAt.IsZero() && o.Awaits != "" && !o.State.Ended()
	if o.SessionID != "" && o.Asks == 0 || o.State.Paid() || waits {
		return o
	}
	o.SessionID = e.SessionID
	if o.BegunAt.IsZero() {
		o.BegunAt = e.At
	}
	if o.State.Ended() {
		o.Deadline = e.At.Add(DueRetry)
	}
	return o
}

// paid records the first payment. A later event of the same payment can only add a missing charge.
func (o Order) paid(e Event) Order {
	if o.Charge.IsZero() || o.Key != "" && len(o.Charge.Tax.Lines) == 0 && o.Charge.Total() == e.Charge.Total() && len(e.Charge.Tax.Lines) > 0 {
		o.Charge = e.Charge.Clone() // an adopted order now has its lines
	}
	if e.SessionID != "" {
		o.SessionID = e.SessionID
	}
	if o.State.Paid() {
		return o
	}
	o.State, o.Deadline, o.BegunAt, o.Asks = OrderPaid, time.Time{}, time.Time{}, 0
	return o
}

// pending extends the deadline of an order that does not wait for its payment yet, or whose deadline has
// passed. Repeated events before that change nothing. A canceled order stays canceled, but the payment can still
// make it paid.
func (o Order) pending(e Event) Order {
	if o.State.Ended() {
		return o
	}
	if e.SessionID != "" {
		o.SessionID = e.SessionID
	}
	if o.State != OrderAwaitingPayment || !e.At.Before(o.Deadline) {
		o.State, o.Deadline = OrderAwaitingPayment, later(e.Deadline, o.Deadline)
	}
	if o.BegunAt.IsZero() {
		o.BegunAt = e.At
	}
	return o
}

// ended records that the payment of the order can no longer be paid. The order is then canceled, unless
// it stays in its state. The open session of a paid order belongs to another payment.
func (o Order) ended(stays bool, e Event) Order {
	if stays && (o.State != OrderCancelled || !o.unanswered() || o.mayBeCreated(e)) {
		return o
	}
	if o.SessionID == "" {
		o.SessionID = e.SessionID
	}
	o.State, o.Deadline, o.BegunAt, o.Asks = OrderCancelled, time.Time{}, time.Time{}, 0
	return o
}

// unanswered reports whether a question about the order's payment may be open.
func (o Order) unanswered() bool { return !o.BegunAt.IsZero() || o.Asks > 0 }

// giveUp cancels an order that cannot be paid. If it may still be paid, the order is ending until the
// end of its payment is recorded.
func (o Order) giveUp(e Event) Order {
	if o.BegunAt.IsZero() || e.PaymentOver && !o.mayBeCreated(e) {
		return o.ended(false, e)
	}
	if o.State != OrderEnding {
		o.State, o.Deadline = OrderEnding, e.At.Add(DueRetry)
	}
	return o
}

// endedFor returns a canceled order after another request to give it up.
func (o Order) endedFor(e Event) Order {
	if !e.PaymentOver || o.mayBeCreated(e) {
		return o
	}
	return o.ended(true, e)
}

func (o Order) givenUp(e Event) (Order, error) {
	switch o.State {
	case OrderOpen, OrderEnding:
		return o.giveUp(e), nil
	case OrderCancelled:
		return o.endedFor(e), nil
	case OrderAwaitingPayment, OrderPaid, OrderPartlyRefunded, OrderRefunded:
	}
	return o, ErrIllegal
}

func (o Order) lapsed(e Event) (Order, error) {
	switch {
	case o.State == OrderCancelled:
		return o.endedFor(e), nil
	case o.State.Paid():
		return o, ErrIllegal
	case o.Deadline.IsZero() || e.At.Before(o.Deadline):
		return o, ErrNotLapsed
	}
	return o.giveUp(e), nil
}

// Replace cancels an open order whose claims were taken over by another order of the customer.
// Replace sets ReplacedBy to the ID of the other order. Replace returns the cancelled order and
// its released uses. If the order is not open, Replace returns a [*TransitionError].
func (o Order) Replace(by string, at time.Time, uses ...Use) (Order, []Use, error) {
	if o.State != OrderOpen && o.State != OrderEnding {
		return o, uses, &TransitionError{ID: o.ID, State: o.State.String(), Kind: Cancelled, Cause: ErrIllegal}
	}
	o.State, o.ReplacedBy, o.Deadline = OrderCancelled, by, time.Time{}
	if !o.BegunAt.IsZero() {
		o.Deadline = at.Add(DueRetry)
	}
	o.UpdatedAt, o.Version = later(at, o.UpdatedAt), o.Version+1
	o = o.withoutKept()
	replaced := make([]Use, len(uses))
	for i, u := range uses {
		replaced[i] = u.PassOn(at)
	}
	return o, replaced, nil
}

// Resume reopens a replaced order because a payment for it is on its way. The resumed order and
// its uses hold their claims again. Resume accepts only a replaced order and a [PaymentPending]
// event. For any other order or event, Resume returns a [*TransitionError].
func (o Order) Resume(e Event, uses ...Use) (Order, []Use, error) {
	refused := TransitionError{ID: o.ID, State: o.State.String(), Kind: e.Kind, Cause: ErrIllegal}
	if o.State != OrderCancelled || o.ReplacedBy == "" || e.Kind != PaymentPending {
		return o, uses, &refused
	}
	if o.SessionID != "" && o.SessionID != e.SessionID {
		refused.Cause = ErrOtherSession
		return o, uses, &refused
	}
	o.State, o.Asks = OrderOpen, 0
	return o.After(e, uses...)
}

// Ask records that a payment of a replaced order is said to be on its way. Claims that another order
// has taken over do not go back before somebody has asked. It returns the order unchanged if that is
// due already.
func (o Order) Ask(e Event) Order {
	if o.Asks > 0 || o.State != OrderCancelled {
		return o
	}
	if o.SessionID == "" {
		o.SessionID = e.SessionID
	}
	o.Version++
	o.Asks, o.Deadline, o.UpdatedAt = o.Version, e.At, later(e.At, o.UpdatedAt)
	return o
}

// Fresh reports whether somebody has begun to ask for what the event tells after the order had said that
// it has to be asked. If the order has not said so, it must not have changed since they began.
func (o Order) Fresh(e Event) bool {
	if o.Asks == 0 { // no question was open, so nothing may have changed since
		return e.AskedAt >= o.Version
	}
	return e.AskedAt >= o.Asks
}

// PassOn releases a reserved use whose claims and points were taken over by another order.
// PassOn returns a use in any other state unchanged.
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

// TakeBack returns a use that has the points again which another order had taken over. TakeBack returns a
// use in any other state unchanged.
func (u Use) TakeBack(at time.Time) Use {
	if u.PointsState != PointsPassedOn {
		return u
	}
	u.PointsState = PointsDebited
	return u.changed(at)
}

// follow updates a use to the state of its order. It adds claims for the identities in the event.
func (u Use) follow(o Order, e Event) Use {
	state, at, had := o.State.holds(), e.At, len(u.Claims)
	u.Claims = e.learn(o.CustomerID, u.Claims)
	if u.State == state {
		over := o.State == OrderCancelled && o.BegunAt.IsZero() && u.PointsState == PointsDebited
		if over { // the order was replaced, and nobody can pay it any more
			u.PointsState = PointsRefundDue
		}
		if over || len(u.Claims) > had {
			return u.changed(at)
		}
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

// After applies an event to a use and returns the use in its new state. After accepts the events
// about points. After also accepts Cancelled and Lapsed events for a points reservation without
// an order. If the event was applied before, After returns the use unchanged. If the event is
// not allowed, After also returns a [*TransitionError].
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
	case SessionAttached, Paid, PaymentPending, PaymentFailed, SessionExpired, Refunded, Reported, PaymentBegun, PaymentEnded,
		PaymentOpened:
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

// refused releases a use whose points are not debited yet. Two calls may debit the same points at once.
// One of them may fail although the other has succeeded.
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
