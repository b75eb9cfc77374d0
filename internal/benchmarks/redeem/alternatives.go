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
// column of its own row, as one has them. Each keeps both limits exactly and is
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

// conditional counts up if there is a place, and inserts if it did, in one statement.
func conditional(_ context.Context, pool *pgxpool.Pool) (redeemer, func() error, error) {
	return func(ctx context.Context, r request) error {
		stored, err := callUnderLock(ctx, pool, "redeem_conditional", append(r.values(), 0))
		if err == nil && !stored {
			err = errFull
		}
		return err
	}, nothing, nil
}

const takePlace = `WITH place AS (
		UPDATE coupons c SET uses = uses + 1
		WHERE c.id = coupon AND c.uses < c.max_uses
			AND (SELECT count(*) FROM coupon_redemptions x WHERE x.coupon_id = coupon AND x.customer_id = customer
				AND x.state <> 'released') < c.max_uses_per_user
		RETURNING c.id)
	INSERT INTO coupon_redemptions (id, key, coupon_id, customer_id, state, origin, points,
		points_state, deadline, created_at, updated_at)
	SELECT id, key, place.id, customer, 'reserved', 'points', 50, 'pending', deadline, at, at FROM place`

const slotsPerCoupon = 64

// slots takes a place from any row that nobody holds.
func slots(ctx context.Context, pool *pgxpool.Pool) (redeemer, func() error, error) {
	var rows int
	if err := pool.QueryRow(ctx, `SELECT max(slot) FROM slots`).Scan(&rows); err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, r request) error {
		from := 1 + rand.IntN(rows)
		for tries := 1; ; tries++ {
			stored, err := callUnderLock(ctx, pool, "redeem_slots", append(r.values(), from))
			if stored || err != nil {
				return err
			}
			if tries%16 == 0 { // rarely: all are held, or taken
				if err := placeLeft(ctx, pool, r); err != nil {
					return err
				}
			}
			from = 1
		}
	}, nothing, nil
}

// takeSlot has the customer's limit in the row of the slot, as it has the places.
const takeSlot = `WITH slot AS (
		SELECT s.slot FROM slots s WHERE s.coupon_id = coupon AND s.places > 0 AND s.slot >= from_slot
		ORDER BY s.slot LIMIT 1 FOR UPDATE SKIP LOCKED
	), place AS (
		UPDATE slots s SET places = s.places - 1 FROM slot WHERE s.coupon_id = coupon AND s.slot = slot.slot
			AND (SELECT count(*) FROM coupon_redemptions x WHERE x.coupon_id = coupon AND x.customer_id = customer
				AND x.state <> 'released') < s.per_user
		RETURNING s.coupon_id)
	INSERT INTO coupon_redemptions (id, key, coupon_id, customer_id, state, origin, points,
		points_state, deadline, created_at, updated_at)
	SELECT id, key, place.coupon_id, customer, 'reserved', 'points', 50, 'pending', deadline, at, at FROM place`

// placeLeft tells a call that has found no free slot for long whether there may be one later.
func placeLeft(ctx context.Context, pool *pgxpool.Pool, r request) error {
	var left bool
	err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM slots s WHERE s.coupon_id = $1 AND s.places > 0
		AND (SELECT count(*) FROM coupon_redemptions x WHERE x.coupon_id = $1 AND x.customer_id = $2
			AND x.state <> 'released') < s.per_user)`, r.coupon, r.customer).Scan(&left)
	if err == nil && !left {
		err = errFull
	}
	return err
}

// underLock is a function that runs one statement under a lock of the customer. Without
// it the limit of a customer would not be kept: a statement counts in a snapshot that is
// older than any lock for which it waits, and two calls of a customer at once would not
// see each other. A row that counts the customer's uses would cost as much.
const underLock = `CREATE FUNCTION %s(id text, key text, coupon text, customer text, deadline timestamptz, at timestamptz,
		from_slot int) RETURNS bigint LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
	#variable_conflict use_variable
	DECLARE
		stored bigint;
	BEGIN
		PERFORM pg_advisory_xact_lock(hashtextextended(customer, hashtextextended(coupon, 0)));
		%s;
		GET DIAGNOSTICS stored = ROW_COUNT;
		RETURN stored;
	END $$`

func callUnderLock(ctx context.Context, pool *pgxpool.Pool, function string, values []any) (stored bool, err error) {
	var rows int64
	err = pool.QueryRow(ctx, "SELECT "+function+"($1, $2, $3, $4, $5, $6, $7)", values...).Scan(&rows)
	return rows == 1, err
}

// prepareAlternatives makes the functions, and spreads the places of each coupon over
// rows; over many coupons, one row each is enough.
func prepareAlternatives(ctx context.Context, pool *pgxpool.Pool) error {
	for _, statement := range []string{
		fmt.Sprintf(`CREATE TABLE slots (coupon_id text COLLATE "C", slot int, places bigint, per_user bigint, PRIMARY KEY (coupon_id, slot))
			WITH (fillfactor = 50);
		INSERT INTO slots SELECT c.id, n, c.max_uses / %[1]d, c.max_uses_per_user FROM coupons c,
			generate_series(1, CASE WHEN (SELECT count(*) FROM coupons) = 1 THEN %[1]d ELSE 1 END) n`, slotsPerCoupon),
		fmt.Sprintf(underLock, "redeem_conditional", takePlace),
		fmt.Sprintf(underLock, "redeem_slots", takeSlot),
	} {
		if _, err := pool.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}
