package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Only what is returned is read in full: orders have long documents.
const openOrders = `SELECT ` + orderColumns + ` FROM (SELECT d.id FROM {orders} d
		WHERE d.reservation_id = '' AND d.state IN ('open', 'awaiting_payment') AND d.deadline IS NOT NULL AND d.deadline <= ?
		ORDER BY d.created_at, d.id LIMIT ?
	) due CROSS JOIN {orders} o ON o.id = due.id ORDER BY o.created_at, o.id`

// CreateOrder implements [store.Orders].
func (s *Store) CreateOrder(ctx context.Context, o store.Order) (stored store.Order, replayed bool, err error) {
	if err := s.ready(ctx); err != nil {
		return store.Order{}, false, err
	}
	order, err := prepareOrder(o)
	if err != nil {
		return store.Order{}, false, err
	}
	if o.CouponID != "" || o.ReservationID != "" {
		return store.Order{}, false, invalidField("couponId", pricing.FieldNotAllowed, "an order with a coupon is reserved")
	}
	var first storedOrder
	err = s.change(ctx, "create order", func(ctx context.Context, t *tx) error {
		used, err := t.keyed(ctx, order.CustomerID, order.Key)
		if err != nil {
			return err
		}
		if used.ID == "" {
			inserted, err := t.insert(ctx, insertOrder, order.values...)
			if replayed = err == nil && !inserted; !replayed {
				return err
			}
		}
		replayed = true
		_, first, err = t.replay(ctx, order.CustomerID, order.Key, "", order.Fingerprint,
			fmt.Errorf("order %s exists already: %w", order.ID, store.ErrConflict))
		return err
	})
	switch {
	case err != nil:
		return store.Order{}, false, err
	case replayed:
		stored, err = s.whole(first)
		return stored, true, err
	}
	return order.Order.Clone(), false, nil
}

// AttachSession implements [store.Orders].
func (s *Store) AttachSession(ctx context.Context, a store.Attachment) (store.Order, error) {
	if err := s.ready(ctx); err != nil {
		return store.Order{}, err
	}
	a.Deadline, a.At = coupon.Instant(a.Deadline), coupon.Instant(a.At)
	if err := a.Validate(); err != nil {
		return store.Order{}, err
	}
	var order storedOrder
	err := s.change(ctx, "attach session", func(ctx context.Context, t *tx) error {
		var err error
		order, err = t.attach(ctx, a)
		return err
	})
	if err != nil {
		return store.Order{}, err
	}
	return s.whole(order)
}

func (t *tx) attach(ctx context.Context, a store.Attachment) (storedOrder, error) {
	if !findable(a.OrderID) {
		return storedOrder{}, store.ErrNotFound
	}
	order, err := t.orderSeen(ctx, orderByID, a.OrderID)
	if err != nil {
		return storedOrder{}, err
	}
	var record redemption.Redemption
	if order.ReservationID != "" { // locked before the order
		if record, err = t.lockRedemption(ctx, order.ReservationID); err != nil {
			return storedOrder{}, err
		}
	}
	if t.rowLocks {
		if order, err = t.lockOrder(ctx, a.OrderID); err != nil {
			return storedOrder{}, err
		}
	}
	if order.IsZero() {
		return storedOrder{}, store.ErrNotFound
	}
	attached, err := order.Attach(a)
	if err != nil {
		return storedOrder{}, err
	}
	if record.ID != "" {
		after, err := redemption.Apply(record, redemption.Event{
			Kind: redemption.SessionAttached, At: a.At, SessionID: a.SessionID, OrderID: a.OrderID, Deadline: a.Deadline,
		})
		if err != nil { // it matches redemption.ErrIllegal
			return storedOrder{}, fmt.Errorf("%w: %w", store.ErrSuperseded, err)
		}
		if err := t.ownSession(ctx, after); err != nil {
			return storedOrder{}, err
		}
		if err := t.replace(ctx, record, after); err != nil {
			return storedOrder{}, err
		}
	}
	order.Order = attached
	if _, err := t.write(ctx, updateOrder, orderChanges(attached)...); err != nil {
		return storedOrder{}, fmt.Errorf("write order: %w", err)
	}
	return order, nil
}

// Order implements [store.Orders].
func (s *Store) Order(ctx context.Context, id string) (store.Order, error) {
	return s.oneOrder(ctx, orderByID, id)
}

// OrderByKey implements [store.Orders].
func (s *Store) OrderByKey(ctx context.Context, customerID, key string) (store.Order, error) {
	return s.oneOrder(ctx, orderByKey, customerID, key)
}

func (s *Store) oneOrder(ctx context.Context, statement string, names ...string) (store.Order, error) {
	var order storedOrder
	err := s.read(ctx, "read order", func(ctx context.Context, t *tx) (err error) {
		args := make([]any, len(names))
		for i, name := range names {
			if !findable(name) {
				return store.ErrNotFound
			}
			args[i] = name
		}
		order, err = scanOrder(t.row(ctx, statement, args...))
		return orElse(err, store.ErrNotFound)
	})
	if err != nil {
		return store.Order{}, err
	}
	return s.whole(order)
}

// OpenOrders implements [store.Orders].
func (s *Store) OpenOrders(ctx context.Context, at time.Time, limit int) (open []store.Order, err error) {
	err = s.read(ctx, "list open orders", func(ctx context.Context, t *tx) error {
		open = nil
		if limit <= 0 {
			return nil
		}
		rows, err := t.query(ctx, openOrders, micros(coupon.Instant(at)), limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			o, err := scanOrder(rows)
			if err != nil {
				return err
			}
			whole, err := s.whole(o)
			if err != nil {
				return err
			}
			open = append(open, whole)
		}
		return rows.Err()
	})
	return open, err
}
