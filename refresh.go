package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/internal/settle"
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
