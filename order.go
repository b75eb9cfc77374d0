package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/internal/settle"
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

// query returns the query for the request. The error names every missing and superfluous field.
func (r OrderRequest) query() (settle.Query, error) {
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
	by := settle.Query{OrderKey: store.OrderKey{ID: r.OrderID}, Owner: r.CustomerID}
	if r.AnyCustomer {
		by.Owner = ""
	}
	if r.OrderID == "" {
		by.OrderKey = store.OrderKey{CustomerID: r.CustomerID, Key: r.Key}
	}
	return by, faults.Err()
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
//   - [ErrNoProcessor] means that the payment was begun at the host's own provider. Use [Service.Cancel].
//   - store.ErrConflict means that five attempts failed because of concurrent changes.
func (s *Service) CancelCheckout(ctx context.Context, r OrderRequest) (_ Outcome, err error) {
	attempt := settle.Attempt{CustomerID: r.CustomerID, OrderID: r.OrderID}
	defer s.observed(ctx, OpCancelCheckout, &attempt, &err)()
	if err := s.changesOutside(); err != nil {
		return Outcome{}, err
	}
	query, err := r.query()
	if err != nil {
		return Outcome{}, err
	}
	o, err := s.payments().Cancel(ctx, &attempt, query)
	return outcomeOf(o), err
}

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
//     order, which may be unchanged. The same holds for processor.ErrForbidden and [ErrNoProcessor].
//   - store.ErrNotFound means that the customer has no such order.
//   - A [*validation.Error] names every invalid field of the request.
func (s *Service) Refresh(ctx context.Context, r OrderRequest) (_ Outcome, err error) {
	attempt := settle.Attempt{CustomerID: r.CustomerID, OrderID: r.OrderID}
	defer s.observed(ctx, OpRefresh, &attempt, &err)()
	query, err := r.query()
	if err != nil {
		return Outcome{}, err
	}
	o, err := s.payments().Refresh(ctx, &attempt, query)
	return outcomeOf(o), err
}
