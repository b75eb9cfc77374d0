package couponkit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
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
	if by.OrderID != "" {
		return s.dueOf(ctx, by.OrderID)
	}
	return func(yield func(Due, error) bool) {
		for list := (store.OrderList{DueAt: s.now(), PageSize: store.MaxPageSize}); ; {
			page, err := s.store.ListOrders(ctx, list)
			if err != nil {
				yield(Due{}, err)
				return
			}
			for _, unreadable := range page.Unreadable {
				if !yield(Due{}, unreadable) {
					return
				}
			}
			for _, o := range page.Items {
				if !s.yieldDue(ctx, o, yield) {
					return
				}
			}
			if list.After = page.Next; list.After == "" {
				return
			}
		}
	}
}

// dueOf returns what is due for an order and for those around it.
func (s *Service) dueOf(ctx context.Context, orderID string) iter.Seq2[Due, error] {
	return func(yield func(Due, error) bool) {
		orders, err := s.ordersAround(ctx, orderID)
		if err != nil && (!yield(Due{}, err) || !errors.Is(err, store.ErrUnreadable)) {
			return
		}
		for _, o := range orders {
			if !s.yieldDue(ctx, o, yield) {
				return
			}
		}
	}
}

// yieldDue yields what is due for one order. It reports whether the loop goes on.
func (s *Service) yieldDue(ctx context.Context, o store.Settled, yield func(Due, error) bool) bool {
	due, err := s.dueFor(ctx, o)
	for _, d := range due {
		if !yield(d, nil) {
			return false
		}
	}
	return err == nil || yield(Due{}, err) && errors.Is(err, store.ErrUnreadable)
}

// ordersAround returns an order after those that it has replaced or waits for, and before those that have
// replaced it.
func (s *Service) ordersAround(ctx context.Context, orderID string) (orders []store.Settled, err error) {
	self, err := s.store.Order(ctx, store.OrderKey{ID: orderID})
	if err != nil {
		return nil, err
	}
	var failures []error
	add := func(id string) redemption.Order {
		found, err := s.store.Order(ctx, store.OrderKey{ID: id})
		if err != nil {
			failures = append(failures, fmt.Errorf("order %s beside order %s: %w", id, orderID, err))
			return redemption.Order{}
		}
		orders = append(orders, found)
		return found.Order
	}
	for _, id := range slices.Compact([]string{self.Order.Awaits, self.Order.Replaces}) {
		if id != "" {
			add(id)
		}
	}
	orders = append(orders, self)
	for id := self.Order.ReplacedBy; id != ""; {
		id = add(id).ReplacedBy
	}
	return orders, errors.Join(failures...)
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
	attempt := Attempt{OrderID: orderID}
	defer s.observed(ctx, OpRunDue, &attempt, &err)()
	if err := s.changesOutside(); err != nil {
		return err
	}
	if !s.hasProcessor() {
		return ErrNoProcessor
	}
	orders, err := s.ordersAround(ctx, orderID)
	if len(orders) == 0 {
		return err
	}
	attempt.CustomerID = orders[0].Order.CustomerID
	failures := []error{err} // an order that cannot be read does not hide the others
	for _, o := range orders {
		now, err := s.store.Order(ctx, store.OrderKey{ID: o.Order.ID}) // after the end of the others
		if err == nil {
			err = s.runDue(ctx, now)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

func (s *Service) runDue(ctx context.Context, o store.Settled) error {
	list, err := s.dueFor(ctx, o)
	if err != nil || len(list) == 0 {
		return err
	}
	var failures []error
	var report SweepReport // unread: the recorder and the observer hear of everything
	for _, u := range o.Uses {
		if u.PointsState == redemption.PointsRefundDue {
			failures = append(failures, s.sweepUse(ctx, u, &report))
		}
	}
	if slices.ContainsFunc(list, func(d Due) bool { return d.Kind != redemption.ReturnPoints }) {
		failures = append(failures, s.sweepOrder(ctx, o, &report))
	}
	return errors.Join(failures...)
}

// dueFor returns what is due for one order. The payment of an order whose hold is over is to be ended. An
// order that waits for the end of another payment keeps its uses until then.
func (s *Service) dueFor(ctx context.Context, of store.Settled) (list []Due, err error) {
	o, begunBy := of.Order, time.Time{}
	if now := s.now(); !now.Before(o.BegunAt.Add(s.createTime)) {
		begunBy = o.BegunAt // nobody creates it any more
	}
	for _, d := range o.Due(of.Uses...) {
		list = append(list, Due{d, begunBy})
	}
	if o.State.Paid() && len(list) == 0 && !s.now().Before(o.Deadline) {
		for _, d := range o.PendingRepayments() {
			list = append(list, Due{d, begunBy})
		}
	}
	ends := slices.ContainsFunc(list, func(d Due) bool { return d.Kind == redemption.EndPayment })
	if ends || !lapsed(o, s.now()) {
		return list, nil
	}
	if o.Awaits != "" && o.BegunAt.IsZero() {
		awaited, err := s.store.Order(ctx, store.OrderKey{ID: o.Awaits})
		if err != nil {
			return list, fmt.Errorf("order that %s waits for: %w", o.ID, err)
		}
		if !awaited.Order.BegunAt.IsZero() {
			return list, nil
		}
	}
	return append(list, Due{redemption.Due{
		Kind: redemption.EndPayment, OrderID: o.ID, PaymentID: o.SessionID, Since: o.Deadline, OrderVersion: o.Version,
	}, begunBy}), nil
}
