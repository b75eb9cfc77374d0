package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// RefundRequest asks for a refund of a paid order.
type RefundRequest struct {
	// OrderID is the ID of the order. It is required.
	OrderID string
	// Key is an idempotency key. It is required. A call with a repeated key returns the first refund
	// of the key. A key that was used for another refund of the order fails with store.ErrKeyReused.
	// A key has at most [redemption.MaxIDLength] bytes.
	Key string
	// Returns tells what is returned.
	Returns pricing.Returns
}

// RefundResult is a recorded refund.
type RefundResult struct {
	// Refund is the recorded refund. Refund.Result.Amount is what the customer gets back.
	Refund redemption.Refund
	// Order and Uses are the order and its uses after the refund. If the call was replayed, they may
	// contain later changes.
	Order redemption.Order
	Uses  []redemption.Use
	// Replayed is true if an earlier call has recorded the refund.
	Replayed bool
}

// Refund records a refund of an order and returns what the customer gets back. The refund is
// computed from the quote of the order; see [pricing.Quote.Refund]. Refund gives uses, budgets and
// points back as RestoreOnRefund of each coupon says. A use that was given back counts no longer
// in the periods in which it was claimed. The order always counts as an order of its customer.
//
// Refund does not send money. The host sends Refund.Result.Amount through its payment processor.
//
// Refund returns these errors:
//
//   - A [*pricing.ValidationError] names every invalid field, such as returns[1].quantity.
//   - store.ErrNotFound means that there is no such order.
//   - store.ErrKeyReused means that the key was used for another refund of the order.
//   - redemption.ErrIllegal means that the order is not paid.
//
// After any other error, repeat the call with the same key.
func (s *Service) Refund(ctx context.Context, r RefundRequest) (result RefundResult, err error) {
	attempt := Attempt{OrderID: r.OrderID}
	defer s.observed(ctx, OpRefund, &attempt, &err)()
	if err := r.validate(); err != nil {
		return RefundResult{}, err
	}
	settled, err := s.settle(ctx, store.Settlement{Event: redemption.Event{
		Kind: redemption.Refunded, At: s.now(), OrderID: r.OrderID,
		Refund: redemption.RefundRequest{ID: s.newID(redemption.RefundIDPrefix), Key: r.Key, Returns: r.Returns},
	}})
	if err != nil {
		return RefundResult{}, err
	}
	attempt.CustomerID, attempt.SessionID = settled.Order.CustomerID, settled.Order.SessionID
	if len(settled.Uses) > 0 {
		attempt.CouponID = settled.Uses[0].CouponID
	}
	recorded, _ := settled.Order.RefundOf(r.Key)
	return RefundResult{Refund: recorded, Order: settled.Order, Uses: settled.Uses, Replayed: !settled.Changed}, nil
}

func (r RefundRequest) validate() error {
	var faults pricing.ValidationError
	if r.OrderID == "" {
		faults.Add("orderId", pricing.FieldRequired, "is required")
	} else if len(r.OrderID) > redemption.MaxIDLength || !store.IsText(r.OrderID) {
		return store.ErrNotFound // no order has such an ID
	}
	faults.Merge("", redemption.CheckRefundKey(r.Key))
	return faults.Err()
}
