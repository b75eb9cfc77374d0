package pgxstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// A connection that has planned its batches while the tables were empty keeps these plans.
// They read what belongs to the customers of a batch, however many others there are
// later: a page here may be read several times, but not once for every redemption.
func TestPlansThatWereMadeForEmptyTables(t *testing.T) {
	t.Parallel()
	const others = 5_000
	one, two := "ARRAY['cpn_hot']", "ARRAY['cpn_cold', 'cpn_hot']"
	for name, test := range map[string]struct {
		coupons string
		limits  coupon.Limits
	}{
		"one coupon, both limits":    {one, coupon.Limits{MaxUses: 1_000_000, MaxUsesPerUser: 2}},
		"one coupon, limit of all":   {one, coupon.Limits{MaxUses: 1_000_000}},
		"one coupon, limit of each":  {one, coupon.Limits{MaxUsesPerUser: 2}},
		"one coupon, no limit":       {one, coupon.Limits{}},
		"two coupons, both limits":   {two, coupon.Limits{MaxUses: 1_000_000, MaxUsesPerUser: 2}},
		"two coupons, limit of each": {two, coupon.Limits{MaxUsesPerUser: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newDatabase(t, pgxstore.Namespace{}, func(c *pgxpool.Config) { c.MaxConns = 1 })
			s := newStore(t, pool, pgxstore.Options{})
			for _, id := range []string{"cold", "hot"} {
				require.NoError(t, s.CreateCoupon(t.Context(), newCoupon(t, id, func(c *coupon.Coupon) { c.Limits = test.limits })))
			}
			for _, cautious := range []bool{false, true} {
				claimTen(t, pool, test.coupons, "first", cautious) // plans are made now
			}
			_, err := pool.Exec(t.Context(), `INSERT INTO coupon_redemptions (id, key, coupon_id, customer_id, state, origin, order_id, created_at, updated_at)
				SELECT 'rsv_' || n, 'k', 'cpn_hot', 'other' || n, 'reserved', 'checkout', 'ord_' || n, now(), now() FROM generate_series(1, $1) n`, others)
			require.NoError(t, err)
			for _, cautious := range []bool{false, true} {
				if pages := claimTen(t, pool, test.coupons, "later", cautious); pages > others/10 {
					t.Errorf("a batch of ten reads %d pages with %d redemptions of others (cautious: %t)", pages, others, cautious)
				}
			}
		})
	}
}

// claimTen reserves for ten customers in one batch and returns how many pages that reads.
func claimTen(t *testing.T, pool *pgxpool.Pool, coupons, batch string, cautious bool) (pages int) {
	t.Helper()
	batch += fmt.Sprint(cautious)
	ten := func(value string) string { return fmt.Sprintf("array_fill(%s, ARRAY[10])", value) }
	named := func(prefix string) string {
		return fmt.Sprintf("ARRAY(SELECT '%s%s' || n FROM generate_series(0, 9) n)", prefix, batch)
	}
	none := "'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'"
	var plan []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	err := pool.QueryRow(t.Context(), fmt.Sprintf(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
		SELECT couponkit_claim_plain(%[1]s, array_fill(10::bigint / cardinality(%[1]s), ARRAY[cardinality(%[1]s)]),
			ARRAY(SELECT 1 + n %% cardinality(%[1]s) FROM generate_series(0, 9) n),
			%[2]s, %[3]s, %[4]s, %[5]s, %[6]s, %[7]s, %[8]s, %[9]s, %[10]s, %[10]s, %[10]s, %[6]s, %[11]s, %[12]t)`,
		coupons, named("rsv_"), named("key"), named("customer"), ten("'checkout'::text"), ten("0::bigint"), ten("'none'::text"),
		named("ord_"), ten("''::text"), ten("now()"), none, cautious)).Scan(&plan)
	require.NoError(t, err)
	require.Len(t, plan, 1)
	var stored int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM coupon_redemptions WHERE starts_with(customer_id, $1)`, "customer"+batch).Scan(&stored))
	require.Equal(t, 10, stored)
	return plan[0].Plan.Hit + plan[0].Plan.Read
}

// Nor does a connection read whole tables that has planned its reservations alone while there
// were few coupons and nothing else, and it does not plan each of them.
func TestPlansOfReservationsAlone(t *testing.T) {
	t.Parallel()
	var plans []string
	s := newSingle(t, func(c *pgxpool.Config) {
		c.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
			if _, plan, is := strings.Cut(n.Message, "plan:\n"); is {
				plans = append(plans, plan)
			}
		}
		c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, `LOAD 'auto_explain'; SET auto_explain.log_nested_statements = on`, pgx.QueryExecModeSimpleProtocol)
			return err
		}
	}, pgxstore.Options{})
	for n := range 9 {
		require.NoError(t, s.store.CreateCoupon(t.Context(), newCoupon(t, fmt.Sprint("OTHER-", n))))
	}
	for _, setting := range []string{"VACUUM (ANALYZE) coupon_redemptions, orders, coupon_counters", "SET client_min_messages = log"} {
		_, err := s.pool.Exec(t.Context(), setting, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
	}
	const usual = 12 // PostgreSQL makes five plans for the values of a statement, whatever they cost
	for n := range usual {
		require.NoError(t, s.reserve(n))
	}
	_, err := s.pool.Exec(t.Context(), "SET auto_explain.log_min_duration = 0", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	for n := range 2 {
		plans = nil
		require.NoError(t, s.reserve(usual+n))
		all := strings.Join(plans, "\n")
		for _, index := range []string{"coupon_counters_pkey", "coupon_redemptions_usage_key"} {
			require.Contains(t, all, index)
		}
		require.NotContains(t, all, "Seq Scan")
		require.NotRegexp(t, `(Cond|Filter|Output): .*customer-`, all)
	}
}
