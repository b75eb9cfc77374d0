package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// migratedTo makes the schema as builds have left it that had so many steps.
func migratedTo(t *testing.T, pool *pgxpool.Pool, in pgxstore.Namespace, version int) {
	t.Helper()
	steps, err := pgxstore.Migrations(in)
	require.NoError(t, err)
	table := pgx.Identifier{in.Schema, "couponkit_migrations"}.Sanitize()
	script := "CREATE SCHEMA IF NOT EXISTS " + pgx.Identifier{in.Schema}.Sanitize() + ";CREATE TABLE " + table +
		" (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());"
	for _, step := range steps[:version] {
		script += step.SQL + fmt.Sprintf(";INSERT INTO %s (version, name) VALUES (%d, '%s');", table, step.Version, step.Name)
	}
	_, err = pool.Exec(t.Context(), script, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
}

// migrating runs Migrate, and returns when that waits for a table or has ended.
func migrating(t *testing.T, pool *pgxpool.Pool, in pgxstore.Namespace) (ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	result := make(chan error, 1)
	go func() { result <- pgxstore.Migrate(ctx, pool, in) }()
	require.NoError(t, untilWaiting(ctx, pool, result))
	return result
}

// TestMigrateBesideCalls: while a migration waits for the calls that are under way, it holds
// nothing that these need, whatever version it begins at. They end, and it goes on.
func TestMigrateBesideCalls(t *testing.T) {
	t.Parallel()
	const stored, others = "LOCK TABLE coupon_redemptions IN ROW EXCLUSIVE MODE",
		"LOCK TABLE coupon_counters, coupons, orders IN ROW EXCLUSIVE MODE NOWAIT"
	pool := postgrestest.NewPool(t, shared.Need(t).NewDatabase(t))
	steps, err := pgxstore.Migrations(pgxstore.Namespace{})
	require.NoError(t, err)
	for version := 1; version <= len(steps); version++ {
		in := pgxstore.Namespace{Schema: fmt.Sprint("from_", version)}
		migratedTo(t, pool, in, version)
		besideCall(t, pool, in, stored, others)
	}
}

// besideCall migrates while a call has begun, which then ends.
func besideCall(t *testing.T, pool *pgxpool.Pool, in pgxstore.Namespace, begins, ends string) {
	t.Helper()
	var ended <-chan error
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		for _, statement := range []string{"SET LOCAL search_path = " + in.Schema, begins} {
			if _, err := tx.Exec(t.Context(), statement); err != nil {
				return err
			}
		}
		ended = migrating(t, pool, in)
		_, err := tx.Exec(t.Context(), ends)
		return err
	})
	if err != nil {
		t.Errorf("%s: the call waits for what the migration holds, which waits for the call: %v", in.Schema, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("%s: %v", in.Schema, err)
	}
}

// TestMakeTheSearchIndexBesideCalls: when the index of the search is made, the steps before it
// are done, and none of their locks keeps who creates a coupon from going on.
func TestMakeTheSearchIndexBesideCalls(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.Need(t).NewDatabase(t))
	in := pgxstore.Namespace{Schema: "before_checks"}
	migratedTo(t, pool, in, 20)
	_, err := pool.Exec(t.Context(), "CREATE EXTENSION pg_trgm")
	require.NoError(t, err)
	besideCall(t, pool, in, "LOCK TABLE coupons IN ROW EXCLUSIVE MODE", "LOCK TABLE coupon_redemptions IN ACCESS SHARE MODE NOWAIT")
	var indexed bool
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT to_regclass('before_checks.coupons_search_idx') IS NOT NULL").Scan(&indexed))
	require.True(t, indexed, "there is an index")
}

// TestMigrateIsRetried: a migration that PostgreSQL has ended because of others begins anew.
func TestMigrateIsRetried(t *testing.T) {
	t.Parallel()
	for code, again := range map[string]bool{"40P01": true, "40001": true, "55P03": false} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			const times = 3
			pool := postgrestest.NewPool(t, shared.Need(t).NewDatabase(t))
			migratedTo(t, pool, pgxstore.Namespace{Schema: pgxstore.DefaultSchema}, 14)
			_, err := pool.Exec(t.Context(), fmt.Sprintf(`
				CREATE SEQUENCE attempts;
				CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN
					IF nextval('attempts') <= %d THEN
						RAISE EXCEPTION 'refused' USING ERRCODE = '%s';
					END IF;
					RETURN new;
				END $$;
				CREATE TRIGGER refuse BEFORE INSERT ON couponkit_migrations FOR EACH ROW WHEN (new.version = 21)
					EXECUTE FUNCTION refuse()`, times, code), pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			err = pgxstore.Migrate(t.Context(), pool, pgxstore.Namespace{})
			var attempts int
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT last_value FROM attempts").Scan(&attempts))
			if again {
				require.NoError(t, err)
				require.Equal(t, times+1, attempts)
				return
			}
			var server *pgconn.PgError
			require.True(t, errors.As(err, &server) && server.Code == code, "%v", err)
			require.Equal(t, 1, attempts)
		})
	}
}

// TestMigrateWithNothingToDo: a start of a process that finds the schema as it is to be locks
// no table against anybody, and waits for nobody who holds one.
func TestMigrateWithNothingToDo(t *testing.T) {
	t.Parallel()
	for name, extension := range map[string]string{"without trigrams": "", "with trigrams": "CREATE EXTENSION pg_trgm"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := pgxstore.Namespace{Schema: `Shop "1"`, Prefix: `50%'s {x}_\`}
			dsn := shared.Need(t).NewDatabase(t)
			impatient := func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["lock_timeout"] = "100ms" }
			pool := postgrestest.NewPool(t, dsn, impatient)
			_, err := pool.Exec(t.Context(), extension)
			require.NoError(t, err)
			require.NoError(t, pgxstore.Migrate(t.Context(), pool, in))
			require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				for _, table := range []string{"coupon_redemptions", "coupon_counters", "coupons", "orders"} {
					table = pgx.Identifier{in.Schema, in.Prefix + table}.Sanitize()
					if _, err := tx.Exec(t.Context(), "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE"); err != nil {
						return err
					}
				}
				return pgxstore.Migrate(t.Context(), pool, in)
			}))
		})
	}
}

// TestMigrateMeetsACall: where a call has an order and needs a redemption, neither can go on.
// One of the two is ended, and the migration is done whichever it was.
func TestMigrateMeetsACall(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.Need(t).NewDatabase(t), func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["deadlock_timeout"] = "50ms"
	})
	in := pgxstore.Namespace{Schema: pgxstore.DefaultSchema}
	migratedTo(t, pool, in, 14)
	var ended <-chan error
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "LOCK TABLE orders IN ROW EXCLUSIVE MODE")
		require.NoError(t, err)
		ended = migrating(t, pool, in)
		_, err = tx.Exec(t.Context(), "LOCK TABLE coupon_redemptions IN ROW EXCLUSIVE MODE")
		return err
	})
	if err != nil && !again(err) {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestReadiness: New asks nothing of the database. To look for an order that nobody has shows
// whether the schema is there and the database answers.
func TestReadiness(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.Need(t).NewDatabase(t))
	in := pgxstore.Namespace{Schema: "late"}
	s, err := pgxstore.New(pool, pgxstore.Options{Namespace: in})
	require.NoError(t, err)
	look := func() error { _, err := s.Order(t.Context(), "ord_ready"); return err }
	var server *pgconn.PgError
	require.ErrorAs(t, look(), &server)
	require.Equal(t, "42P01", server.Code)
	require.NoError(t, pgxstore.Migrate(t.Context(), pool, in))
	require.ErrorIs(t, look(), store.ErrNotFound)
	pool.Close()
	require.NotErrorIs(t, look(), store.ErrNotFound, "there is no database")
	require.NoError(t, s.Close())
	require.ErrorIs(t, look(), store.ErrClosed)
}

// TestMigrateBehindTheLongestPrefix: names that PostgreSQL cuts are found again by the steps
// that drop them.
func TestMigrateBehindTheLongestPrefix(t *testing.T) {
	t.Parallel()
	in := pgxstore.Namespace{Prefix: strings.Repeat("p", 33)}
	pool := newDatabase(t, in)
	s := newStore(t, pool, pgxstore.Options{Namespace: in})
	c := newCoupon(t, "prefixed")
	require.NoError(t, s.CreateCoupon(t.Context(), c))
	_, err := s.Reserve(t.Context(), checkout(c, quote(t), "ann", "k", epoch))
	require.NoError(t, err)
	require.NoError(t, storetest.CheckInvariants(t.Context(), s))
}
