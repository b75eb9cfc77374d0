package pgxstore_test

import (
	"context"
	"flag"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

var seeds = flag.Int("seeds", 4, "how many random histories to compare with memstore")

// TestAgreesWithMemstore compares every answer with the reference's, in all ways of using
// the store.
func TestAgreesWithMemstore(t *testing.T) {
	t.Parallel()
	simple := func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol }
	for _, way := range []struct {
		name      string
		options   pgxstore.Options
		configure []func(*pgxpool.Config)
		inTx      bool
	}{
		{name: "batched"},
		{name: "alone", options: pgxstore.Options{Batch: pgxstore.BatchOptions{Off: true}}},
		{name: "in transactions", inTx: true},
		{name: "without prepared statements", options: pgxstore.Options{QueryExecMode: pgx.QueryExecModeExec}},
		{name: "simple protocol", configure: []func(*pgxpool.Config){simple}},
		{name: "in a namespace", options: pgxstore.Options{Namespace: pgxstore.Namespace{
			Schema: `Shop "1"`, Prefix: `50%'s {x}_\`,
		}}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			var pools sync.Map // by their store
			histories := storetest.Histories{Count: *seeds}
			if way.inTx {
				histories.Joined = func(t *testing.T, s store.Store, calls func(store.Store)) {
					t.Helper()
					pool, _ := pools.Load(s)
					committed(t, pool.(*pgxpool.Pool), s.(*pgxstore.Store), calls)
				}
			}
			storetest.Agree(t, func(t *testing.T) store.Store {
				t.Helper()
				pool := newDatabase(t, way.options.Namespace, way.configure...)
				s := newStore(t, pool, way.options)
				pools.Store(s, pool)
				return s
			}, func(*testing.T) store.Store { return memstore.New() }, histories)
		})
	}
}

// committed makes calls in a transaction of the host and commits it.
func committed(t *testing.T, pool *pgxpool.Pool, s *pgxstore.Store, calls func(store.Store)) {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	calls(s.WithTx(tx))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}
