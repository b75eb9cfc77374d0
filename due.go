package couponkit

import (
	"context"
	"iter"
	"time"

	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/redemption"
)

// Due is something that has to be done outside of the store, such as ending a payment.
type Due struct {
	redemption.Due
	// BegunBy is when the payment was begun. If nobody finds it, it does not exist. BegunBy is zero while the
	// payment may be created right now.
	BegunBy time.Time
}

// Answer completes what the provider has answered: it names the order, and what was due. Record the
// result. A payment without an ID keeps that of the question.
func (d Due) Answer(p Payment) Payment {
	p.OrderID, p.askedAt, p.begunBy = d.OrderID, d.OrderVersion, d.BegunBy
	if p.ID == "" {
		p.ID = d.PaymentID
	}
	return p
}

// DueOptions selects what [Service.Due] returns.
type DueOptions struct {
	// OrderID selects what is due for one order and for the orders that it replaced and ended. Without an
	// OrderID, Due returns what has been due for a minute, of all orders, the oldest first.
	OrderID string
}

// Due returns what has to be done outside of the store. Due reads committed data: after a rollback, it
// finds nothing of the transaction. Do it after each commit, and record the answers with [Due.Answer]. Call
// Due without an OrderID every minute, for what a crash has left and for orders whose hold is over.
//
//   - EndPayment: void the payment, found by its ID or else by its order. Record what it has become. If
//     the customer was faster, it is paid. If the provider has no payment, record PaymentEnded without an ID.
//   - AskPayment: ask for the payment and record it. With a Key, record it with the repayment under the
//     key, which has been on its way for a day.
//   - ReturnMoney: return the amount under the key, after looking for the key at the provider. Record the
//     payment with the repayment.
//   - ReturnPoints: the service does it, with [WithPoints]; see [Service.Sweep].
//
// Due may be called by several processes at once, and returns the same to all of them. Its Since tells how
// long something has been due. The loop may record answers: Due reads as the loop goes on. Due returns an error
// that matches store.ErrUnreadable for each order that cannot be read, and goes on. Any other error is the last.
func (s *Service) Due(ctx context.Context, by DueOptions) iter.Seq2[Due, error] {
	return func(yield func(Due, error) bool) {
		for d, err := range s.settlement().Due(ctx, by.OrderID) {
			if !yield(Due(d), err) {
				return
			}
		}
	}
}

// RunDue does at the processor what is due for an order, for the order whose end it awaits, and for those
// that have replaced it, and records the answers. Call RunDue after the commit of a transaction in which a
// [Ledger] was used: after a rollback, RunDue finds nothing of it. What fails stays due; the next call or
// [Service.Sweep] tries again.
//
// RunDue returns these errors:
//
//   - store.ErrNotFound means that there is no such order.
//   - [ErrPaymentOpen] means that the payment may be created right now.
//   - [ErrUnavailable] means that the processor did not answer.
//   - [ErrNoProcessor] means that the service has no processor. Do what is [Service.Due] instead.
//   - [ErrInTransaction] means that the store works inside a transaction of the host.
func (s *Service) RunDue(ctx context.Context, orderID string) (err error) {
	attempt := settle.Attempt{OrderID: orderID}
	defer s.observed(ctx, OpRunDue, &attempt, &err)()
	if err := s.changesOutside(); err != nil {
		return err
	}
	if !s.hasProcessor() {
		return ErrNoProcessor
	}
	return s.payments().RunDue(ctx, &attempt, orderID)
}
