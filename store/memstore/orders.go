package memstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// CreateOrder stores an order without a coupon; see store.Orders.
func (s *Store) CreateOrder(ctx context.Context, o store.Order) (store.Order, bool, error) {
	if err := s.enter(ctx); err != nil {
		return store.Order{}, false, err
	}
	o = storedOrder(o.Clone())
	if err := o.Validate(); err != nil {
		return store.Order{}, false, err
	}
	if o.CouponID != "" || o.ReservationID != "" {
		return store.Order{}, false, invalid("couponId", "an order with a coupon is stored with its reservation")
	}
	customer, stripe := s.customers.of(o.CustomerID)
	customer.Lock()
	defer customer.Unlock()
	if before, used := s.keyed.get(keyOf(o.CustomerID, o.Key)); used {
		first, err := before.replay("", &o)
		return first.Order, err == nil, err
	}
	b := s.plain[stripe]
	b.mu.Lock()
	defer b.mu.Unlock()
	if !s.orders.add(o.ID, b) {
		return store.Order{}, false, fmt.Errorf("order %s exists already: %w", o.ID, store.ErrConflict)
	}
	s.putOrder(b, o)
	s.keyed.put(keyOf(o.CustomerID, o.Key), use{book: b, orderID: o.ID})
	return o, false, nil
}

// AttachSession joins a session to an order; see store.Orders.
func (s *Store) AttachSession(ctx context.Context, a store.Attachment) (store.Order, error) {
	if err := s.enter(ctx); err != nil {
		return store.Order{}, err
	}
	a.At, a.Deadline = coupon.Instant(a.At), coupon.Instant(a.Deadline)
	if err := a.Validate(); err != nil {
		return store.Order{}, err
	}
	b, known := s.orders.get(a.OrderID)
	if !known {
		return store.Order{}, store.ErrNotFound
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	order, known := b.orders[a.OrderID]
	if !known {
		return store.Order{}, store.ErrNotFound
	}
	attached, err := order.Attach(a)
	if err != nil {
		return store.Order{}, err
	}
	if err := attached.Validate(); err != nil {
		return store.Order{}, err
	}
	if record, reserved := b.records[attached.ReservationID]; reserved {
		after, err := redemption.Apply(record, redemption.Event{
			Kind: redemption.SessionAttached, At: a.At, SessionID: a.SessionID, OrderID: a.OrderID, Deadline: a.Deadline,
		})
		if err != nil {
			return store.Order{}, fmt.Errorf("%w: %w", store.ErrSuperseded, err)
		}
		if err := s.claimSession(record, after); err != nil {
			return store.Order{}, err
		}
		s.put(b, after)
	}
	s.putOrder(b, attached)
	return attached.Clone(), nil
}

// Order returns one order; see store.Orders.
func (s *Store) Order(ctx context.Context, id string) (store.Order, error) {
	if err := s.enter(ctx); err != nil {
		return store.Order{}, err
	}
	b, known := s.orders.get(id)
	if !known {
		return store.Order{}, store.ErrNotFound
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	order, known := b.orders[id]
	if !known {
		return store.Order{}, store.ErrNotFound
	}
	return order.Clone(), nil
}

// OrderByKey returns the order of a customer's key; see store.Orders.
func (s *Store) OrderByKey(ctx context.Context, customerID, key string) (store.Order, error) {
	if err := s.enter(ctx); err != nil {
		return store.Order{}, err
	}
	used, known := s.keyed.get(keyOf(customerID, key))
	if !known || used.orderID == "" {
		return store.Order{}, store.ErrNotFound
	}
	return s.Order(ctx, used.orderID)
}

// OpenOrders returns orders for the sweep; see store.Orders.
func (s *Store) OpenOrders(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var open []store.Order
	for _, b := range s.plain {
		b.mu.Lock()
		for _, o := range b.orders {
			if !o.Ended() && !o.Deadline.IsZero() && !o.Deadline.After(at) {
				open = append(open, o.Clone())
			}
		}
		b.mu.Unlock()
	}
	slices.SortFunc(open, func(a, b store.Order) int { return inOrder(a.CreatedAt, a.ID, b.CreatedAt, b.ID) })
	return open[:min(len(open), max(limit, 0))], nil
}
