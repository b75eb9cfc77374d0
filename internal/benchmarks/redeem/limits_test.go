package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// TestEveryWayKeepsTheLimits: what is compared with the store does what it does. However
// many call at once, a key is used once, a customer has no more places than one, all
// together have no more than there are, and none of these is left over.
func TestEveryWayKeepsTheLimits(t *testing.T) {
	const callers = 16
	b := newBench(t)
	for name, w := range ways() {
		if w.unchecked || w.redis { // Redis runs one script after the other
			continue
		}
		t.Run(name, func(t *testing.T) {
			pool := scarce(t, b, 30)
			redeem, finish, err := w.open(t.Context(), pool)
			require.NoError(t, err)
			defer func() { require.NoError(t, finish()) }()
			ask := func(customer, key int) {
				_ = redeem(t.Context(), request{ // who gets no place is told so in many ways
					id: fmt.Sprintf("rsv_%04d%04d", customer, key), key: fmt.Sprint("key-", key), coupon: couponID(0),
					customer: fmt.Sprint("customer-", customer), at: time.Now(),
				})
			}
			for customer := range 10 {
				atOnce(callers, func(caller int) { ask(customer, caller/2) })
			}
			require.Equal(t, map[string]int{
				"customer-0": 1, "customer-1": 1, "customer-2": 1, "customer-3": 1, "customer-4": 1,
				"customer-5": 1, "customer-6": 1, "customer-7": 1, "customer-8": 1, "customer-9": 1,
			}, usesByCustomer(t, pool), "each alone")
			atOnce(4*callers, func(caller int) { ask(100+caller, 0) })
			require.Len(t, usesByCustomer(t, pool), 30, "all together")
		})
	}
}

// scarce is a database whose first coupon has that many places left, and one for each
// customer.
func scarce(t *testing.T, b *bench, places int) *pgxpool.Pool {
	t.Helper()
	d, err := b.database(t.Context(), few, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.drop(context.WithoutCancel(t.Context()))) })
	pool, err := connect(t.Context(), d.dsn, 16, false)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	_, err = pool.Exec(t.Context(), fmt.Sprintf(`UPDATE coupons SET max_uses = uses + %[1]d, max_uses_per_user = 1;
		UPDATE slots SET places = %[1]d, per_user = 1`, places), pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	return pool
}

func atOnce(callers int, call func(caller int)) {
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() { call(caller) })
	}
	group.Wait()
}

// usesByCustomer are those that were stored since the database was made.
func usesByCustomer(t *testing.T, pool *pgxpool.Pool) map[string]int {
	t.Helper()
	rows, err := pool.Query(t.Context(), `SELECT customer_id, count(*) FROM coupon_redemptions
		WHERE state = 'reserved' GROUP BY customer_id`)
	require.NoError(t, err)
	uses, by, n := make(map[string]int), "", 0
	_, err = pgx.ForEachRow(rows, []any{&by, &n}, func() error {
		uses[by] = n
		return nil
	})
	require.NoError(t, err)
	return uses
}
