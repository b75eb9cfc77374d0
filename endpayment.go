package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// DefaultCreateTime is the default of [WithCreateTime].
const DefaultCreateTime = 2 * time.Minute

// ErrPaymentOpen means that an earlier order of the customer, which the order has replaced, can perhaps
// still be paid. Record the end of that payment first, or repeat the call later.
var ErrPaymentOpen = store.ErrPaymentOpen

// beginPayment marks an order before its session is created, so that the order keeps its claims until
// the end of the payment is recorded. The payment of the order that it waits for is ended first.
func (s *Service) beginPayment(ctx context.Context, reserved store.Reserved) (store.Settled, error) {
	o := reserved.Order
	begun := store.Settled{Order: o, Uses: reserved.Uses}
	if !reserved.Replayed && !o.BegunAt.IsZero() {
		return begun, nil // with the order
	}
	switch older, err := s.endAwaited(ctx, o); {
	case err != nil:
		return begun, err
	case !older.Order.IsZero():
		return begun, errFinished
	}
	settled, err := s.settle(ctx, store.Settlement{By: actorOf(ctx), Event: redemption.Event{
		Kind: redemption.PaymentBegun, OrderID: o.ID, At: s.now(),
	}})
	if !errors.Is(err, redemption.ErrIllegal) {
		return orStored(settled, begun), err
	}
	if errors.Is(err, redemption.ErrDeadline) {
		return begun, fmt.Errorf("%w: %w", ErrOrderEnded, err)
	}
	now, read := s.store.Order(ctx, store.OrderKey{ID: o.ID})
	switch {
	case read != nil:
		return begun, read
	case now.Order.State == redemption.OrderCancelled: // for a payment of the order that it had replaced
		return now, errFinished
	}
	return now, errors.Join(settle.Payable(now.Order), err)
}

func orStored(settled, stored store.Settled) store.Settled {
	if settled.Order.IsZero() {
		return stored
	}
	return settled
}

// endAwaited ends the payment of the order that has to end before the payment of o begins. If the
// customer has finished that payment, endAwaited returns the older order, and o has ended. The zero value tells
// that the payment of o can begin.
func (s *Service) endAwaited(ctx context.Context, o redemption.Order) (older Outcome, err error) {
	if o.Awaits == "" {
		return Outcome{}, nil
	}
	before, err := s.store.Order(ctx, store.OrderKey{ID: o.Awaits})
	switch {
	case err != nil:
		return Outcome{}, err
	case before.Order.State != redemption.OrderCancelled:
		return Outcome{Order: before.Order, Uses: before.Uses}, nil
	case before.Order.BegunAt.IsZero():
		return Outcome{}, nil
	}
	return s.endPayment(ctx, before.Order)
}

// endPayment ends the payment of an order at the processor and records the end. If the customer has
// finished the payment, endPayment records that and returns the order. The zero value tells that the
// payment has ended unpaid.
func (s *Service) endPayment(ctx context.Context, o redemption.Order) (finished Outcome, err error) {
	session, err := s.endSession(ctx, o)
	if err != nil {
		return Outcome{}, err
	}
	settled, err := s.settleSession(ctx, session, o)
	if err != nil || isOver(settled.Order) {
		return Outcome{}, err
	}
	return settled, nil
}

// isOver reports whether an order has ended unpaid, and nobody can pay it.
func isOver(o redemption.Order) bool {
	return o.State == redemption.OrderCancelled && o.BegunAt.IsZero()
}

// endSession returns the session of an order as it is once it can no longer be paid. The session is
// complete if it was paid. A session that the processor has forgotten counts as expired. So does one
// that was never created. While it may be created right now, endSession returns [ErrPaymentOpen].
func (s *Service) endSession(ctx context.Context, o redemption.Order) (processor.Session, error) {
	id := openSessionID(o)
	if id == "" {
		found, err := s.findSession(ctx, o)
		if err != nil || found.ID == "" {
			return found, err
		}
		id = found.ID
	}
	session, err := s.expire(ctx, id)
	if errors.Is(err, processor.ErrNotFound) {
		return processor.Session{ID: id, Status: processor.SessionExpired}, nil
	}
	if err != nil {
		return session, fmt.Errorf("end session %s: %w", id, err)
	}
	return session, nil
}

// openSessionID is the session that can perhaps be paid: that of the order, or the one that it had
// before a payment in another session.
func openSessionID(o redemption.Order) string {
	for _, d := range o.Due() {
		if d.Kind == redemption.EndPayment {
			return d.PaymentID
		}
	}
	return o.SessionID
}

// findSession looks for the session of an order whose payment was begun, and whose session nobody has
// stored. It returns an expired session without an ID if there is none. An expired session, too, is no answer
// while another one may be created right now.
func (s *Service) findSession(ctx context.Context, o redemption.Order) (processor.Session, error) {
	none, asked := processor.Session{Status: processor.SessionExpired}, s.now()
	if o.BegunAt.IsZero() {
		return none, nil
	}
	if finder, can := s.processor.(processor.SessionFinder); can {
		found, err := finder.FindSession(ctx, o.ID, o.CreatedAt)
		if !errors.Is(err, processor.ErrNotFound) && (err != nil || found.Status != processor.SessionExpired) {
			return found, err
		}
		none.ID = found.ID
	}
	if asked.Before(o.BegunAt.Add(s.createTime)) {
		return none, ErrPaymentOpen
	}
	return none, nil
}

// endDue ends what can perhaps be paid of an order that a payment or another order has ended. What
// fails is left to the sweep: it is recorded as due.
func (s *Service) endDue(ctx context.Context, o redemption.Order) error {
	if s.inTransaction || !due(o, redemption.EndPayment) {
		return nil
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	_, err := s.endPayment(ctx, o)
	if err != nil {
		s.logger.WarnContext(ctx, "the end of a payment is left to the sweep",
			slog.String("order", o.ID), slog.Any("error", err))
	}
	return err
}

func due(o redemption.Order, kind redemption.DueKind) bool {
	for _, d := range o.Due() {
		if d.Kind == kind {
			return true
		}
	}
	return false
}
