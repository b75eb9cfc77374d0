package pgxstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/patience"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
)

// A transaction of the host holds one coupon. Reservations of it wait, and those of another
// coupon for other customers do not. A caller who leaves takes nobody's answer away.
func TestABlockedCoupon(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t))
	s := newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{Workers: 4}})
	held := create(t, s, newCoupon(t, "HELD", coupon.Limits{MaxUses: 100}))
	free := create(t, s, newCoupon(t, "FREE", coupon.Limits{MaxUses: 100}))
	q := quote(t)
	_, err := s.Reserve(t.Context(), checkout(held, q, "first", "k"))
	require.NoError(t, err)
	host, err := pool.Begin(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	defer func() { _ = host.Rollback(context.WithoutCancel(t.Context())) }() // or a failure would wait for it
	_, err = s.WithTx(host).Reserve(t.Context(), checkout(held, q, "host", "k"))
	require.NoError(t, err)

	const callers = 20
	var waiting errgroup.Group
	for n := range callers {
		waiting.Go(func() error {
			_, err := s.Reserve(t.Context(), checkout(held, q, fmt.Sprint("customer-", n), "k"))
			return err
		})
	}
	leaving, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer leave()
	_, err = s.Reserve(leaving, checkout(held, q, "leaver", "k"))
	require.ErrorIs(t, err, context.DeadlineExceeded)

	bounded, cancel := patience.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := range 5 {
		_, err := s.Reserve(bounded, checkout(free, q, fmt.Sprint("other-", n), "k"))
		require.NoError(t, err)
	}
	require.NoError(t, host.Commit(context.WithoutCancel(t.Context())))
	require.NoError(t, waiting.Wait())
	counts, err := s.Counts(t.Context(), []string{eligibility.CouponUses(held.ID), eligibility.CouponUses(free.ID)})
	require.NoError(t, err)
	require.GreaterOrEqual(t, counts[0].Reserved, int64(callers+2))
	require.Equal(t, int64(5), counts[1].Reserved)
}

// A request that the server refuses fails alone; its neighbours in the batch do not. The first call waits for a
// transaction of the host, and all others join a batch meanwhile.
func TestABadNeighbour(t *testing.T) {
	t.Parallel()
	const callers = 64
	pool := postgrestest.NewPool(t, shared.NewCopy(t))
	_, err := pool.Exec(t.Context(), "ALTER TABLE couponkit.orders ADD CHECK (customer_id <> 'bad')")
	require.NoError(t, err)
	sizes := make(chan int, 1_000)
	s := newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{Workers: 1, OnBatch: func(r pgxstore.BatchReport) { sizes <- r.Size }}})
	c := create(t, s, newCoupon(t, "TEN", coupon.Limits{MaxUses: 100}))
	q := quote(t)
	host, err := pool.Begin(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	defer func() { _ = host.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = s.WithTx(host).Reserve(t.Context(), checkout(c, q, "host", "k"))
	require.NoError(t, err)
	var group errgroup.Group
	calls := make([]queuing, callers)
	call := func(n int) {
		calls[n].Context = t.Context()
		group.Go(func() error {
			customer := fmt.Sprint("customer-", n)
			if n == 40 {
				customer = "bad"
			}
			_, err := s.Reserve(&calls[n], checkout(c, q, customer, "k"))
			if customer == "bad" {
				if err == nil {
					return fmt.Errorf("the bad request was stored")
				}
				return nil
			}
			return err
		})
	}
	call(0)
	waitForLock(t.Context(), t, pool, nil)
	for n := range callers - 1 {
		call(n + 1)
	}
	waitInQueue(calls[1:])
	require.NoError(t, host.Commit(context.WithoutCancel(t.Context())))
	require.NoError(t, group.Wait())
	require.NoError(t, s.Close())
	close(sizes)
	largest := 0
	for size := range sizes {
		largest = max(largest, size)
	}
	require.Equal(t, callers-1, largest, "calls were joined")
	_, err = s.Reserve(t.Context(), checkout(c, q, "late", "k"))
	require.ErrorIs(t, err, store.ErrClosed)
}
