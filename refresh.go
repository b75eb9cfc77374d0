package couponkit

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Refresh asks the processor about the payment session of one order, and updates the order as
// [Service.HandleEvent] does. Call Refresh when the customer comes back from the payment page. The
// customer may be back before the event of the payment session. Handle the outcome like an outcome
// of HandleEvent.
//
// Refresh returns the stored order without a request to the processor if the order has no payment
// session, or if the order is cancelled because its session has ended. Refresh asks about a paid
// order, because only the processor knows the amount of the payment; see [FlagAmountMismatch].
//
// If the processor does not know the payment session of an open order, Refresh cancels the order.
//
// Refresh also reads the refunds and disputes of a paid order, and asks again for the money of refunds
// that was not returned yet; see [Service.Refund].
//
// Refresh returns these errors:
//
//   - [ErrUnavailable] means that the processor did not answer. Refresh then also returns the stored
//     order, which may be unchanged. The same holds for processor.ErrForbidden.
//   - store.ErrNotFound means that the customer has no such order.
//   - A [*validation.Error] names every invalid field of the request.
func (s *Service) Refresh(ctx context.Context, r OrderRequest) (o Outcome, err error) {
	attempt := Attempt{CustomerID: r.CustomerID, OrderID: r.OrderID}
	defer s.observed(ctx, OpRefresh, &attempt, &err)()
	before, err := s.find(ctx, &attempt, r)
	if err != nil {
		return Outcome{}, err
	}
	stored := Outcome{Order: before.Order, Uses: before.Uses}
	if stored.Order.SessionID == "" || stored.Order.State == redemption.OrderCancelled && len(stored.Order.Due()) == 0 {
		return stored, nil
	}
	session, forgotten, err := s.sessionOf(ctx, stored.Order)
	if err != nil {
		return stored, fmt.Errorf("refresh order %s: %w", stored.Order.ID, err)
	}
	switch {
	case stored.Order.State.Paid():
		if o, err = s.refreshPaid(ctx, &attempt, session, before); err != nil {
			err = fmt.Errorf("refresh order %s: %w", o.Order.ID, err)
		}
		return o, err
	case !s.newOf(session, stored.Order, forgotten):
		return stored, nil
	}
	return s.settleSession(ctx, session, stored.Order)
}

// sessionOf asks the processor about the session of an order. A session that the processor has
// forgotten has expired.
func (s *Service) sessionOf(ctx context.Context, o redemption.Order) (session processor.Session, forgotten bool, err error) {
	session, err = s.processor.Session(ctx, o.SessionID)
	if errors.Is(err, processor.ErrNotFound) {
		return processor.Session{ID: o.SessionID, Status: processor.SessionExpired}, true, nil
	}
	return session, false, err
}

// refreshPaid reads what has become of a paid order. A charge that nobody knew is recorded first.
func (s *Service) refreshPaid(
	ctx context.Context, attempt *Attempt, session processor.Session, before store.Settled,
) (o Outcome, err error) {
	version := before.Order.Version
	if before.Order.Charge.IsZero() && s.ending(session, before.Order).Kind == redemption.Paid {
		if o, err = s.settleSession(ctx, session, before.Order); err != nil {
			return Outcome{Order: before.Order, Uses: before.Uses, Flag: FlagOf(before)}, err
		}
		before = store.Settled{Order: o.Order, Uses: o.Uses}
	}
	o, err = s.refreshRefunds(ctx, attempt, before)
	o.Changed = o.Order.Version != version
	o.Flag = Flag(s.settlement().Flag(ctx, chargeOf(session), store.Settled{Order: o.Order, Uses: o.Uses}))
	attempt.Flag = o.Flag
	return o, err
}

// newOf reports whether the session tells of an end that the order does not know. A payment that
// is still on its way must not extend the deadline with each call. The sweep decides when to give
// up an order that waits for a payment, if the processor has forgotten the session.
func (s *Service) newOf(session processor.Session, o redemption.Order, forgotten bool) bool {
	if session.Status == processor.SessionOpen {
		return false
	}
	kind := s.ending(session, o).Kind
	switch {
	case o.State == redemption.OrderAwaitingPayment:
		return !forgotten && kind != redemption.PaymentPending
	case o.State == redemption.OrderCancelled:
		return kind == redemption.Paid || kind == redemption.PaymentPending
	}
	return true
}
