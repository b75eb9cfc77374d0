package pgxstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// barrier makes whoever writes a redemption of one key wait, while it is closed.
type barrier struct {
	tb   testing.TB
	pool *pgxpool.Pool
	lock int // the advisory lock that is waited for
	open func()
}

// newBarrier returns an open one. No two of a database have the same lock.
func newBarrier(tb testing.TB, pool *pgxpool.Pool, key string, lock int) *barrier {
	tb.Helper()
	if _, err := pool.Exec(tb.Context(), fmt.Sprintf(`
		CREATE FUNCTION barrier_%[2]d() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			PERFORM pg_advisory_xact_lock_shared(%[2]d);
			RETURN new;
		END $$;
		CREATE TRIGGER barrier_%[2]d BEFORE INSERT OR UPDATE ON coupon_redemptions
			FOR EACH ROW WHEN (new.key = '%[1]s') EXECUTE FUNCTION barrier_%[2]d()`, key, lock)); err != nil {
		tb.Fatal(err)
	}
	b := &barrier{tb: tb, pool: pool, lock: lock, open: func() {}}
	tb.Cleanup(func() {
		b.open()
		if _, err := pool.Exec(context.WithoutCancel(tb.Context()), fmt.Sprintf(`DROP FUNCTION barrier_%d CASCADE`, lock)); err != nil {
			tb.Error(err)
		}
	})
	return b
}

// close makes it hold from now on.
func (b *barrier) close() {
	b.tb.Helper()
	tx, err := b.pool.Begin(b.tb.Context())
	if err != nil {
		b.tb.Fatal(err)
	}
	b.open = func() {
		if err := tx.Rollback(context.Background()); err != nil {
			b.tb.Error(err)
		}
		b.open = func() {}
	}
	if _, err := tx.Exec(b.tb.Context(), `SELECT pg_advisory_xact_lock($1)`, b.lock); err != nil {
		b.tb.Fatal(err)
	}
}

// reached waits until somebody waits for it.
func (b *barrier) reached() {
	b.tb.Helper()
	for !b.isReached() {
		time.Sleep(time.Millisecond)
	}
}

// isReached reports whether somebody waits for it.
func (b *barrier) isReached() (waits bool) {
	b.tb.Helper()
	if err := b.pool.QueryRow(b.tb.Context(), `SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, b.lock).Scan(&waits); err != nil {
		b.tb.Fatal(err)
	}
	return waits
}
