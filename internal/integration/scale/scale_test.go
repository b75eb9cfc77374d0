package scale_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/internal/integration/scale"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

var shared postgrestest.Shared

// TestMain requires that what copies rows has ended, with its database or before.
func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// loaded returns a pool on a database of that size.
func loaded(tb testing.TB, size scale.Size, trigrams bool, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	dsn := shared.Need(tb).NewDatabase(tb)
	pool := postgrestest.NewPool(tb, dsn, configure...)
	if trigrams {
		if _, err := pool.Exec(tb.Context(), "CREATE EXTENSION pg_trgm"); err != nil {
			tb.Skip("no extension pg_trgm: ", err)
		}
	}
	if err := scale.Load(tb.Context(), dsn, size, nil); err != nil {
		tb.Fatal(err)
	}
	return pool
}

func newStore(tb testing.TB, pool *pgxpool.Pool, options pgxstore.Options) *pgxstore.Store {
	tb.Helper()
	s, err := pgxstore.New(pool, options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// What the generator writes is what the stores write: the invariants of the
// contract hold, read through the store, and so does the same in SQL.
func TestShopIsValid(t *testing.T) {
	t.Parallel()
	pool := loaded(t, scale.Size{Coupons: 500, Redemptions: 2_000, Seed: 7}, false)
	if err := storetest.CheckInvariants(t.Context(), newStore(t, pool, pgxstore.Options{})); err != nil {
		t.Error(err)
	}
	if err := scale.Check(t.Context(), pool); err != nil {
		t.Error(err)
	}
}

// TestAnInterruptedLoadEnds: a load that is stopped while it copies says so, and what
// copies ends, as TestMain requires.
func TestAnInterruptedLoadEnds(t *testing.T) {
	t.Parallel()
	dsn := shared.Need(t).NewDatabase(t)
	pool := postgrestest.NewPool(t, dsn)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	loaded := make(chan error, 1)
	go func() {
		loaded <- scale.Load(ctx, dsn, scale.Size{Coupons: 500, Redemptions: 10_000_000, Seed: 7}, nil)
	}()
	for copies := 0; copies == 0 && len(loaded) == 0; {
		if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_progress_copy WHERE tuples_processed > 0").Scan(&copies); err != nil {
			t.Fatal(err)
		}
	}
	interrupt()
	if err := <-loaded; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
