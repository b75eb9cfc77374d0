package pgxstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// CreateOrder implements store.Orders.
func (s *Store) CreateOrder(ctx context.Context, o store.Order) (stored store.Order, replayed bool, err error) {
	if err := s.ready(ctx); err != nil {
		return store.Order{}, false, err
	}
	order := storedOrder(o.Clone())
	docs, err := documents(order)
	if err != nil {
		return store.Order{}, false, err
	}
	if order.CouponID != "" || order.ReservationID != "" {
		var faults pricing.ValidationError
		faults.Add("couponId", pricing.FieldNotAllowed, "an order with a coupon is stored with its reservation")
		return store.Order{}, false, faults.Err()
	}
	arguments := []any{
		order.ID, order.Key, order.Fingerprint, order.CustomerID, order.State.String(), order.CouponID, order.ReservationID,
		order.DiscountAmount, order.SessionID, order.SessionURL, orNull(&order.Deadline), order.CreatedAt, order.UpdatedAt,
		docs.quote, docs.snapshot, docs.metadata,
	}
	var created int64
	err = s.retry(ctx, func() (err error) {
		created, err = s.execOn(ctx, s.db, s.sql.createOrder, arguments...)
		return err
	})
	switch {
	case err != nil:
		return store.Order{}, false, fmt.Errorf("create order: %w", err)
	case created == 1:
		return order, false, nil
	}
	asked := redemption.Redemption{Key: order.Key, CustomerID: order.CustomerID}
	first, err := s.firstResult(ctx, store.Reservation{Redemption: asked, Order: &order})
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("order %s exists: %w", order.ID, store.ErrConflict)
	}
	return first.Order, err == nil, err
}

// Order implements store.Orders.
func (s *Store) Order(ctx context.Context, id string) (store.Order, error) {
	if err := s.ready(ctx); err != nil {
		return store.Order{}, err
	}
	return s.oneOrder(ctx, s.sql.order, id)
}

// OrderByKey implements store.Orders.
func (s *Store) OrderByKey(ctx context.Context, customerID, key string) (store.Order, error) {
	if err := s.ready(ctx); err != nil {
		return store.Order{}, err
	}
	return s.oneOrder(ctx, s.sql.orderByKey, customerID, key)
}

// oneOrder reads the order that the statement finds, or it is store.ErrNotFound.
func (s *Store) oneOrder(ctx context.Context, statement string, keys ...string) (store.Order, error) {
	if !storable(keys...) {
		return store.Order{}, unknownOrder(keys)
	}
	arguments := make([]any, len(keys))
	for i, key := range keys {
		arguments[i] = key
	}
	var row orderRow
	err := s.retry(ctx, func() error {
		row = orderRow{}
		return s.queryRow(ctx, statement, row.targets(), arguments...)
	})
	switch {
	case missing(err):
		return store.Order{}, unknownOrder(keys)
	case err != nil:
		return store.Order{}, fmt.Errorf("read order: %w", err)
	}
	return row.order()
}

func unknownOrder(keys []string) error {
	return fmt.Errorf("order %q: %w", strings.Join(keys, " "), store.ErrNotFound)
}

// OpenOrders implements store.Orders.
func (s *Store) OpenOrders(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, nil
	}
	var open []store.Order
	err := s.retry(ctx, func() error {
		open = nil
		return s.query(ctx, s.sql.openOrders, func(rows pgx.Rows) error {
			var row orderRow
			if err := rows.Scan(row.targets()...); err != nil {
				return err
			}
			o, err := row.order()
			open = append(open, o)
			return err
		}, instant(at), limit)
	})
	if err != nil {
		return nil, fmt.Errorf("list open orders: %w", err)
	}
	return open, nil
}
