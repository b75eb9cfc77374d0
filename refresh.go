package couponkit

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/pricing"
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
//   - A [*pricing.ValidationError] names every invalid field of the request.
func (s *Service) Refresh(ctx context.Context, r OrderRequest) (o Outcome, err error) {
	attempt := Attempt{CustomerID: r.CustomerID, OrderID: r.OrderID}
	defer s.observed(ctx, OpRefresh, &attempt, &err)()
	before, err := s.find(ctx, &attempt, r)
	if err != nil {
		return Outcome{}, err
	}
	stored := Outcome{Order: before.Order, Uses: before.Uses}
	if stored.Order.SessionID == "" || stored.Order.State == redemption.OrderCancelled && !unasked(stored.Order) {
		return stored, nil
	}
	session, err := s.processor.Session(ctx, stored.Order.SessionID)
	forgotten := errors.Is(err, processor.ErrNotFound)
	if err != nil && !forgotten {
		return stored, fmt.Errorf("refresh order %s: %w", stored.Order.ID, err)
	}
	if forgotten {
		session = processor.Session{ID: stored.Order.SessionID, Status: processor.SessionExpired}
	}
	switch {
	case stored.Order.State.Paid():
		o, err = s.refreshRefunds(ctx, &attempt, before)
		o.Flag = s.flagPaid(ctx, session, store.Settled{Order: o.Order, Uses: o.Uses})
		attempt.Flag = o.Flag
		if err != nil {
			return o, fmt.Errorf("refresh order %s: %w", o.Order.ID, err)
		}
		return o, nil
	case !s.newOf(session, stored.Order, forgotten):
		return stored, nil
	}
	return s.settleSession(ctx, session, stored.Order)
}

// flagPaid is the flag of an order that was paid before. A session that the processor has
// forgotten tells no amount.
func (s *Service) flagPaid(ctx context.Context, session processor.Session, paid store.Settled) Flag {
	charged := pricing.NewMoney(session.Total, session.Currency)
	if session.Currency.IsZero() {
		charged = pricing.NewMoney(paid.Order.Quote.Total, paid.Order.Quote.Currency)
	}
	return s.flag(ctx, charged, paid)
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
