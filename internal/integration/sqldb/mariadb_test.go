package sqldb_test

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/sqldb/mariadbtest"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// mariadb is the server that all tests share.
var mariadb mariadbtest.Shared

func TestMain(m *testing.M) {
	if text := os.Getenv(workVariable); text != "" {
		if err := runWorker(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// The tests wait for disks and servers more than they compute.
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set("6"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	// Servers that are killed on purpose would fill the log.
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := mariadb.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func openMariaDB(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db := mariadbtest.Open(tb, dsn)
	db.SetMaxOpenConns(32)
	db.SetMaxIdleConns(32)
	return db
}

func newMariaDB(tb testing.TB) *sqlstore.Store {
	tb.Helper()
	db := openMariaDB(tb, mariadb.Need(tb).NewDatabase(tb))
	require.NoError(tb, sqlstore.Migrate(tb.Context(), db, sqlstore.MySQL, ""))
	s, err := sqlstore.New(db, sqlstore.MySQL, sqlstore.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}
