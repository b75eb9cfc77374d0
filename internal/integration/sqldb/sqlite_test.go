package sqldb_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/couponkit/couponkit/store/sqlstore"
)

// sqliteDrivers are the drivers that the tests run with, by their names in
// database/sql.
var sqliteDrivers = map[string]string{"modernc": "sqlite", "ncruces": "sqlite3"}

func sqliteDSN(file string) string { return fmt.Sprintf("file:%s?_pragma=busy_timeout(10000)", file) }

func openSQLite(ctx context.Context, driver, file string) (*sql.DB, error) {
	db, err := sql.Open(driver, sqliteDSN(file))
	if err != nil {
		return nil, err
	}
	return db, db.PingContext(ctx)
}

func newSQLite(tb testing.TB, driver string, o sqlstore.Options) *sqlstore.Store {
	tb.Helper()
	db, err := openSQLite(tb.Context(), driver, filepath.Join(tb.TempDir(), "coupons.db"))
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	require.NoError(tb, sqlstore.Migrate(tb.Context(), db, sqlstore.SQLite, o.TablePrefix))
	s, err := sqlstore.New(db, sqlstore.SQLite, o)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}
