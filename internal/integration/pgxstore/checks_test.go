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

// checkedColumns are the columns that the check of redemptions is about.
const checkedColumns = `id, key, coupon_id, customer_id, state, origin, order_id, session_id, points, points_state,
	awaiting_payment, over_limit, deadline, completed_at, released_at`

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
	lengths = `(SELECT ARRAY['', 'x', repeat('x', 255), repeat('x', 256), repeat('ü', 127), repeat('ü', 128)] AS lengths) l, `
)

// TestTheCheckSaysWhatTheFourSaid: step 14 has one check of redemptions for the four of
// step 1. Of whatever is stored it says the same.
func TestTheCheckSaysWhatTheFourSaid(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t, pgxstore.Namespace{})
	former := formerChecks(t, pool)
	require.Len(t, former, 4)
	for name, rows := range map[string]string{"states": everyState, "lengths": lengths + everyLength} {
		var all, valid, other int
		require.NoError(t, pool.QueryRow(t.Context(), fmt.Sprintf(`
			SELECT count(*), count(*) FILTER (WHERE former), count(*) FILTER (WHERE former IS DISTINCT FROM couponkit_valid_redemption(%[1]s))
			FROM (SELECT *, (%[2]s) AS former FROM %[3]s) r`, checkedColumns, strings.Join(former, " AND "), rows)).Scan(&all, &valid, &other))
		t.Logf("%s: %d of %d are valid", name, valid, all)
		require.Zero(t, other, name)
		require.Positive(t, valid, name)
		require.Less(t, valid, all, name)
	}
}

// formerChecks are the checks of redemptions before step 14.
func formerChecks(t *testing.T, pool *pgxpool.Pool) (checks []string) {
	t.Helper()
	steps, err := pgxstore.Migrations(pgxstore.Namespace{Schema: "former"})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "CREATE SCHEMA former;"+steps[0].SQL, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	rows, err := pool.Query(t.Context(), `SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint
		WHERE contype = 'c' AND conrelid = 'former.coupon_redemptions'::regclass`)
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
	checkViolated(t, err)
	for _, change := range []string{
		"key = ''", "customer_id = repeat('x', 256)", "state = 'used'", "state = 'completed'", "state = 'released'", "origin = 'gift'", "origin = 'checkout'",
		"points = 1", "points_state = 'pending'", "over_limit = true", "completed_at = now()",
	} {
		_, err = pool.Exec(t.Context(), `UPDATE coupon_redemptions SET `+change)
		checkViolated(t, err)
	}
}

func checkViolated(t *testing.T, err error) {
	t.Helper()
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "23514" || refused.ConstraintName != "coupon_redemptions_check" {
		t.Error(err)
	}
}
