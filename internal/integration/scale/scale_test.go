package scale_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/internal/integration/scale"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

var shared postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
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
