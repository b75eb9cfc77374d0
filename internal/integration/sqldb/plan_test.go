package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// recorder connects to a database and remembers what is prepared on it.
type recorder struct {
	beneath driver.Driver
	dsn     string

	mu    sync.Mutex
	texts []string
}

func (r *recorder) Driver() driver.Driver { return r.beneath }

func (r *recorder) Connect(context.Context) (driver.Conn, error) {
	conn, err := r.beneath.Open(r.dsn)
	return recorded{conn, r}, err
}

// recorded has only the methods that every connection has, so that all statements
// are prepared on it.
type recorded struct {
	driver.Conn
	by *recorder
}

func (c recorded) Prepare(text string) (driver.Stmt, error) {
	c.by.mu.Lock()
	c.by.texts = append(c.by.texts, text)
	c.by.mu.Unlock()
	return c.Conn.Prepare(text)
}

// taken returns what was prepared since the last time.
func (r *recorder) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := r.texts
	r.texts = nil
	return texts
}

// heard opens a store on a new file, which records what it prepares, and a connection of
// the test's own.
func heard(t *testing.T) (s *sqlstore.Store, by *recorder, plain *sql.DB) {
	t.Helper()
	ctx := t.Context()
	plain, err := openSQLite(ctx, sqlitedriver.Modernc, filepath.Join(t.TempDir(), "coupons.db"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = plain.Close() })
	require.NoError(t, sqlstore.Migrate(ctx, plain, sqlstore.SQLite, ""))
	var file string
	require.NoError(t, plain.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file))
	by = &recorder{beneath: plain.Driver(), dsn: sqlitedriver.DSN(file)}
	db := sql.OpenDB(by)
	t.Cleanup(func() { _ = db.Close() })
	s, err = sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, by, plain
}

// TestAKeyIsFoundByAnIndex: no statement that asks for a key reads all redemptions or
// orders, though those of checkouts are in the index of orders alone.
func TestAKeyIsFoundByAnIndex(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, by, plain := heard(t)
	c := limitedCoupon("KEYS", 1000, 0)
	require.NoError(t, s.CreateCoupon(ctx, c))
	_, err := s.Reserve(ctx, exchangeOf(c, "ann", "exchange"))
	require.NoError(t, err)
	reused := checkoutOf(c, "ann", "checkout")
	reused.Redemption.Key, reused.Order.Key = "key-exchange", "key-exchange"
	_, err = s.Reserve(ctx, reused)
	require.ErrorIs(t, err, store.ErrKeyReused)
	_, err = s.Reserve(ctx, checkoutOf(c, "ann", "checkout"))
	require.NoError(t, err)
	payment := settlementOf(redemption.SessionCompleted, redemption.Redemption{}, "cs_unreserved")
	payment.NewID, payment.CouponID, payment.CustomerID = "key-checkout", c.ID, "ann"
	_, err = s.Settle(ctx, payment)
	require.ErrorIs(t, err, store.ErrConflict)

	var asked int
	together := false
	for round := 0; !together && round < 100; round++ {
		var running sync.WaitGroup
		for i := range 16 {
			running.Go(func() {
				name := fmt.Sprintf("together-%d-%d", round, i)
				if _, err := s.Reserve(ctx, checkoutOf(c, name, name)); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		for _, text := range by.taken() {
			together = together || strings.HasPrefix(text, "WITH asked")
			if !strings.Contains(text, "idempotency_key = ") {
				continue
			}
			asked++
			for _, step := range plan(t, plain, text) {
				require.NotRegexp(t, `^SCAN (r|k|o)\b`, step, text) // redemptions and orders
			}
		}
	}
	require.True(t, together, "nobody waited for the writer")
	require.GreaterOrEqual(t, asked, 3)
}

// TestAListOfACustomerReadsOwnRows: those of a customer, of all coupons, are found by the
// indexes of keys and of orders.
func TestAListOfACustomerReadsOwnRows(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, by, plain := heard(t)
	c, other := limitedCoupon("LISTED", 1000, 0), limitedCoupon("OTHER", 1000, 0)
	for _, c := range []coupon.Coupon{c, other} {
		require.NoError(t, s.CreateCoupon(ctx, c))
	}
	for _, r := range []store.Reservation{
		checkoutOf(c, "ann", "a"), exchangeOf(other, "ann", "b"), checkoutOf(c, "bob", "c"), exchangeOf(c, "bob", "d"), checkoutOf(other, "ann", "e"),
	} {
		_, err := s.Reserve(ctx, r)
		require.NoError(t, err)
	}
	payment := settlementOf(redemption.SessionCompleted, redemption.Redemption{}, "cs_unreserved")
	payment.NewID, payment.CouponID, payment.CustomerID = "rdm_paid", c.ID, "ann"
	_, err := s.Settle(ctx, payment)
	require.NoError(t, err)
	want := map[string]bool{"rdm_paid": true}
	for _, r := range []store.Reservation{checkoutOf(c, "ann", "a"), exchangeOf(other, "ann", "b"), checkoutOf(other, "ann", "e")} {
		want[r.Redemption.ID] = true
	}

	by.taken()
	page, err := s.ListRedemptions(ctx, store.RedemptionList{CustomerID: "ann"})
	require.NoError(t, err)
	got := map[string]bool{}
	for _, r := range page.Items {
		got[r.ID] = true
	}
	require.Empty(t, cmp.Diff(want, got))
	require.EqualValues(t, len(want), page.Total)
	_, err = s.ListRedemptions(ctx, store.RedemptionList{CouponID: c.ID, CustomerID: "ann", After: store.Cursor{CreatedAt: noon(), ID: "x"}.String()})
	require.NoError(t, err)
	asked := 0
	for _, text := range by.taken() {
		if strings.Contains(text, "coupon_redemptions") {
			asked++
			for _, step := range plan(t, plain, text) {
				require.NotRegexp(t, `^SCAN (r|k|o)\b`, step, text)
				require.NotContains(t, step, "coupon_redemptions_coupon_idx", text) // all of the coupon
			}
		}
	}
	require.Equal(t, 4, asked, "the counts and the pages")
}

// TestTheSweepReadsWhatIsDue: however many redemptions and orders there are, it finds what is
// due by indexes of what can be due.
func TestTheSweepReadsWhatIsDue(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, by, plain := heard(t)
	_, err := s.Due(ctx, noon(), 10)
	require.NoError(t, err)
	_, err = s.OpenOrders(ctx, noon(), 10)
	require.NoError(t, err)
	var found []string
	for _, text := range by.taken() {
		for _, step := range plan(t, plain, text) {
			for _, index := range []string{"due_idx", "refund_idx", "open_idx"} {
				if strings.Contains(step, index) {
					found = append(found, index)
				}
			}
			if !strings.Contains(step, "refund_idx") { // which has nothing else
				require.NotRegexp(t, `^SCAN (r|d|o)\b`, step, text)
			}
		}
	}
	if diff := cmp.Diff([]string{"due_idx", "refund_idx", "open_idx"}, found); diff != "" {
		t.Errorf("indexes that are used (-want +got):\n%s", diff)
	}
}

// TestTotalsAreCountedUpToAPoint: a page of a large list takes no longer than one of a small.
func TestTotalsAreCountedUpToAPoint(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const counted = 10_000
	s, _, plain := heard(t)
	_, err := plain.ExecContext(ctx, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO coupon_redemptions (id, idempotency_key, coupon_id, customer_id, state, origin, order_id, session_id, points, points_state,
			awaiting_payment, over_limit, deadline, created_at, updated_at)
		SELECT 'rsv_' || i, 'k' || i, 'cpn_' || (i > ?), 'ann', 'reserved', 'checkout', 'ord_' || i, '', 0, 'none', 0, 0, i, i, i FROM n`,
		counted+1, counted)
	require.NoError(t, err)
	for couponID, atLeast := range map[string]bool{"": true, "cpn_0": false} {
		page, err := s.ListRedemptions(ctx, store.RedemptionList{CouponID: couponID})
		require.NoError(t, err)
		require.EqualValues(t, counted, page.Total)
		require.Equal(t, atLeast, page.AtLeast, "of %q", couponID)
	}
}

// TestALookUpReadsTheCustomersRows: however often a coupon was redeemed, a look-up
// finds the uses of one customer by an index that has the customer in it.
func TestALookUpReadsTheCustomersRows(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, by, plain := heard(t)
	code, err := coupon.ParseCode("ANY")
	require.NoError(t, err)
	for name, asked := range map[string]store.LookUp{
		"by ID":   {CouponID: "cpn_1", CustomerID: "ann", Email: "ann@example.org"},
		"by code": {Code: code, CustomerID: "ann", Email: "ann@example.org"},
	} {
		by.taken()
		_, err := s.LookUp(ctx, asked)
		require.ErrorIs(t, err, coupon.ErrNotFound, name)
		reads := 0
		for _, text := range by.taken() {
			for _, step := range plan(t, plain, text) {
				if strings.Contains(step, "coupon_redemptions") {
					reads++
					require.Contains(t, step, "(coupon_id=? AND customer_id=?)", "%s: %s", name, text)
				}
			}
		}
		require.Positive(t, reads, "%s: nothing was asked about redemptions", name)
	}
}

// plan returns the steps in which SQLite runs a statement.
func plan(t *testing.T, db *sql.DB, statement string) []string {
	t.Helper()
	count := strings.Count(statement, "?")
	if strings.Contains(statement, "?2") {
		count = 2 // by their numbers
	}
	values := make([]any, count)
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, values...)
	require.NoError(t, err, statement)
	defer func() { require.NoError(t, rows.Close()) }()
	var steps []string
	for rows.Next() {
		var id, parent, unused int64
		var step string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	return steps
}

// TestAUseIsWrittenWithoutTemporaryTables: SQLite makes one for a list of words in a
// condition of a column, each time that a statement writes the column. What takes an
// exchange at once reads the table that it writes, and has one for that.
func TestAUseIsWrittenWithoutTemporaryTables(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, by, plain := heard(t)
	c := limitedCoupon("WRITTEN", 100_000, 2)
	require.NoError(t, s.CreateCoupon(ctx, c))
	by.taken()
	held, err := s.Reserve(ctx, exchangeOf(c, "ann", "ann"))
	require.NoError(t, err)
	_, err = s.Transition(ctx, held.Redemption.ID, redemption.Event{Kind: redemption.PointsExchanged, At: noon()})
	require.NoError(t, err)
	want := map[string]bool{
		"INSERT INTO orders": true, "INSERT OR FAIL INTO orders": true, "UPDATE orders": true,
		"INSERT OR FAIL INTO coupon_redemptions": true, "UPDATE coupon_redemptions": true,
		"INSERT INTO coupon_counts": true, "UPDATE coupon_counts": true,
	}
	written := map[string]bool{}
	for round := 0; !maps.Equal(want, written) && round < 100; round++ {
		var running sync.WaitGroup
		for i := range 16 {
			running.Go(func() {
				name := fmt.Sprintf("w-%d-%d", round, i)
				kept, err := s.Reserve(ctx, checkoutOf(c, name, name))
				if err == nil {
					_, err = s.Settle(ctx, settlementOf(redemption.SessionCompleted, kept.Redemption, "cs_"+name))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		for _, text := range by.taken() {
			kind := writes.FindString(text)
			if kind == "" || strings.HasPrefix(text, "INSERT OR FAIL INTO coupon_redemptions") && strings.Contains(text, "SELECT") {
				continue
			}
			written[kind] = true
			require.NotContains(t, program(t, plain, text), "OpenEphemeral", text)
		}
	}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Errorf("what is written (-want +got):\n%s", diff)
	}
}

var writes = regexp.MustCompile(`^(INSERT(?: OR FAIL)? INTO|UPDATE) (orders|coupon_redemptions|coupon_counts)\b`)

// program returns the operations by which SQLite runs a statement.
func program(t *testing.T, db *sql.DB, text string) (operations []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN "+text, make([]any, strings.Count(text, "?"))...)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var operation string
		var rest sql.RawBytes
		require.NoError(t, rows.Scan(&rest, &operation, &rest, &rest, &rest, &rest, &rest, &rest))
		operations = append(operations, operation)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, operations)
	return operations
}
