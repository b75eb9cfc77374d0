package sqldb_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// databases remembers how to open the database of a store a second time.
type databases struct {
	dialect sqlstore.Dialect
	options sqlstore.Options
	// fresh makes an empty database and returns how to connect to it.
	fresh func(t *testing.T) (connect func(t *testing.T) *sql.DB)

	mu      sync.Mutex
	connect map[store.Store]func(t *testing.T) *sql.DB
}

func (d *databases) open(t *testing.T) store.Store {
	t.Helper()
	connect := d.fresh(t)
	require.NoError(t, sqlstore.Migrate(t.Context(), connect(t), d.dialect, d.options.TablePrefix))
	return d.on(t, connect)
}

func (d *databases) on(t *testing.T, connect func(t *testing.T) *sql.DB) store.Store {
	t.Helper()
	s, err := sqlstore.New(connect(t), d.dialect, d.options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.connect == nil {
		d.connect = make(map[store.Store]func(t *testing.T) *sql.DB)
	}
	d.connect[s] = connect
	return s
}

// reopen opens the store's database with connections of its own, as another
// process would.
func (d *databases) reopen(t *testing.T, s store.Store) store.Store {
	t.Helper()
	d.mu.Lock()
	connect := d.connect[s]
	d.mu.Unlock()
	return d.on(t, connect)
}

func (d *databases) run(t *testing.T) {
	t.Helper()
	storetest.Run(t, d.open, storetest.Capabilities{Reopen: d.reopen})
}

func sqliteFiles(driver string) func(t *testing.T) func(t *testing.T) *sql.DB {
	return func(t *testing.T) func(t *testing.T) *sql.DB {
		t.Helper()
		file := filepath.Join(t.TempDir(), "coupons.db")
		return func(t *testing.T) *sql.DB {
			t.Helper()
			db, err := openSQLite(t.Context(), driver, file)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return db
		}
	}
}

func TestContractOnModernc(t *testing.T) {
	t.Parallel()
	(&databases{dialect: sqlstore.SQLite, fresh: sqliteFiles(sqlitedriver.Modernc)}).run(t)
}

func TestContractOnTheSecondDriver(t *testing.T) {
	t.Parallel()
	(&databases{dialect: sqlstore.SQLite, fresh: sqliteFiles(sqlitedriver.Second)}).run(t)
}

// Without batches, with a prefix, and without waiting for the disk.
func TestContractOneByOne(t *testing.T) {
	t.Parallel()
	options := sqlstore.Options{MaxBatch: 1, TablePrefix: "shop_", Synchronous: sqlstore.Normal}
	(&databases{dialect: sqlstore.SQLite, options: options, fresh: sqliteFiles(sqlitedriver.Modernc)}).run(t)
}

func TestContractOnMariaDB(t *testing.T) {
	t.Parallel()
	(&databases{dialect: sqlstore.MySQL, fresh: mariadbDatabases}).run(t)
}

func mariadbDatabases(t *testing.T) func(t *testing.T) *sql.DB {
	t.Helper()
	dsn := mariadb.Need(t).NewDatabase(t)
	return func(t *testing.T) *sql.DB {
		t.Helper()
		db := openMariaDB(t, dsn)
		db.SetMaxOpenConns(8)
		return db
	}
}
