package payments

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Cancel ends the session of an order, and then cancels the order.
func (p *Payments) Cancel(ctx context.Context, attempt *settle.Attempt, by settle.Query) (o settle.Outcome, err error) {
	for range maxAttempts {
		before, err := p.find(ctx, attempt, by)
		if err != nil {
			return settle.Outcome{}, err
		}
		o, err = p.cancel(ctx, before)
		if err == nil {
			return o, nil
		}
		if moved := errors.Is(err, redemption.ErrIllegal) && !errors.Is(err, settle.ErrOrderPaid); !moved {
			return o, fmt.Errorf("cancel order %s: %w", before.Order.ID, err)
		}
	}
	return settle.Outcome{}, fmt.Errorf("cancel order %s: %w", attempt.OrderID, store.ErrConflict)
}

// cancel ends the payment of an order, and then cancels the order. Until the session has ended, the
// order stays open in the store, so that an event or a sweep finds it. If the order has changed since
// it was read, cancel returns a redemption.ErrIllegal other than ErrOrderPaid.
func (p *Payments) cancel(ctx context.Context, before store.Settled) (settle.Outcome, error) {
	o := before.Order
	switch {
	case o.State.Paid(), o.State == redemption.OrderAwaitingPayment:
		return settle.Outcome{Settled: before}, settle.ErrOrderPaid
	case o.State == redemption.OrderCancelled && len(o.Due()) == 0:
		return settle.Outcome{Settled: before}, nil
	}
	finished, err := p.endUnpaid(ctx, o)
	created := errors.Is(err, store.ErrPaymentOpen) && !o.BegunAt.IsZero() // another call may be creating the session
	switch {
	case err != nil && !created:
		return settle.Outcome{}, err
	case isOver(finished.Order):
		return finished, nil
	case !finished.Order.IsZero():
		return finished, settle.ErrOrderPaid
	}
	settled, err := p.settle(ctx, store.Settlement{Event: redemption.Event{
		Kind: redemption.Cancelled, At: p.Now(), OrderID: o.ID, SessionID: o.SessionID, PaymentOver: !created, BegunBy: o.BegunAt,
	}})
	return settle.Outcome{Settled: settled}, err
}

// endUnpaid ends the payment of an order that is to be canceled, or of the order that it waits for. If
// the customer has already finished the payment of the order, endUnpaid records that and returns the
// order.
func (p *Payments) endUnpaid(ctx context.Context, o redemption.Order) (finished settle.Outcome, err error) {
	if o.BegunAt.IsZero() {
		_, err := p.endAwaited(ctx, o) // if the customer has paid the older order, this order has ended, too
		return settle.Outcome{}, err
	}
	session, err := p.endSession(ctx, o)
	if err != nil || session.Status == processor.SessionExpired {
		return settle.Outcome{}, err
	}
	return p.settleSession(ctx, session, o)
}

// endAwaited ends the payment of the older order that o waits for. If the customer has finished that
// payment, endAwaited returns the older order, and o has ended. It returns the zero value if the
// payment of o can begin.
func (p *Payments) endAwaited(ctx context.Context, o redemption.Order) (older settle.Outcome, err error) {
	if o.Awaits == "" {
		return settle.Outcome{}, nil
	}
	before, err := p.Store.Order(ctx, store.OrderKey{ID: o.Awaits})
	switch {
	case err != nil:
		return settle.Outcome{}, err
	case before.Order.State != redemption.OrderCancelled:
		return settle.Outcome{Settled: before}, nil
	case before.Order.BegunAt.IsZero():
		return settle.Outcome{}, nil
	}
	return p.endPayment(ctx, before.Order)
}

// endPayment ends the payment of an order at the processor and records the end. If the customer has
// finished the payment, endPayment records that and returns the order. It returns the zero value if the
// payment has ended unpaid.
func (p *Payments) endPayment(ctx context.Context, o redemption.Order) (finished settle.Outcome, err error) {
	session, err := p.endSession(ctx, o)
	if err != nil {
		return settle.Outcome{}, err
	}
	settled, err := p.settleSession(ctx, session, o)
	if err != nil || isOver(settled.Order) {
		return settle.Outcome{}, err
	}
	return settled, nil
}

// isOver reports whether an order has ended unpaid and cannot be paid any more.
func isOver(o redemption.Order) bool {
	return o.State == redemption.OrderCancelled && o.BegunAt.IsZero()
}

// endSession ends the session of an order and returns its final state. The session is complete if it
// was paid. A session that the processor has forgotten, or that was never created, counts as expired.
// If another call may still be creating the session, endSession returns store.ErrPaymentOpen.
func (p *Payments) endSession(ctx context.Context, o redemption.Order) (processor.Session, error) {
	id := openSessionID(o)
	if id == "" {
		found, err := p.findSession(ctx, o)
		if err != nil || found.ID == "" {
			return found, err
		}
		id = found.ID
	}
	session, err := p.expire(ctx, id)
	if err != nil {
		err = fmt.Errorf("end session %s: %w", id, err)
	}
	return session, err
}

// lapsedSession returns the final state of a session. It reads the session first, and ends it only if
// it is open. Without an ID, it ends the session of the order.
func (p *Payments) lapsedSession(ctx context.Context, o redemption.Order, id string) (processor.Session, error) {
	if id == "" {
		return p.endSession(ctx, o)
	}
	session, _, err := p.session(ctx, id)
	if err == nil && session.Status == processor.SessionOpen {
		return p.expire(ctx, id)
	}
	return session, err
}

// dueEnd returns the entry of Due that ends a payment, if there is one.
func dueEnd(o redemption.Order) (due redemption.Due, is bool) {
	for _, d := range o.Due() {
		if d.Kind == redemption.EndPayment {
			return d, true
		}
	}
	return redemption.Due{}, false
}

// openSessionID returns the ID of the session that may still be paid. This is usually the session of
// the order. If a payment in another session has paid the order, it is the order's earlier session.
func openSessionID(o redemption.Order) string {
	if due, is := dueEnd(o); is {
		return due.PaymentID
	}
	return o.SessionID
}

// findSession searches for the session of an order whose payment was begun and whose session was never
// stored. If there is none, it returns an expired session without an ID. If another call may still be
// creating a session, findSession returns store.ErrPaymentOpen, even if it has found an expired
// session.
func (p *Payments) findSession(ctx context.Context, o redemption.Order) (processor.Session, error) {
	none, asked := processor.Session{Status: processor.SessionExpired}, p.Now()
	if o.BegunAt.IsZero() {
		return none, nil
	}
	if finder, can := p.Processor.(processor.SessionFinder); can {
		found, err := finder.FindSession(ctx, o.ID, o.CreatedAt)
		if !errors.Is(err, processor.ErrNotFound) && (err != nil || found.Status != processor.SessionExpired) {
			return found, err
		}
		none.ID = found.ID
	}
	if asked.Before(o.BegunAt.Add(p.CreateTime)) {
		return none, store.ErrPaymentOpen
	}
	return none, nil
}

// endDue ends the session that may still be paid of an ended order. The order ended by a payment or was
// replaced. After a failure, the end stays due, and the sweep repeats it.
func (p *Payments) endDue(ctx context.Context, o redemption.Order) error {
	if _, is := dueEnd(o); p.InTransaction || !is {
		return nil
	}
	ctx, cancel := p.Detached(ctx)
	defer cancel()
	_, err := p.endPayment(ctx, o)
	p.warn(ctx, "the end of a payment is left to the sweep", "order", o.ID, err)
	return err
}
