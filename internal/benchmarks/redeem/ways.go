package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// request is one redemption that a client wants.
type request struct {
	id, key, coupon, customer string
	at                        time.Time
}

// redeemer makes one redemption. All requests of a measurement have a place.
type redeemer func(context.Context, request) error

// way is one way of redeeming.
type way struct {
	name string
	// unchecked ways know no limits and no counts.
	unchecked bool
	open      func(context.Context, *pgxpool.Pool) (redeemer, func() error, error)
}

var errFull = errors.New("no place is left")

func nothing() error { return nil }

func ways() []way {
	return []way{
		{name: "textbook", open: statements(textbook)},
		{name: "serializable", open: statements(serializable)},
		{name: "conditional", open: statements(conditional)},
		{name: "slots", open: statements(slots)},
		{name: "single", open: ours(pgxstore.BatchOptions{Off: true})},
		{name: "batched", open: ours(pgxstore.BatchOptions{})},
		{name: "ceiling", unchecked: true, open: ceiling},
	}
}

// ours is the store of this repository.
func ours(batch pgxstore.BatchOptions) func(context.Context, *pgxpool.Pool) (redeemer, func() error, error) {
	return func(_ context.Context, pool *pgxpool.Pool) (redeemer, func() error, error) {
		s, err := pgxstore.New(pool, pgxstore.Options{Batch: batch})
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, r request) error {
			_, err := s.Reserve(ctx, store.Reservation{Redemption: redemption.Redemption{
				ID: r.id, Key: r.key, CouponID: r.coupon, CustomerID: r.customer,
				State: redemption.Reserved, Origin: redemption.FromPoints,
				Points: 50, PointsState: redemption.PointsPending, Deadline: r.at.Add(time.Hour), CreatedAt: r.at, UpdatedAt: r.at,
			}})
			return err
		}, s.Close, nil
	}
}

// couponID names coupon n.
func couponID(n int) string { return fmt.Sprintf("%s%05d", coupon.IDPrefix, n) }
