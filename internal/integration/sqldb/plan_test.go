package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
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

// TestALookUpReadsTheCustomersRows: however often a coupon was redeemed, a look-up
// finds the uses of one customer by an index that has the customer in it.
func TestALookUpReadsTheCustomersRows(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	plain, err := openSQLite(ctx, sqlitedriver.Modernc, filepath.Join(t.TempDir(), "coupons.db"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = plain.Close() })
	require.NoError(t, sqlstore.Migrate(ctx, plain, sqlstore.SQLite, ""))
	var file string
	require.NoError(t, plain.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file))
	heard := &recorder{beneath: plain.Driver(), dsn: sqlitedriver.DSN(file)}
	db := sql.OpenDB(heard)
	t.Cleanup(func() { _ = db.Close() })
	s, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })

	code, err := coupon.ParseCode("ANY")
	require.NoError(t, err)
	for name, by := range map[string]store.LookUp{
		"by ID":   {CouponID: "cpn_1", CustomerID: "ann", Email: "ann@example.org"},
		"by code": {Code: code, CustomerID: "ann", Email: "ann@example.org"},
	} {
		heard.taken()
		_, err := s.LookUp(ctx, by)
		require.ErrorIs(t, err, coupon.ErrNotFound, name)
		reads := 0
		for _, text := range heard.taken() {
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
	values := make([]any, strings.Count(statement, "?"))
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
