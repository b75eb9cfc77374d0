package sqldb_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/sqldb/mariadbtest"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// TestANodeOfMariaDBGalera: a server that belongs to a cluster is refused, unless the host
// declares that it writes to this node alone. Then limits hold, and nothing is prepared: a
// node tears transactions that prepare statements.
func TestANodeOfMariaDBGalera(t *testing.T) {
	t.Parallel()
	mariadb.Need(t) // skips where there is none
	arguments, err := mariadbtest.Galera()
	if errors.Is(err, mariadbtest.ErrNoGalera) {
		t.Skip(err)
	}
	require.NoError(t, err)
	server, err := mariadbtest.Start(t.Context(), arguments...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	if server.Foreign() {
		t.Skip("the server is another one")
	}
	dsn, _, err := server.Database(t.Context())
	require.NoError(t, err)
	d := database{"mysql", dsn, sqlstore.MySQL}
	db := d.connect(t)
	var refused *sqlstore.GaleraError
	require.ErrorAs(t, sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{}), &refused)
	_, err = sqlstore.New(t.Context(), db, d.dialect, sqlstore.Options{})
	require.ErrorAs(t, err, &refused)
	require.Zero(t, number(t, db, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"))

	s := d.storeOn(t, db, sqlstore.Options{SingleWriter: true})
	c := hotCoupon(20, 1)
	create(t, s, c)
	used, err := crowd(t.Context(), []store.Store{s}, c, "a", 16, 40)
	require.NoError(t, err)
	require.EqualValues(t, 20, used)
	require.NoError(t, reserving(t, s.WithTx(d.begins(t, db)), plain("ann", "host"))())
	require.NoError(t, storetest.Check(t.Context(), s))
	var name string
	var prepared int
	require.NoError(t, db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Com_stmt_prepare'").Scan(&name, &prepared))
	require.Zero(t, prepared)
}
