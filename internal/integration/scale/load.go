package scale

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/store/pgxstore"
)

// Load makes the schema in an empty database and fills it. The extension pg_trgm, if
// the search is to use it, must be there before. Progress, which may be nil, is told
// what is done.
func Load(ctx context.Context, dsn string, size Size, progress func(string)) error {
	if err := size.validate(); err != nil {
		return err
	}
	if progress == nil {
		progress = func(string) {}
	}
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Namespace{}); err != nil {
		return err
	}
	indexes, err := dropIndexes(ctx, pool)
	if err != nil {
		return err
	}
	g, err := newGenerator(size)
	if err != nil {
		return err
	}
	progress(fmt.Sprintf("copying %d redemptions", size.Redemptions))
	if err := g.copyRedemptions(ctx, pool); err != nil {
		return err
	}
	progress(fmt.Sprintf("copying %d coupons", size.Coupons))
	if err := g.copyCoupons(ctx, pool); err != nil {
		return err
	}
	for _, index := range indexes {
		progress(index.name)
		if err := index.create(ctx, pool); err != nil {
			return err
		}
	}
	progress("vacuum and analyze")
	_, err = pool.Exec(ctx, "VACUUM (ANALYZE)")
	if err == nil {
		_, err = pool.Exec(ctx, "CHECKPOINT")
	}
	return err
}

// tables that are filled without their indexes.
var tables = []string{"coupons", "coupon_redemptions", "orders"}

// index is one that was dropped.
type index struct{ name, definition string }

// dropIndexes drops what would slow the load down. What foreign keys refer to stays.
func dropIndexes(ctx context.Context, pool *pgxpool.Pool) ([]index, error) {
	rows, err := pool.Query(ctx, `
		SELECT i.indexrelid::regclass::text, coalesce('ALTER TABLE ' || i.indrelid::regclass || ' ADD CONSTRAINT '
				|| quote_ident(c.conname) || ' ' || pg_get_constraintdef(c.oid), pg_get_indexdef(i.indexrelid)),
			coalesce('ALTER TABLE ' || i.indrelid::regclass || ' DROP CONSTRAINT ' || quote_ident(c.conname),
				'DROP INDEX ' || i.indexrelid::regclass)
		FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.contype IN ('p', 'u')
		WHERE i.indrelid = ANY ($1::regclass[])
			AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conindid = i.indexrelid AND f.contype = 'f')
		ORDER BY i.indrelid, i.indexrelid`, pgx.QueryExecModeExec, tables)
	if err != nil {
		return nil, err
	}
	var indexes []index
	var drops []string
	var i index
	var drop string
	_, err = pgx.ForEachRow(rows, []any{&i.name, &i.definition, &drop}, func() error {
		indexes, drops = append(indexes, i), append(drops, drop)
		return nil
	})
	for _, statement := range drops {
		if err == nil {
			_, err = pool.Exec(ctx, statement)
		}
	}
	return indexes, err
}

func (i index) create(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, "SET maintenance_work_mem = '1GB'; SET max_parallel_maintenance_workers = 2; "+i.definition+
		"; RESET ALL", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return fmt.Errorf("%s: %w", i.name, err)
	}
	return nil
}

// copyRedemptions copies redemptions and their orders, each on a connection.
func (g *generator) copyRedemptions(ctx context.Context, pool *pgxpool.Pool) error {
	return withConnections(ctx, pool, func(first, second *pgx.Conn) error {
		redemptions := copyInto(ctx, first, "coupon_redemptions", redemptionColumns)
		orders := copyInto(ctx, second, "orders", orderColumns)
		for n := range g.size.Redemptions {
			if n%100_000 == 0 && ctx.Err() != nil {
				break
			}
			u := g.next(n)
			redemptionRow(redemptions, u)
			if u.order != "" {
				g.orderRow(orders, u)
			}
		}
		for n := range PlainOrders {
			g.plainRow(orders, n)
		}
		return errors.Join(redemptions.close(), orders.close(), ctx.Err())
	})
}

// copyCoupons copies coupons, then their counters and addresses, and tells the gates of the
// counters.
func (g *generator) copyCoupons(ctx context.Context, pool *pgxpool.Pool) error {
	hot := map[int]bool{}
	for role := range hotCoupons {
		hot[g.size.ranked(role)] = true
	}
	return withConnections(ctx, pool, func(first, second *pgx.Conn) error {
		coupons := copyInto(ctx, first, "coupons", couponColumns)
		for n, kind := range g.kinds {
			g.size.couponRow(coupons, n, kind, g.tallies[n], hot[n])
		}
		if err := coupons.close(); err != nil {
			return err
		}
		counters := copyInto(ctx, first, "coupon_counters", "coupon_id, completed, reserved")
		emails := copyInto(ctx, second, "coupon_allowed_emails", "coupon_id, email, position")
		for n, kind := range g.kinds {
			counterRows(counters, n, g.tallies[n])
			emailRows(emails, n, kind)
		}
		if err := errors.Join(counters.close(), emails.close()); err != nil {
			return err
		}
		_, err := first.Exec(ctx, `UPDATE coupon_counters g SET elsewhere = k.taken
			FROM (SELECT coupon_id, sum(completed + reserved) AS taken FROM coupon_counters WHERE stripe > 0 GROUP BY 1) k
			WHERE g.coupon_id = k.coupon_id AND g.stripe = 0 AND g.max_uses IS NOT NULL`)
		return err
	})
}

func withConnections(ctx context.Context, pool *pgxpool.Pool, work func(first, second *pgx.Conn) error) error {
	first, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer first.Release()
	second, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer second.Release()
	return work(first.Conn(), second.Conn())
}
