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
	// unchecked ways know no limits and no counts.
	unchecked bool
	// batches need few connections for many clients.
	batches bool
	open    func(context.Context, *pgxpool.Pool) (redeemer, func() error, error)
	// redis tells that it is a way on Redis, and pipelined that it sends many calls at
	// once there.
	redis, pipelined bool
}

var errFull = errors.New("no place is left")

func nothing() error { return nil }

// ways are all by their names.
func ways() map[string]way {
	return map[string]way{
		"textbook":        {open: statements(textbook)},
		"serializable":    {open: statements(serializable)},
		"conditional":     {open: conditional},
		"slots":           {open: slots},
		"single":          {open: ours(pgxstore.BatchOptions{Off: true})},
		"batched":         {batches: true, open: ours(pgxstore.BatchOptions{})},
		"ceiling":         {unchecked: true, batches: true, open: ceiling},
		"redis":           {redis: true},
		"redis-pipelined": {redis: true, pipelined: true},
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
