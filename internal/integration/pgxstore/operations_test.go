package pgxstore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/patience"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// run runs a script.
func run(t *testing.T, pool *pgxpool.Pool, script string) {
	t.Helper()
	_, err := pool.Exec(context.WithoutCancel(t.Context()), script, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
}

func requireCode(t *testing.T, err error, code string) {
	t.Helper()
	var server *pgconn.PgError
	require.ErrorAs(t, err, &server)
	require.Equal(t, code, server.Code)
}

// New asks nothing of the database. To look for an order that nobody has shows whether the
// schema is there and the database answers.
func TestReadiness(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.Need(t).NewDatabase(t))
	options := pgxstore.Options{Schema: "late"}
	s := newStore(t, pool, options)
	look := func() error { _, err := s.Order(t.Context(), store.OrderKey{ID: "ord_ready"}); return err }
	requireCode(t, look(), "42P01") // undefined_table
	require.NoError(t, pgxstore.Migrate(t.Context(), pool, options))
	require.ErrorIs(t, look(), store.ErrNotFound)
	pool.Close()
	require.NotErrorIs(t, look(), store.ErrNotFound, "there is no database")
	require.NoError(t, s.Close())
	require.ErrorIs(t, look(), store.ErrClosed)
}

// A process that starts and finds the schema waits for no call that is under way, and holds
// none up.
func TestMigrateBesideCalls(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t))
	s := newStore(t, pool, pgxstore.Options{})
	c := create(t, s, newCoupon(t, "TEN", coupon.Limits{MaxUses: 2}))
	ctx, cancel := patience.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(call pgx.Tx) error {
		_, err := s.WithTx(call).Reserve(ctx, checkout(c, quote(t), "ann", "k"))
		require.NoError(t, err)
		_, err = call.Exec(ctx, "LOCK TABLE couponkit.coupons, couponkit.orders, couponkit.uses, couponkit.counters, couponkit.journal_pending")
		require.NoError(t, err)
		return pgx.BeginFunc(ctx, pool, func(start pgx.Tx) error {
			require.NoError(t, pgxstore.Migrate(ctx, start, pgxstore.Options{}))
			_, err := s.WithTx(call).Apply(ctx, paid("ord_ann-k"))
			return err
		})
	}))
	require.NoError(t, storetest.Check(ctx, s))
}

// A dump of the database, or of the schema alone, is restored with every row. The store and
// the readers of its journal go on there.
func TestADumpIsRestored(t *testing.T) {
	t.Parallel()
	server := shared.Need(t)
	dsn := shared.NewCopy(t)
	s := newStore(t, postgrestest.NewPool(t, dsn), pgxstore.Options{})
	purchase(t, s)
	c := create(t, s, newCoupon(t, "NEXT", coupon.Limits{MaxUses: 2}))
	_, err := s.Reserve(t.Context(), checkout(c, quote(t), "ann", "dumped"))
	require.NoError(t, err)
	want, err := storetest.Read(t.Context(), s)
	require.NoError(t, err)
	position := want.Journal[len(want.Journal)-1].Position
	_, err = s.Reserve(t.Context(), checkout(c, quote(t), "bob", "unsealed")) // its entry has no position yet
	require.NoError(t, err)
	for _, of := range []string{"--no-comments", "--schema=couponkit"} {
		dump, err := server.Dump(t.Context(), dsn, "--inserts", of)
		require.NoError(t, err)
		restored := server.NewDatabase(t)
		pool := postgrestest.NewPool(t, restored)
		run(t, pool, dump)
		pool.Reset() // a dump changes the settings of its session
		require.NoError(t, pgxstore.Migrate(t.Context(), pool, pgxstore.Options{}))
		again, err := server.Dump(t.Context(), restored, "--inserts", of)
		require.NoError(t, err)
		require.Equal(t, dump, again)
		copied := newStore(t, pool, pgxstore.Options{})
		_, err = copied.Apply(t.Context(), paid("ord_ann-dumped"))
		require.NoError(t, err)
		_, err = copied.Reserve(t.Context(), checkout(c, quote(t), "cid", "late"))
		require.ErrorIs(t, err, store.ErrLimit)
		entries, err := copied.Journal(t.Context(), position, 10)
		require.NoError(t, err)
		require.Len(t, entries, 2)
		require.Equal(t, []string{"ord_bob-unsealed", "ord_ann-dumped"}, []string{entries[0].Subject, entries[1].Subject})
		require.Equal(t, position+1, entries[0].Position)
		require.NoError(t, storetest.Check(t.Context(), copied))
	}
}

// newRole makes a role, which is the cluster's, and a pool of its own, and drops it when the
// test ends.
func newRole(t *testing.T, admin *pgxpool.Pool, suffix string) (name string, pool *pgxpool.Pool) {
	t.Helper()
	var role string
	require.NoError(t, admin.QueryRow(t.Context(), `SELECT current_database() || '_' || $1::text`, suffix).Scan(&role))
	name = pgx.Identifier{role}.Sanitize()
	run(t, admin, "CREATE ROLE "+name)
	t.Cleanup(func() { run(t, admin, "DROP OWNED BY "+name+" CASCADE; DROP ROLE "+name) })
	return name, postgrestest.NewPool(t, admin.Config().ConnString(), func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["role"] = role })
}

// scriptAfter is the first script of docs/stores.md after a text.
func scriptAfter(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "stores.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), heading)
	require.True(t, found, "docs/stores.md has no %q", heading)
	_, rest, found = strings.Cut(rest, "```sql\n")
	require.True(t, found, "there is no script after %q", heading)
	script, _, _ := strings.Cut(rest, "```")
	return script
}

// What docs/stores.md grants to the role of a service suffices for every call, and for
// Migrate at every start once the schema is there.
func TestRoles(t *testing.T) {
	t.Parallel()
	admin := postgrestest.NewPool(t, shared.Need(t).NewDatabase(t))
	deploy, owner := newRole(t, admin, "deploy")
	shop, service := newRole(t, admin, "shop")
	run(t, admin, "GRANT CREATE ON DATABASE "+pgx.Identifier{admin.Config().ConnConfig.Database}.Sanitize()+" TO "+deploy)
	options := pgxstore.Options{Schema: "promo"}
	requireCode(t, pgxstore.Migrate(t.Context(), service, options), "42501") // insufficient_privilege
	require.NoError(t, pgxstore.Migrate(t.Context(), owner, options))
	run(t, owner, strings.NewReplacer("deploy", deploy, "shop", shop).Replace(scriptAfter(t, "### Roles")))
	require.NoError(t, pgxstore.Migrate(t.Context(), service, options))
	s := newStore(t, service, options)
	purchase(t, s)
	require.NoError(t, storetest.Check(t.Context(), s))
	_, err := service.Exec(t.Context(), "DROP TABLE promo.orders")
	requireCode(t, err, "42501")
}
