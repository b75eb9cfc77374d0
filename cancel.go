package couponkit

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/internal/checkout"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// OrderRequest names one order, and the customer who asks about the order.
type OrderRequest struct {
	// OrderID is the ID of the order.
	OrderID string
	// Key is the idempotency key of the order's checkout. Give either an OrderID or a Key.
	Key string
	// CustomerID is the ID of the customer who asks. An order of another customer is not found. The ID
	// of a guest is a [GuestID].
	CustomerID string
	// AnyCustomer finds an order by its OrderID, whoever its customer is. Set AnyCustomer for calls of
	// the host itself, such as those of an administrator. CustomerID is then ignored.
	AnyCustomer bool
}

// validate names every missing and superfluous field.
func (r OrderRequest) validate() error {
	var faults validation.Error
	switch {
	case r.OrderID == "" && r.Key == "":
		faults.Add("orderId", validation.Required, "an order ID or a key is required")
	case r.OrderID != "" && r.Key != "":
		faults.Add("key", validation.NotAllowed, "an order ID is given")
	case r.Key != "" && r.AnyCustomer:
		faults.Add("key", validation.NotAllowed, "a key belongs to one customer")
	}
	if r.CustomerID == "" && !r.AnyCustomer {
		faults.Add("customerId", validation.Required, "is required")
	}
	return faults.Err()
}

// find returns the order of the request. An order of another customer is store.ErrNotFound.
func (s *Service) find(ctx context.Context, attempt *Attempt, r OrderRequest) (store.Settled, error) {
	if err := r.validate(); err != nil {
		return store.Settled{}, err
	}
	by := store.OrderKey{ID: r.OrderID}
	if r.OrderID == "" {
		by = store.OrderKey{CustomerID: r.CustomerID, Key: r.Key}
	}
	found, err := s.store.Order(ctx, by)
	switch {
	case err != nil:
		return store.Settled{}, err
	case !r.AnyCustomer && found.Order.CustomerID != r.CustomerID:
		return store.Settled{}, store.ErrNotFound
	}
	o := found.Order
	attempt.OrderID, attempt.CustomerID, attempt.SessionID = o.ID, o.CustomerID, o.SessionID
	if len(found.Uses) > 0 {
		attempt.CouponID = found.Uses[0].CouponID
	}
	return found, nil
}

// CancelCheckout ends the payment session of an open order at the processor, and then cancels the
// order. The uses and the other claims of the order are free at once, and its points are refunded.
// If the order has no payment session, CancelCheckout cancels the order alone. A repeated call
// succeeds, and so does a call for an order that has ended unpaid. If a later order has replaced
// the order, the later order stays.
//
// A payment session that another call creates right now may be unknown. The order is then ending: it
// cannot be paid by that call, and it is cancelled once the end of the session is recorded.
//
// If the customer has finished the payment session, CancelCheckout records what the processor
// reports, and returns the order with [ErrOrderPaid]. If Changed is true, handle the outcome like
// an outcome of [Service.HandleEvent].
//
// CancelCheckout returns these errors:
//
//   - [ErrOrderPaid] means that the order is paid or refunded, or that its payment is on its way.
//   - store.ErrNotFound means that the customer has no such order.
//   - A [*validation.Error] names every invalid field of the request.
//   - [ErrPaymentOpen] means that the order waits for the end of another payment, which may be created
//     right now. Repeat the call.
//   - [ErrUnavailable] means that the processor did not answer. The order stays open until the
//     payment session has ended. Repeat the call. If nobody repeats the call, the event of the payment
//     session or [Service.Sweep] ends the order.
//   - processor.ErrRejected and processor.ErrForbidden mean that the processor did not end the
//     payment session. The order stays open.
//   - [ErrInTransaction] means that the store works inside a transaction of the host. A rollback
//     would leave an open order whose payment session has ended.
//   - store.ErrConflict means that five attempts failed because of concurrent changes.
func (s *Service) CancelCheckout(ctx context.Context, r OrderRequest) (o Outcome, err error) {
	attempt := Attempt{CustomerID: r.CustomerID, OrderID: r.OrderID}
	defer s.observed(ctx, OpCancelCheckout, &attempt, &err)()
	if err := s.changesOutside(); err != nil {
		return Outcome{}, err
	}
	for range checkout.MaxAttempts {
		before, err := s.find(ctx, &attempt, r)
		if err != nil {
			return Outcome{}, err
		}
		o, err = s.cancel(ctx, before)
		if err == nil {
			return o, nil
		}
		if moved := errors.Is(err, redemption.ErrIllegal) && !errors.Is(err, ErrOrderPaid); !moved {
			return o, fmt.Errorf("cancel order %s: %w", before.Order.ID, err)
		}
	}
	return Outcome{}, fmt.Errorf("cancel order %s: %w", attempt.OrderID, store.ErrConflict)
}

// cancel ends what can be paid, and only then cancels the order. Until the session has ended, the
// store keeps the order open, so that an event or a sweep finds it. The error is another
// redemption.ErrIllegal than ErrOrderPaid if the order has changed since it was read.
func (s *Service) cancel(ctx context.Context, before store.Settled) (Outcome, error) {
	o := before.Order
	stored := Outcome{Order: o, Uses: before.Uses}
	switch {
	case o.State.Paid(), o.State == redemption.OrderAwaitingPayment:
		return stored, ErrOrderPaid
	case o.State == redemption.OrderCancelled && len(o.Due()) == 0:
		return stored, nil
	}
	finished, err := s.endUnpaid(ctx, o)
	created := errors.Is(err, ErrPaymentOpen) && !o.BegunAt.IsZero() // perhaps right now
	switch {
	case err != nil && !created:
		return Outcome{}, err
	case isOver(finished.Order):
		return finished, nil
	case !finished.Order.IsZero():
		return finished, ErrOrderPaid
	}
	settled, err := s.settle(ctx, store.Settlement{Event: redemption.Event{
		Kind: redemption.Cancelled, At: s.now(), OrderID: o.ID, SessionID: o.SessionID, PaymentOver: !created, BegunBy: o.BegunAt,
	}})
	return Outcome{Order: settled.Order, Uses: settled.Uses, Changed: settled.Changed}, err
}

// endUnpaid ends what can be paid for an order that is going to be cancelled: its payment, or that of
// the order for which it waits. If the customer has finished the payment of the order, endUnpaid
// records that and returns the order.
func (s *Service) endUnpaid(ctx context.Context, o redemption.Order) (finished Outcome, err error) {
	if o.BegunAt.IsZero() {
		_, err := s.endAwaited(ctx, o) // if the customer has paid it, it has ended this order
		return Outcome{}, err
	}
	session, err := s.endSession(ctx, o)
	switch {
	case err != nil:
		return Outcome{}, err
	case session.Status == processor.SessionExpired:
		return Outcome{}, nil
	}
	return s.settleSession(ctx, session, o)
}
