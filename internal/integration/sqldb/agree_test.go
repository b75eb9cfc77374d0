package sqldb_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// TestAgreesWithMemstore plays random histories on both stores, on MariaDB also in
// transactions of a host.
func TestAgreesWithMemstore(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		d = d.immediate()
		db := d.connect(t)
		require.NoError(t, sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{}))
		memory := func(*testing.T) store.Store { return memstore.New() }
		storetest.Agree(t, func(t *testing.T) store.Store {
			t.Helper()
			return d.emptied(t, db)
		}, memory)
		if d.dialect == sqlstore.SQLite {
			return // the suite runs there too
		}
		storetest.Agree(t, func(t *testing.T) store.Store {
			t.Helper()
			return &hosted{d.emptied(t, db), db, d.host()}
		}, memory)
	})
}

// emptied returns a store in a database from which everything was removed.
func (d database) emptied(t *testing.T, db *sql.DB) *sqlstore.Store {
	t.Helper()
	statements := map[sqlstore.Dialect][]string{
		sqlstore.SQLite: {"DELETE FROM sqlite_sequence"},
		sqlstore.MySQL:  {"DELETE FROM couponkit_journal_pending", "UPDATE couponkit_journal_head SET position = 0"},
	}[d.dialect]
	for _, table := range []string{"coupons", "codes", "code_batches", "coupon_emails", "orders", "uses", "counters", "attempts", "journal"} {
		statements = append(statements, "DELETE FROM couponkit_"+table)
	}
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	s, err := sqlstore.New(t.Context(), db, d.dialect, sqlstore.Options{})
	require.NoError(t, err)
	return s
}
