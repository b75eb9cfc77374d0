package couponkit

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
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
	// Elsewhere tells that the host returns the money without the service, such as in cash. If the
	// processor makes no refunds, Elsewhere is always true. Calls with the same key may differ in
	// Elsewhere. It only matters in the first call, and after a repayment has failed.
	Elsewhere bool
}

// RefundResult is a recorded refund.
type RefundResult struct {
	// Refund is the recorded refund. Refund.Result.Amount is the price of what is returned, and
	// Refund.Tax is the tax on it that the processor had added. Refund.Repayment tells whether the
	// customer has the money back.
	Refund redemption.Refund
	// Order and Uses are the order and its uses after the refund. If the call was replayed, they may
	// contain later changes.
	Order redemption.Order
	Uses  []redemption.Use
	// Replayed is true if an earlier call has recorded the refund.
	Replayed bool
}

// Refund records a refund of an order, and returns its money to the customer. The refund is computed
// from the quote of the order; see [pricing.Quote.Refund]. The tax that the processor has added to
// the prices is returned with them; see [pricing.Quote.TaxOf]. Refund gives uses, budgets and points back
// as RestoreOnRefund of each coupon says. A use that was given back counts no longer in the periods
// in which it was claimed. The order always counts as an order of its customer.
//
// Refund first records the refund and then asks the processor for the money, if the processor is a
// [processor.Refunder]. Refund.Repayment tells how far that went. Its Amount is less than
// Refund.Amount if the rest was returned before, such as in the processor's dashboard. If the
// processor has refused, the state is redemption.RepaymentFailed: repeat the call with the same key
// to try again, or with Elsewhere to return the money without the service. Refund.Key and
// Refund.Returns are what the call repeats.
//
// Refund returns these errors:
//
//   - A [*validation.Error] names every invalid field, such as returns[1].quantity.
//   - store.ErrNotFound means that there is no such order.
//   - store.ErrKeyReused means that the key was used for another refund of the order. This error matches
//     redemption.ErrIllegal, too.
//   - redemption.ErrIllegal means that the order is not paid.
//   - [ErrInTransaction] means that the store works inside a transaction of the host, and that the
//     processor would return the money. With Elsewhere, Refund works there.
//   - [ErrUnavailable] or processor.ErrForbidden means that the refund is recorded and that its money
//     is still due. Refund then also returns the result. [Service.Sweep] asks the processor again.
//
// After any other error, repeat the call with the same key. The money is returned once.
func (s *Service) Refund(ctx context.Context, r RefundRequest) (result RefundResult, err error) {
	attempt := settle.Attempt{OrderID: r.OrderID}
	defer s.observed(ctx, OpRefund, &attempt, &err)()
	if s.refunds() && !r.Elsewhere {
		if err := s.changesOutside(); err != nil {
			return RefundResult{}, err
		}
	}
	result, err = s.recordRefund(ctx, &attempt, r)
	if err != nil {
		return RefundResult{}, err
	}
	settled, err := s.payments().Return(ctx, store.Settled{Order: result.Order, Uses: result.Uses}, r.Key)
	result.Order, result.Uses = settled.Order, settled.Uses
	result.Refund, _ = settled.Order.RefundOf(r.Key)
	if result.Refund.Repayment.State == redemption.RepaymentFailed {
		attempt.Flag = settle.FlagRefundFailed
	}
	return result, err
}

// refunds reports whether the processor supports refunds.
func (s *Service) refunds() bool {
	_, able := s.processor.(processor.Refunder)
	return able
}

// recordRefund records a refund. The repayment of its money is then due.
func (s *Service) recordRefund(ctx context.Context, attempt *settle.Attempt, r RefundRequest) (RefundResult, error) {
	if err := r.validate(); err != nil {
		return RefundResult{}, err
	}
	settled, replayed, err := s.settlement().Refund(ctx, r.OrderID, redemption.RefundRequest{
		Key: r.Key, Returns: r.Returns, Elsewhere: r.Elsewhere || s.hasProcessor() && !s.refunds(),
	})
	if err != nil {
		return RefundResult{}, err
	}
	attempt.Of(settled)
	attempt.SessionID = settled.Order.SessionID
	made, _ := settled.Order.RefundOf(r.Key)
	return RefundResult{Refund: made, Order: settled.Order, Uses: settled.Uses, Replayed: replayed}, nil
}

// Amount returns what goes back to the customer, including the tax.
func (r RefundResult) Amount() pricing.Money {
	return pricing.NewMoney(r.Refund.Repayment.Amount, r.Order.PaidCurrency())
}

func (r RefundRequest) validate() error {
	var faults validation.Error
	err := settle.RequireOrderID(r.OrderID)
	if errors.Is(err, store.ErrNotFound) {
		return err
	}
	faults.Merge("", err)
	faults.Merge("", redemption.CheckRefundKey(r.Key))
	return faults.Err()
}
