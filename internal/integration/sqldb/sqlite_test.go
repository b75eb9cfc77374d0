package sqldb_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/store/sqlstore"
)

func openSQLite(ctx context.Context, driver, file string) (*sql.DB, error) {
	db, err := sql.Open(driver, sqlitedriver.DSN(file))
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
