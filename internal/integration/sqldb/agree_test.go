package sqldb_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

var histories = flag.Int("histories", 4, "how many random histories to compare with memstore")

// TestAgreesWithMemstore compares every answer with the reference's, also of calls in
// transactions of the host.
func TestAgreesWithMemstore(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]*databases{
		"modernc":               {dialect: sqlstore.SQLite, fresh: sqliteFiles(sqlitedriver.Modernc)},
		sqlitedriver.SecondName: {dialect: sqlstore.SQLite, fresh: sqliteFiles(sqlitedriver.Second)},
		"mariadb":               {dialect: sqlstore.MySQL, fresh: mariadbDatabases},
	} {
		for way, joined := range map[string]func(*testing.T, store.Store, func(store.Store)){
			"by itself": nil, "in transactions": on.committed,
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				of := storetest.Histories{Count: *histories, Joined: joined}
				storetest.Agree(t, on.open, func(*testing.T) store.Store { return memstore.New() }, of)
			})
		}
	}
}

// committed makes calls in a transaction of the host and commits it.
func (d *databases) committed(t *testing.T, s store.Store, calls func(store.Store)) {
	t.Helper()
	d.mu.Lock()
	connect := d.connect[s]
	d.mu.Unlock()
	db := connect(t)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback() // after a failed test; it is nothing after a commit
	calls(s.(*sqlstore.Store).WithTx(tx))
	require.NoError(t, tx.Commit())
	require.NoError(t, db.Close())
}
