package pgxstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/store/pgxstore"
)

// The checks of step 21.
const (
	checkOfRedemptions = `couponkit_valid_redemption(jsonb_populate_record(NULL::coupon_redemptions, to_jsonb(r)))`
	checkOfOrders      = `couponkit_valid_order(id, key, customer_id, state, coupon_id, reservation_id, discount_amount, coupon IS NULL)`
)

// Of each column values that a check may mind. A length of 256 bytes is of less than 256
// characters.
const (
	everyState = `unnest(ARRAY['reserved', 'completed', 'released', '', 'RESERVED']) state, unnest(ARRAY['checkout', 'points', 'payment', 'gift']) origin,
		unnest(ARRAY['', 'c']) customer_id, unnest(ARRAY['', 'o']) order_id, unnest(ARRAY['', 's']) session_id,
		unnest(ARRAY[-1::bigint, 0, 1, 2]) points, unnest(ARRAY['none', 'pending', 'debited', 'refund_due', 'refunded', 'spent']) points_state,
		unnest(ARRAY[false, true]) awaiting_payment, unnest(ARRAY[false, true]) over_limit,
		unnest(ARRAY[NULL, now()]) deadline, unnest(ARRAY[NULL, now()]) completed_at, unnest(ARRAY[NULL, now()]) released_at,
		unnest(ARRAY['i']) id, unnest(ARRAY['k']) key, unnest(ARRAY['cpn_1']) coupon_id`
	everyLength = `unnest(lengths) id, unnest(lengths) key, unnest(lengths) coupon_id, unnest(lengths) customer_id, unnest(lengths) order_id,
		unnest(lengths) session_id, unnest(ARRAY['reserved']) state, unnest(ARRAY['payment']) origin, unnest(ARRAY[0::bigint]) points,
		unnest(ARRAY['none']) points_state, unnest(ARRAY[false]) awaiting_payment, unnest(ARRAY[false]) over_limit,
		unnest(ARRAY[NULL::timestamptz]) deadline, unnest(ARRAY[NULL::timestamptz]) completed_at, unnest(ARRAY[NULL::timestamptz]) released_at`
	everyOrder = `unnest(ARRAY['open', 'awaiting_payment', 'paid', 'cancelled', '', 'OPEN']) state, unnest(ARRAY['', 'cpn_1']) coupon_id,
		unnest(ARRAY['', 'rsv_1']) reservation_id, unnest(ARRAY[NULL::jsonb, 'null', '{}']) coupon, unnest(ARRAY[-1::bigint, 0, 1]) discount_amount,
		unnest(lengths) id, unnest(lengths) key, unnest(lengths) customer_id`
	lengths = `(SELECT ARRAY['', 'x', repeat('x', 255), repeat('x', 256), repeat('ü', 127), repeat('ü', 128)] AS lengths) l, `
)

// TestTheCheckSaysWhatTheFourSaid: since step 14 one check of redemptions stands for the
// four of step 1, and since step 21 one of orders. Of whatever is stored they say the same.
func TestTheCheckSaysWhatTheFourSaid(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t, pgxstore.Namespace{})
	formerTables(t, pool)
	for name, test := range map[string]struct{ table, check, rows string }{
		"states of redemptions":  {"coupon_redemptions", checkOfRedemptions, everyState},
		"lengths in redemptions": {"coupon_redemptions", checkOfRedemptions, lengths + everyLength},
		"orders":                 {"orders", checkOfOrders, lengths + everyOrder},
	} {
		former := formerChecks(t, pool, test.table)
		require.Len(t, former, 4, name)
		var all, valid, other int
		require.NoError(t, pool.QueryRow(t.Context(), fmt.Sprintf(`
			SELECT count(*), count(*) FILTER (WHERE former), count(*) FILTER (WHERE former IS DISTINCT FROM %[1]s)
			FROM (SELECT *, (%[2]s) AS former FROM %[3]s) r`, test.check, strings.Join(former, " AND "), test.rows)).Scan(&all, &valid, &other), name)
		t.Logf("%s: %d of %d are valid", name, valid, all)
		require.Zero(t, other, name)
		require.Positive(t, valid, name)
		require.Less(t, valid, all, name)
	}
}

// formerTables makes the tables as they were before step 14.
func formerTables(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	steps, err := pgxstore.Migrations(pgxstore.Namespace{Schema: "former"})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "CREATE SCHEMA former;"+steps[0].SQL, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
}

func formerChecks(t *testing.T, pool *pgxpool.Pool, table string) (checks []string) {
	t.Helper()
	rows, err := pool.Query(t.Context(), `SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint
		WHERE contype = 'c' AND conrelid = ('former.' || $1)::regclass`, table)
	require.NoError(t, err)
	checks, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return checks
}

// TestNoRedemptionIsStoredUnchecked: what no redemption can be is refused, whether it is
// stored so or changed into it.
func TestNoRedemptionIsStoredUnchecked(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t, pgxstore.Namespace{})
	insert := `INSERT INTO coupon_redemptions (id, key, coupon_id, customer_id, state, origin, created_at, updated_at)
		VALUES ($1, 'k' || $1, 'cpn_1', 'c', $2, 'payment', now(), now())`
	_, err := pool.Exec(t.Context(), insert, "sound", "reserved")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), insert, "unsound", "completed")
	checkViolated(t, err, "coupon_redemptions_check")
	for _, change := range []string{
		"key = ''", "customer_id = repeat('x', 256)", "state = 'used'", "state = 'completed'", "state = 'released'", "origin = 'gift'", "origin = 'checkout'",
		"points = 1", "points_state = 'pending'", "over_limit = true", "completed_at = now()",
	} {
		_, err = pool.Exec(t.Context(), `UPDATE coupon_redemptions SET `+change)
		checkViolated(t, err, "coupon_redemptions_check")
	}
}

// TestNoOrderIsStoredUnchecked: likewise of orders.
func TestNoOrderIsStoredUnchecked(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t, pgxstore.Namespace{})
	insert := `INSERT INTO orders (id, key, customer_id, state, quote, created_at, updated_at) VALUES ($1, 'k' || $1, 'c', $2, '{}', now(), now())`
	_, err := pool.Exec(t.Context(), insert, "sound", "open")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), insert, "unsound", "shipped")
	checkViolated(t, err, "orders_check")
	for _, change := range []string{
		"key = ''", "customer_id = ''", "customer_id = repeat('x', 256)", "state = 'shipped'", "coupon = '{}'", "coupon_id = 'cpn_1'", "discount_amount = -1",
	} {
		_, err = pool.Exec(t.Context(), `UPDATE orders SET `+change)
		checkViolated(t, err, "orders_check")
	}
}

func checkViolated(t *testing.T, err error, constraint string) {
	t.Helper()
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "23514" || refused.ConstraintName != constraint {
		t.Error(err)
	}
}
