package settle

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
	// BegunBy is when the payment was begun. BegunBy is zero while the payment may be created right now.
	BegunBy time.Time
}

// Due yields what is due for an order and for the orders around it. Without an ID, it yields what has been due
// for a minute, of all orders. An order that cannot be read comes as its error, and the sequence goes on. Any
// other error ends the sequence.
func (l *Ledger) Due(ctx context.Context, orderID string) iter.Seq2[Due, error] {
	return func(yield func(Due, error) bool) {
		if orderID == "" {
			for o, err := range l.Orders(ctx, store.OrderList{DueAt: l.Now(), PageSize: store.MaxPageSize}) {
				if !l.yieldDue(ctx, o, err, yield) {
					return
				}
			}
			return
		}
		orders, err := l.OrdersAround(ctx, orderID)
		if err != nil && !l.yieldDue(ctx, store.Settled{}, err, yield) {
			return
		}
		for _, o := range orders {
			if !l.yieldDue(ctx, o, nil, yield) {
				return
			}
		}
	}
}

// yieldDue yields the due work of an order. err is the error of reading the order, or nil. It reports
// whether to continue.
func (l *Ledger) yieldDue(ctx context.Context, o store.Settled, err error, yield func(Due, error) bool) bool {
	var due []Due
	if err == nil {
		due, err = l.DueFor(ctx, o)
	}
	for _, d := range due {
		if !yield(d, nil) {
			return false
		}
	}
	return err == nil || yield(Due{}, err) && errors.Is(err, store.ErrUnreadable)
}

// Orders yields the orders of a list. An order that cannot be read comes as a [*store.UnreadableError]. Any other
// error is the last.
func (l *Ledger) Orders(ctx context.Context, list store.OrderList) iter.Seq2[store.Settled, error] {
	return records(func(after string) ([]store.Settled, []*store.UnreadableError, string, error) {
		list.After = after
		page, err := l.Store.ListOrders(ctx, list)
		return page.Items, page.Unreadable, page.Next, err
	})
}

// Uses yields the uses of a list, as Orders does.
func (l *Ledger) Uses(ctx context.Context, list store.UseList) iter.Seq2[redemption.Use, error] {
	return records(func(after string) ([]redemption.Use, []*store.UnreadableError, string, error) {
		list.After = after
		page, err := l.Store.ListUses(ctx, list)
		return page.Items, page.Unreadable, page.Next, err
	})
}

// records yields the records of a list, page by page.
func records[T any](list func(after string) (items []T, unreadable []*store.UnreadableError, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for after := ""; ; {
			items, unreadable, next, err := list(after)
			if err != nil {
				yield(none, err)
				return
			}
			for _, u := range unreadable {
				if !yield(none, u) {
					return
				}
			}
			for _, r := range items {
				if !yield(r, nil) {
					return
				}
			}
			if after = next; after == "" {
				return
			}
		}
	}
}

// OrdersAround returns an order after those that it has replaced or waits for, and before those that have
// replaced it.
func (l *Ledger) OrdersAround(ctx context.Context, orderID string) (orders []store.Settled, err error) {
	self, err := l.Store.Order(ctx, store.OrderKey{ID: orderID})
	if err != nil {
		return nil, err
	}
	var failures []error
	add := func(id string) redemption.Order {
		found, err := l.Store.Order(ctx, store.OrderKey{ID: id})
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

// DueFor returns what is due for one order. If its deadline is over, its payment is to be ended. An order that
// waits for the end of another payment keeps its uses until then.
func (l *Ledger) DueFor(ctx context.Context, of store.Settled) (list []Due, err error) {
	o, now, due, begunBy := of.Order, l.Now(), of.Order.Due(of.Uses...), time.Time{}
	if !now.Before(o.BegunAt.Add(l.CreateTime)) {
		begunBy = o.BegunAt // no call can create it any more
	}
	if o.State.Paid() && len(due) == 0 && !now.Before(o.Deadline) {
		due = o.PendingRepayments()
	}
	ends := slices.ContainsFunc(due, func(d redemption.Due) bool { return d.Kind == redemption.EndPayment })
	if !ends && Lapsed(o, now) {
		var awaited store.Settled
		if o.Awaits != "" && o.BegunAt.IsZero() {
			if awaited, err = l.Store.Order(ctx, store.OrderKey{ID: o.Awaits}); err != nil {
				err = fmt.Errorf("order that %s waits for: %w", o.ID, err)
			}
		}
		if err == nil && awaited.Order.BegunAt.IsZero() {
			due = append(due, redemption.Due{
				Kind: redemption.EndPayment, OrderID: o.ID, PaymentID: o.SessionID, Since: o.Deadline, OrderVersion: o.Version,
			})
		}
	}
	for _, d := range due {
		list = append(list, Due{d, begunBy})
	}
	return list, err
}
