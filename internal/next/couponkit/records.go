package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/internal/next/store"
)

// Uses returns a page of uses, newest first; a list out of bounds is a
// [*pricing.ValidationError].
func (s *Service) Uses(ctx context.Context, list store.UseList) (store.UsePage, error) {
	return s.store.ListUses(ctx, list)
}

// Orders returns a page of orders, newest first; a list out of bounds is a
// [*pricing.ValidationError].
func (s *Service) Orders(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
	return s.store.ListOrders(ctx, list)
}

// Journal returns what has happened after a position, in order; see [store.Journal].
func (s *Service) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	return s.store.Journal(ctx, after, limit)
}

// Order returns one order of the customer. An unknown order, and an order of another customer,
// is store.ErrNotFound.
func (s *Service) Order(ctx context.Context, customerID, orderID string) (store.Settled, error) {
	o, err := s.store.Order(ctx, store.OrderKey{ID: orderID})
	if err == nil && o.Order.CustomerID != customerID {
		return store.Settled{}, store.ErrNotFound
	}
	return o, err
}
