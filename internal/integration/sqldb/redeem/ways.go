package main

import (
	"context"
	"database/sql"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// user is one way of using a coupon. Its calls come from many goroutines.
type user interface {
	reserve(ctx context.Context, r store.Reservation) error
	complete(ctx context.Context, s store.Settlement) error
	close() error
}

// way opens a database for one way of using coupons.
type way struct {
	name string
	open func(ctx context.Context, db *sql.DB, synchronous sqlstore.Synchronous) (user, error)
}

func ways() []way {
	return []way{
		{"textbook", newTextbook},
		{"conditional", newConditional},
		{"single", ours(1)},
		{"batched", ours(0)},
		{"ceiling", newCeiling},
	}
}

// ours is the store of this repository.
func ours(maxBatch int) func(context.Context, *sql.DB, sqlstore.Synchronous) (user, error) {
	return func(_ context.Context, db *sql.DB, synchronous sqlstore.Synchronous) (user, error) {
		s, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{Synchronous: synchronous, MaxBatch: maxBatch})
		return library{s}, err
	}
}

type library struct{ *sqlstore.Store }

func (l library) reserve(ctx context.Context, r store.Reservation) error {
	_, err := l.Reserve(ctx, r)
	return err
}

func (l library) complete(ctx context.Context, s store.Settlement) error {
	_, err := l.Settle(ctx, s)
	return err
}

func (l library) close() error { return l.Close() }
