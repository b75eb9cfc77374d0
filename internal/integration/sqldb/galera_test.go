package sqldb_test

import (
	"context"
	"errors"
	"testing"
	"time"

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
	nodes := galera(t, 1)
	dsn, _, err := nodes[0].Database(t.Context())
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

// galera starts the nodes of a cluster.
func galera(t *testing.T, count int) []*mariadbtest.Server {
	t.Helper()
	mariadb.Need(t) // skips where there is none
	nodes, err := mariadbtest.StartGalera(t.Context(), count)
	if errors.Is(err, mariadbtest.ErrNoGalera) {
		t.Skip(err)
	}
	require.NoError(t, err)
	for _, s := range nodes {
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		if s.Foreign() {
			t.Skip("the server is another one")
		}
	}
	return nodes
}

// TestTheWritingNodeOfMariaDBGaleraIsKilled: of three nodes one is written to. It is killed under
// load, and the callers go on at another node, as a proxy would send them: what was acknowledged
// is there, and limits hold.
func TestTheWritingNodeOfMariaDBGaleraIsKilled(t *testing.T) {
	t.Parallel()
	const uses, callers, before = 300, 8, 100
	nodes := galera(t, 3)
	dsn, _, err := nodes[0].Database(t.Context())
	require.NoError(t, err)
	first := database{"mysql", dsn, sqlstore.MySQL}
	second := database{"mysql", nodes[1].Reach(dsn), sqlstore.MySQL}
	options := sqlstore.Options{SingleWriter: true}
	s := first.store(t, options)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	b, err := storetest.NewBuyers(ctx, s, uses)
	require.NoError(t, err)
	b.Start(ctx, callers, 30*time.Second)
	require.NoError(t, b.Await(ctx, before))
	require.NoError(t, nodes[0].Kill())
	s = second.store(t, options)
	b.Move(s)
	require.NoError(t, b.Check(ctx, s))
}
