package pgxstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// single is a pool of one connection, on which a store reserves.
type single struct {
	pool    *pgxpool.Pool
	store   *pgxstore.Store
	reserve func(n int) error // an exchange of points, or a checkout, by turns
}

func newSingle(t *testing.T, configure func(*pgxpool.Config), options pgxstore.Options) *single {
	t.Helper()
	s := &single{pool: postgrestest.NewPool(t, shared.NewCopy(t), func(c *pgxpool.Config) {
		c.MaxConns = 1
		configure(c)
	})}
	s.store = newStore(t, s.pool, options)
	c, q := newCoupon(t, "SINGLE", func(c *coupon.Coupon) { c.Limits = coupon.Limits{MaxUses: 1_000, MaxUsesPerUser: 1} }), quote(t)
	require.NoError(t, s.store.CreateCoupon(t.Context(), c))
	s.reserve = func(n int) error {
		r := checkout(c, q, fmt.Sprint("customer-", n), fmt.Sprint("key-", n), epoch)
		if n%2 == 0 {
			byPointsInstead(&r)
		}
		_, err := s.store.Reserve(t.Context(), r)
		return err
	}
	return s
}

// prepared returns how many statements that reserve one are prepared on the connection, by
// the store itself and by pgx.
func (s *single) prepared(t *testing.T) (own, pgxs int) {
	t.Helper()
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE name LIKE 'stmt\_%'),
		count(*) FILTER (WHERE name LIKE 'stmtcache\_%') FROM pg_prepared_statements WHERE statement LIKE '%couponkit_claim_%'`, pgx.QueryExecModeExec).Scan(&own, &pgxs))
	return own, pgxs
}

// TestReservationsAreSentDirectly: without anybody who would notice, what a reservation that
// runs alone takes is prepared once by the store itself; where the host listens to pgx,
// changes each connection's configuration or has chosen another mode, pgx is asked.
func TestReservationsAreSentDirectly(t *testing.T) {
	t.Parallel()
	type count struct{ own, pgxs int }
	for name, test := range map[string]struct {
		configure func(*pgxpool.Config)
		options   pgxstore.Options
		want      count
	}{
		"as it comes":          {want: count{own: 2}},
		"without group commit": {options: pgxstore.Options{Batch: pgxstore.BatchOptions{Off: true}}, want: count{own: 2}},
		"the mode is named":    {options: pgxstore.Options{QueryExecMode: pgx.QueryExecModeCacheStatement}, want: count{own: 2}},
		"another mode":         {options: pgxstore.Options{QueryExecMode: pgx.QueryExecModeCacheDescribe}},
		"another mode of the pool": {configure: func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		}},
		"the pool's mode overruled": {
			configure: func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec },
			options:   pgxstore.Options{QueryExecMode: pgx.QueryExecModeCacheStatement}, want: count{own: 2},
		},
		"a tracer": {configure: func(c *pgxpool.Config) { c.ConnConfig.Tracer = new(claimCalls) }, want: count{pgxs: 2}},
		"connections of their own": {configure: func(c *pgxpool.Config) {
			c.BeforeConnect = func(context.Context, *pgx.ConnConfig) error { return nil }
		}, want: count{pgxs: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.configure == nil {
				test.configure = func(*pgxpool.Config) {}
			}
			s := newSingle(t, test.configure, test.options)
			for n := range 6 {
				require.NoError(t, s.reserve(n))
			}
			own, pgxs := s.prepared(t)
			require.Equal(t, test.want, count{own, pgxs})
		})
	}
}

// TestTracersHearOfReservations, also those that are given to each connection.
func TestTracersHearOfReservations(t *testing.T) {
	t.Parallel()
	for name, configure := range map[string]func(*pgxpool.Config, *claimCalls){
		"of the pool": func(c *pgxpool.Config, heard *claimCalls) { c.ConnConfig.Tracer = heard },
		"of each connection": func(c *pgxpool.Config, heard *claimCalls) {
			c.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
				c.Tracer = heard
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var heard claimCalls
			s := newSingle(t, func(c *pgxpool.Config) { configure(c, &heard) }, pgxstore.Options{})
			for n := range 4 {
				require.NoError(t, s.reserve(n))
			}
			require.Equal(t, 4, heard.calls())
		})
	}
}

// TestAConnectionThatForgets: a host that makes its connections forget what was prepared,
// whether pgx knows of it or not, is not told of it by a reservation, which is stored once.
func TestAConnectionThatForgets(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(context.Context, *pgx.Conn) error{
		"with pgx": func(ctx context.Context, c *pgx.Conn) error { return c.DeallocateAll(ctx) },
		"without pgx": func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, "DISCARD ALL", pgx.QueryExecModeSimpleProtocol)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSingle(t, func(*pgxpool.Config) {}, pgxstore.Options{})
			for n := range 6 {
				require.NoError(t, s.reserve(n))
				if n < 2 { // each statement is prepared once
					continue
				}
				require.NoError(t, s.pool.AcquireFunc(t.Context(), func(c *pgxpool.Conn) error {
					return forget(t.Context(), c.Conn())
				}))
			}
			own, _ := s.prepared(t)
			require.Zero(t, own, "it has not forgotten")
			list, err := s.store.ListRedemptions(t.Context(), store.RedemptionList{})
			require.NoError(t, err)
			require.Len(t, list.Items, 6)
		})
	}
}
