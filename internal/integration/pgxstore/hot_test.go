package pgxstore_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// Three processes' worth of stores use a coupon up at once: two behind a proxy that pools
// transactions, with and without group commit, and one on the server itself. Exactly as many
// uses are given out as there are.
func TestExhaustionBehindAProxy(t *testing.T) {
	t.Parallel()
	const callers, allowed = 1_500, 500
	dsn := shared.NewCopy(t)
	behind := behindProxy(t, dsn)
	stores := []*pgxstore.Store{
		newStore(t, postgrestest.NewPool(t, dsn), pgxstore.Options{}),
		newStore(t, behind, pgxstore.Options{}),
		newStore(t, behind, pgxstore.Options{Batch: pgxstore.BatchOptions{MaxSize: 1}}),
	}
	c := create(t, stores[0], newCoupon(t, "LAST", coupon.Limits{MaxUses: allowed, MaxUsesPerUser: 1}))
	q := quote(t)
	var placed, refused atomic.Int64
	var group errgroup.Group
	for n := range callers {
		group.Go(func() error {
			_, err := stores[n%len(stores)].Reserve(t.Context(), checkout(c, q, fmt.Sprint("customer-", n), "k"))
			switch {
			case err == nil:
				placed.Add(1)
			case errors.Is(err, store.ErrLimit):
				refused.Add(1)
			default:
				return err
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, []int64{allowed, callers - allowed}, []int64{placed.Load(), refused.Load()})
	require.NoError(t, storetest.Check(t.Context(), stores[0]))
}

// behindProxy returns a pool of more connections than the proxy has to the server.
func behindProxy(t *testing.T, dsn string) *pgxpool.Pool {
	t.Helper()
	return postgrestest.NewPool(t, shared.Need(t).NewProxy(t, 4).Through(t, dsn), func(c *pgxpool.Config) {
		c.MaxConns = 16
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	})
}

// Customers check out, hand over, pay and cancel with hot coupons in two processes at once.
// The server's log has neither a deadlock nor a unique violation.
func TestNormalRunLogsNoConflict(t *testing.T) {
	t.Parallel()
	server, err := postgrestest.Start(t.Context())
	if errors.Is(err, postgrestest.ErrNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	if server.Foreign() {
		t.Skip("the log of a foreign server cannot be read")
	}
	dsn := server.NewDatabase(t)
	pools := []*pgxpool.Pool{postgrestest.NewPool(t, dsn), postgrestest.NewPool(t, dsn)}
	require.NoError(t, pgxstore.Migrate(t.Context(), pools[0], pgxstore.Options{}))
	stores := []*pgxstore.Store{newStore(t, pools[0], pgxstore.Options{}), newStore(t, pools[1], pgxstore.Options{})}
	coupons := []coupon.Coupon{
		create(t, stores[0], newCoupon(t, "A", coupon.Limits{MaxUses: 1_000, MaxUsesPerUser: 4})),
		create(t, stores[0], newCoupon(t, "B", coupon.Limits{MaxUses: 2_000})),
		create(t, stores[0], newCoupon(t, "C", coupon.Limits{MaxUsesPerUser: 3})),
		create(t, stores[0], newCoupon(t, "D", coupon.Limits{})),
	}
	q := quote(t)
	const clients, rounds = 32, 30
	var group errgroup.Group
	for client := range clients {
		group.Go(func() error {
			for n := range rounds {
				// Two clients are one customer, in both processes.
				customer, key := fmt.Sprint("customer-", client/2+n%3), fmt.Sprint(client, "-", n)
				s := stores[(client+n)%2]
				if err := shop(t, s, coupons[(client+n)%4], coupons[(client+2*n+1)%4], q, customer, key, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.NoError(t, storetest.Check(t.Context(), stores[0]))
	log, err := server.LogTail(1 << 24)
	require.NoError(t, err)
	require.NotContains(t, log, "deadlock detected")
	require.NotContains(t, log, "duplicate key")
	require.LessOrEqual(t, strings.Count(log, "another transaction was first"), clients, "what meets at first uses of counters")
}

// shop checks out, hands over to another coupon, and pays or cancels. Refusals for limits are
// part of it.
func shop(t *testing.T, s store.Store, c, then coupon.Coupon, q pricing.Quote, customer, key string, n int) error {
	t.Helper()
	first, err := s.Reserve(t.Context(), checkout(c, q, customer, key))
	if err != nil {
		if errors.Is(err, store.ErrLimit) {
			return nil
		}
		return err
	}
	order := first.Order.ID
	if n%3 == 0 {
		handed := checkout(then, q, customer, key+"-2")
		handed.Order.Replaces = order
		switch _, err := s.Reserve(t.Context(), handed); {
		case err == nil:
			order = handed.Order.ID
		case !errors.Is(err, store.ErrLimit):
			return err
		}
	}
	event := paid(order)
	if n%4 == 1 {
		event = store.Settlement{Event: redemption.Event{Kind: redemption.Cancelled, At: at, OrderID: order}}
	}
	_, err = s.Apply(t.Context(), event)
	return err
}
