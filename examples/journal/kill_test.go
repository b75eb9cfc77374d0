package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// The test's executable is the program if aheadVariable tells how far ahead its clock is.
// plantVariable then names the beginning of a statement that runs outside of its transaction.
const (
	aheadVariable = "COUPONKIT_JOURNAL_AHEAD"
	plantVariable = "COUPONKIT_JOURNAL_PLANT"
)

var (
	kills  = flag.Int("kills", testsize.Of(20, 200), "how often the program is killed")
	shared postgrestest.Shared
)

func TestMain(m *testing.M) {
	if ahead, err := time.ParseDuration(os.Getenv(aheadVariable)); err == nil {
		now := func() time.Time { return time.Now().Add(ahead) }
		err := run(context.Background(), os.Args[1:], os.Stdout, now, func(pool *pgxpool.Pool) pgxstore.Beginner {
			if plant := os.Getenv(plantVariable); plant != "" {
				return leakyPool{pool, plant}
			}
			return pool
		})
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := errors.Join(shared.Close(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// leakyPool begins transactions that commit one kind of statement at once.
type leakyPool struct {
	*pgxpool.Pool

	plant string
}

func (p leakyPool) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := p.Pool.Begin(ctx)
	return leakyTx{tx, p}, err
}

type leakyTx struct {
	pgx.Tx

	pool leakyPool
}

func (tx leakyTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if strings.HasPrefix(sql, tx.pool.plant) {
		tag, err := tx.pool.Exec(ctx, sql, args...)
		time.Sleep(500 * time.Millisecond) // a slow commit is one that a kill soon hits
		return tag, err
	}
	return tx.Tx.Exec(ctx, sql, args...)
}

// TestKilledAtAnyPoint kills the shop a few hundred times while customers buy, pay, pay late or
// leave, and while events are lost, repeated and late. Afterwards each paid order was shipped
// exactly once, the orders of the shop and the redemptions agree, no coupon is oversold, and
// each entry of the journal was consumed once, in order.
func TestKilledAtAnyPoint(t *testing.T) {
	kills := *kills
	w := newWorld(t, "")
	w.customersBuy(4)
	for n := range kills {
		if n%(kills/4+1) == kills/4 {
			w.laterBy(80 * time.Minute) // the sweep finds sessions that have ended
		}
		w.life()
		if n%10 == 9 {
			require.Empty(t, w.violations(t.Context()), "after %d kills", n+1)
		}
	}
	w.settle()
	require.Empty(t, w.violations(t.Context()))
	require.Empty(t, w.differences(t.Context()))
	require.NoError(t, storetest.Check(t.Context(), w.store))
	t.Log(w.summary())
}

// TestKillingNotices takes statements out of their transactions.
func TestKillingNotices(t *testing.T) {
	for plant, want := range map[string]string{
		"INSERT INTO shipments": "shipped 2 times", "UPDATE journal_cursor": "not shipped", "UPDATE orders": "is paid in the shop",
	} {
		t.Run(plant, func(t *testing.T) {
			w := newWorld(t, plant)
			w.customersBuy(4)
			for n := range 200 {
				w.life()
				found := w.violations(t.Context())
				if strings.Contains(strings.Join(found, "\n"), want) {
					t.Logf("after %d kills: %s", n+1, found[0])
					return
				}
				require.Empty(t, found)
			}
			t.Error("200 kills show nothing")
		})
	}
}

// life starts the program and kills it: now and then while it starts, else after some calls of
// customers and of Stripe's API, so that a slow machine lets it do as much. One program in three
// lives on beside the next one.
func (w *world) life() {
	w.t.Helper()
	until := w.calls.Load() + rand.Int64N(15)
	p := w.start()
	if rand.IntN(8) > 0 {
		p.listens()
		for n := 0; n < 1000 && w.calls.Load() < until; n++ {
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(rand.N(20 * time.Millisecond))
	if w.beside != nil {
		w.beside.kill()
	}
	if w.beside = nil; rand.IntN(3) == 0 {
		w.beside = p
		return
	}
	p.kill()
}

// customersBuy lets so many customers buy at once until settle.
func (w *world) customersBuy(customers int) {
	ctx, leave := context.WithCancel(w.t.Context())
	var buying, delivering sync.WaitGroup
	for c := range customers {
		buying.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				w.purchase(fmt.Sprintf("%d-%d", c, n))
			}
		})
	}
	ended := make(chan struct{})
	delivering.Go(func() { w.deliverUntil(ended) })
	w.leave = sync.OnceFunc(func() {
		leave()
		buying.Wait()
		close(ended)
		delivering.Wait()
	})
	w.t.Cleanup(func() { w.given.Store(true); w.leave() })
}
