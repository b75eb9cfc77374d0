package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/internal/payments"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// SessionOptions are what a payment session shows, and an order does not keep.
type SessionOptions struct {
	// Email is the address that the payment page shows, or empty.
	Email string
	// Describe, SuccessURL and CancelURL are those of [CheckoutRequest].
	Describe   func(pricing.Line) string
	SuccessURL string
	CancelURL  string
}

// OpenSession opens the payment session of an order that [Ledger.Reserve] has reserved. A repeated call
// returns the same session. The payment of an order that this order has replaced is ended first. Call
// OpenSession after the commit of the transaction that has reserved the order.
//
// OpenSession returns these errors:
//
//   - A [*validation.Error] names every invalid field of the request.
//   - store.ErrNotFound means that there is no such order.
//   - [ErrOrderEnded] means that the order has ended, or that too little of its hold is left for a session.
//   - [ErrOrderPaid] means that the order is paid, or that its payment is on its way.
//   - store.ErrSuperseded means that the order has another payment, which [Ledger.AttachPayment] has stored.
//   - A [*coupon.Rejection] that matches coupon.ErrBelowMinimumCharge means that the processor does not charge
//     the total.
//   - [ErrPaymentOpen] means that the payment of the replaced order may be created right now.
//   - processor.ErrRejected and processor.ErrForbidden mean that the processor refused the session. If no
//     session of the order can exist, the order has ended.
//   - [ErrUnavailable], or the error of the context, means that the result is unknown. Repeat the call.
//   - [ErrNoProcessor] and [ErrInTransaction] are those of [Service.Checkout].
func (s *Service) OpenSession(ctx context.Context, orderID string, options SessionOptions) (_ SessionLink, err error) {
	attempt := settle.Attempt{OrderID: orderID}
	defer s.observed(ctx, OpOpenSession, &attempt, &err)()
	if err := s.changesOutside(); err != nil {
		return SessionLink{}, err
	}
	if !s.hasProcessor() {
		return SessionLink{}, ErrNoProcessor
	}
	if s.abilities.NeedsSuccessURL && options.SuccessURL == "" {
		return SessionLink{}, validation.New("successUrl", validation.Required, "the processor needs an address to return to")
	}
	if err := settle.RequireOrderID(orderID); err != nil {
		return SessionLink{}, err
	}
	opened, err := s.payments().OpenOrder(ctx, orderID, payments.Details(options))
	attempt.CustomerID, attempt.SessionID = opened.Order.CustomerID, opened.Order.SessionID
	if err != nil {
		return SessionLink{}, err
	}
	return s.linkOf(opened.Order), nil
}

// linkOf returns the link to the session of an open order.
func (s *Service) linkOf(o redemption.Order) SessionLink {
	return SessionLink{ID: o.SessionID, URL: o.SessionURL, ExpiresAt: o.Deadline.Add(-s.grace)}
}

// payments returns the Payments for the service's store.
func (s *Service) payments() *payments.Payments {
	return &payments.Payments{
		Ledger: s.settlement(), InTransaction: s.inTransaction, Recorder: s.record,
		Processor: s.processor, Abilities: s.abilities, Points: s.points, Quoter: s.quoter(s.mirrors.Ask, new(settle.Attempt)),
		Observe: func(ctx context.Context, op string, attempt *settle.Attempt, err *error) func() {
			return s.observed(ctx, Operation(op), attempt, err)
		},
		Detached: detached, EveryPeriod: s.recurring == EveryPeriod, ExchangeTime: s.exchangeTime,
	}
}

// hasProcessor reports whether the service has a processor.
func (s *Service) hasProcessor() bool {
	_, none := s.processor.(payments.NoProcessor)
	return !none
}
