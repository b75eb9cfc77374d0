package sqldb_test

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/sqldb/mariadbtest"
	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// killings is how often the tests kill all processes; a night's run takes thousands.
var killings = flag.Int("killings", 2, "how often all processes are killed")

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
	// Histories are played on each database. Who wants more of them says so.
	if err := flag.Set("rapid.checks", "20"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flag.Parse()
	// Connections that are closed on purpose would fill the log.
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

// database is an empty database that any number of pools may connect to.
type database struct {
	driver, dsn string
	dialect     sqlstore.Dialect
}

// databases makes a database of each kind that is tested.
func databases() map[string]func(testing.TB) database {
	sqlite := func(driver string) func(testing.TB) database {
		return func(tb testing.TB) database {
			tb.Helper()
			return database{driver, sqlitedriver.DSN(filepath.Join(tb.TempDir(), "coupons.db")), sqlstore.SQLite}
		}
	}
	return map[string]func(testing.TB) database{
		"modernc":               sqlite(sqlitedriver.Modernc),
		sqlitedriver.SecondName: sqlite(sqlitedriver.Second),
		"mariadb": func(tb testing.TB) database {
			tb.Helper()
			return database{"mysql", mariadb.Need(tb).NewDatabase(tb), sqlstore.MySQL}
		},
	}
}

func kinds() []string { return append(sqlites(), "mariadb") }

// sqlites are the drivers of SQLite.
func sqlites() []string { return []string{"modernc", sqlitedriver.SecondName} }

// onSQLite runs a test on SQLite by each driver.
func onSQLite(t *testing.T, test func(*testing.T, database)) { t.Helper(); on(t, sqlites(), test) }

// onEach runs a test on each kind of database.
func onEach(t *testing.T, test func(*testing.T, database)) { t.Helper(); on(t, kinds(), test) }

func on(t *testing.T, kinds []string, test func(*testing.T, database)) {
	t.Helper()
	t.Parallel()
	for _, name := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, databases()[name](t))
		})
	}
}

func (d database) connect(tb testing.TB) *sql.DB {
	tb.Helper()
	db, err := sql.Open(d.driver, d.dsn)
	require.NoError(tb, err)
	db.SetMaxOpenConns(24)
	db.SetMaxIdleConns(24)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return db
}

// store opens a store with connections of its own, as another process would.
func (d database) store(tb testing.TB, o sqlstore.Options) *sqlstore.Store {
	tb.Helper()
	return d.storeOn(tb, d.connect(tb), o)
}

func (d database) storeOn(tb testing.TB, db *sql.DB, o sqlstore.Options) *sqlstore.Store {
	tb.Helper()
	require.NoError(tb, sqlstore.Migrate(tb.Context(), db, d.dialect, o))
	s, err := sqlstore.New(tb.Context(), db, d.dialect, o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

// immediate is the database for hosts whose transactions write.
func (d database) immediate() database {
	d.dsn = strings.Replace(d.dsn, "_txlock=deferred", "_txlock=immediate", 1)
	return d
}

// begins begins a transaction of the host.
func (d database) begins(tb testing.TB, db *sql.DB) *sql.Tx {
	tb.Helper()
	tx, err := db.BeginTx(tb.Context(), d.host())
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// host returns the options of transactions of the host.
func (d database) host() *sql.TxOptions {
	if d.dialect == sqlstore.MySQL {
		return &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	}
	return nil
}
