package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The alternatives work on the store's own tables, with the uses of a coupon in a
// column of its own row, as one has them. Each keeps both limits and is
// idempotent by the unique index over customer and key.

const insertRedemption = `INSERT INTO coupon_redemptions (id, key, coupon_id, customer_id, state, origin, points,
	points_state, deadline, created_at, updated_at) VALUES ($1, $2, $3, $4, 'reserved', 'points', 50, 'pending', $5, $6, $6)`

func (r request) values() []any {
	return []any{r.id, r.key, r.coupon, r.customer, r.at.Add(hour), r.at}
}

// statements makes a way of a function that runs on a pool.
func statements(redeem func(context.Context, *pgxpool.Pool, request) error) func(context.Context, *pgxpool.Pool) (redeemer, func() error, error) {
	return func(_ context.Context, pool *pgxpool.Pool) (redeemer, func() error, error) {
		return func(ctx context.Context, r request) error { return redeem(ctx, pool, r) }, nothing, nil
	}
}

// textbook is what most code does: lock the coupon, count, insert, update.
func textbook(ctx context.Context, pool *pgxpool.Pool, r request) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		return lockCountInsertUpdate(ctx, tx, r, " FOR UPDATE")
	})
}

func lockCountInsertUpdate(ctx context.Context, tx pgx.Tx, r request, lock string) error {
	var most, mostPerUser, used, usedByUser int64
	if err := tx.QueryRow(ctx, `SELECT max_uses, max_uses_per_user, uses FROM coupons WHERE id = $1`+lock,
		r.coupon).Scan(&most, &mostPerUser, &used); err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM coupon_redemptions WHERE coupon_id = $1 AND customer_id = $2
		AND state <> 'released'`, r.coupon, r.customer).Scan(&usedByUser); err != nil {
		return err
	}
	if used >= most || usedByUser >= mostPerUser {
		return errFull
	}
	if _, err := tx.Exec(ctx, insertRedemption, r.values()...); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE coupons SET uses = uses + 1 WHERE id = $1`, r.coupon)
	return err
}

// serializable leaves exactness to the database and tries again.
func serializable(ctx context.Context, pool *pgxpool.Pool, r request) error {
	for {
		err := pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error {
			return lockCountInsertUpdate(ctx, tx, r, "")
		})
		var server *pgconn.PgError
		if !errors.As(err, &server) || server.Code != "40001" && server.Code != "40P01" {
			return err
		}
	}
}

// conditional is one statement: count up if there is a place, insert if it did.
func conditional(ctx context.Context, pool *pgxpool.Pool, r request) error {
	tag, err := pool.Exec(ctx, `WITH place AS (
			UPDATE coupons c SET uses = uses + 1
			WHERE c.id = $3 AND c.uses < c.max_uses
				AND (SELECT count(*) FROM coupon_redemptions x WHERE x.coupon_id = $3 AND x.customer_id = $4
					AND x.state <> 'released') < c.max_uses_per_user
			RETURNING c.id)
		INSERT INTO coupon_redemptions (id, key, coupon_id, customer_id, state, origin, points,
			points_state, deadline, created_at, updated_at)
		SELECT $1, $2, place.id, $4, 'reserved', 'points', 50, 'pending', $5, $6, $6 FROM place`, r.values()...)
	return one(tag, err)
}

func one(tag pgconn.CommandTag, err error) error {
	if err == nil && tag.RowsAffected() == 0 {
		return errFull
	}
	return err
}

const slotsPerCoupon = 64

// prepareSlots spreads the places of each coupon over rows; over many coupons, one
// row each is enough.
func prepareSlots(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, fmt.Sprintf(`CREATE TABLE slots (coupon_id text COLLATE "C", slot int, places bigint, PRIMARY KEY (coupon_id, slot))
			WITH (fillfactor = 50);
		INSERT INTO slots SELECT c.id, n, c.max_uses / %[1]d FROM coupons c,
			generate_series(1, CASE WHEN (SELECT count(*) FROM coupons) = 1 THEN %[1]d ELSE 1 END) n`, slotsPerCoupon),
		pgx.QueryExecModeSimpleProtocol)
	return err
}

// slots takes a place from any row that nobody holds.
func slots(ctx context.Context, pool *pgxpool.Pool) (redeemer, func() error, error) {
	var rows int
	if err := pool.QueryRow(ctx, `SELECT max(slot) FROM slots`).Scan(&rows); err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, r request) error {
		for from := 1 + rand.IntN(rows); ; from = 1 {
			tag, err := pool.Exec(ctx, takeSlot, append(r.values(), from)...)
			if err != nil || tag.RowsAffected() == 1 {
				return err
			}
		}
	}, nothing, nil
}

const takeSlot = `WITH slot AS (
		SELECT s.slot FROM slots s WHERE s.coupon_id = $3 AND s.places > 0 AND s.slot >= $7
		ORDER BY s.slot LIMIT 1 FOR UPDATE SKIP LOCKED
	), place AS (
		UPDATE slots s SET places = s.places - 1 FROM slot WHERE s.coupon_id = $3 AND s.slot = slot.slot
			AND (SELECT count(*) FROM coupon_redemptions x WHERE x.coupon_id = $3 AND x.customer_id = $4
				AND x.state <> 'released') < 1000000
		RETURNING s.coupon_id)
	INSERT INTO coupon_redemptions (id, key, coupon_id, customer_id, state, origin, points,
		points_state, deadline, created_at, updated_at)
	SELECT $1, $2, place.coupon_id, $4, 'reserved', 'points', 50, 'pending', $5, $6, $6 FROM place`
