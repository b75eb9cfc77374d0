package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/store/pgxstore"
)

const (
	hour      = time.Hour
	customers = 100_000       // of the seeded redemptions; the measured ones are each of another
	places    = 1_000_000_000 // nobody runs out while it is measured
)

// next is request n of a client: a customer and a coupon that look random and are
// the same in every run.
func next(client, n, coupons int) request {
	x := uint64(client)*0x9e3779b97f4a7c15 + uint64(n)*0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb
	x ^= x >> 29
	id := fmt.Sprintf("rsv_%016x%08x", x, client<<24|n&0xffffff)
	return request{
		id: id, key: id[4:], coupon: couponID(int(x % uint64(coupons))),
		customer: fmt.Sprintf("customer-%016x", x), at: time.Now(),
	}
}

// seed makes the tables, the coupons, and redemptions that are there before.
func seed(ctx context.Context, dsn string, coupons, redemptions int) (err error) {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Namespace{}); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, fmt.Sprintf(`
		INSERT INTO coupons (id, code, name, discount_type, percent_off, currency, applies_to, distribution, max_uses,
			max_uses_per_user, state, search_text, created_at, updated_at, revision)
		SELECT 'cpn_' || lpad(n::text, 5, '0'), 'CODE' || n, 'Coupon ' || n, 'PERCENTAGE', 10, 'EUR', 'ALL', 'GENERAL', %d,
			1000000, 'active', 'code' || n, now(), now(), 1 FROM generate_series(0, %d) n;
		INSERT INTO coupon_redemptions (id, key, coupon_id, customer_id, state, origin, order_id, session_id, created_at,
			updated_at, completed_at)
		SELECT 'rsv_' || md5(n::text), 'k' || n, 'cpn_' || lpad((n %% %d)::text, 5, '0'),
			'customer-' || lpad((hashint4(n) & 2147483647)::bigint %% %d || '', 6, '0'), 'completed', 'checkout', 'ord_' || n, 'cs_' || n,
			now() - n * interval '1 second', now(), now() FROM generate_series(1, %d) n;
		UPDATE coupons c SET used_count = (SELECT count(*) FROM coupon_redemptions r WHERE r.coupon_id = c.id);
		`, places, coupons-1, coupons, customers, redemptions), pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	_, err = pool.Exec(ctx, `VACUUM ANALYZE`)
	if err == nil {
		_, err = pool.Exec(ctx, `CHECKPOINT`)
	}
	return err
}

// verify checks that every redemption that was acknowledged is there and counted.
func verify(ctx context.Context, pool *pgxpool.Pool, seeded int, made int64, unchecked bool) error {
	var rows, counted int64
	if err := pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM coupon_redemptions),
		(SELECT sum(used_count + reserved_count) FROM coupons) + (SELECT coalesce(sum(completed + reserved), 0) FROM coupon_counters)`).Scan(&rows, &counted); err != nil {
		return err
	}
	want := int64(seeded) + made
	if rows != want {
		return fmt.Errorf("%d rows for %d acknowledged redemptions", rows, want)
	}
	if !unchecked && counted != want && counted != int64(seeded) { // slots count elsewhere
		return errors.New("the counts are not those of the rows")
	}
	return nil
}
