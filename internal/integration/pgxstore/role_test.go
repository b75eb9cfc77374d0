package pgxstore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// run runs a script.
func run(t *testing.T, pool *pgxpool.Pool, script string) {
	t.Helper()
	_, err := pool.Exec(context.WithoutCancel(t.Context()), script, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
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

// TestRoles: what docs/stores.md grants to the role of a service suffices for every call, also
// after later steps, and for Migrate at every start as long as nothing is to be done.
func TestRoles(t *testing.T) {
	t.Parallel()
	admin := postgrestest.NewPool(t, shared.Need(t).NewDatabase(t))
	deploy, owner := newRole(t, admin, "deploy")
	shop, service := newRole(t, admin, "shop")
	run(t, admin, "GRANT CREATE ON DATABASE "+pgx.Identifier{admin.Config().ConnConfig.Database}.Sanitize()+" TO "+deploy)
	// A host may have taken from everybody what PostgreSQL gives to everybody.
	run(t, owner, "ALTER DEFAULT PRIVILEGES FOR ROLE "+deploy+" REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
	in := pgxstore.Namespace{Schema: "promo"}
	migratedTo(t, owner, in, 5)
	run(t, owner, strings.NewReplacer("deploy", deploy, "shop", shop).Replace(scriptAfter(t, "### Roles")))

	var server *pgconn.PgError
	require.ErrorAs(t, pgxstore.Migrate(t.Context(), service, in), &server)
	require.Equal(t, "42501", server.Code, "steps are to be done, and the service may not")
	require.NoError(t, pgxstore.Migrate(t.Context(), owner, in))
	run(t, admin, "CREATE EXTENSION pg_trgm") // the service may not make the index, nor has to
	require.NoError(t, pgxstore.Migrate(t.Context(), service, in))
	s := newStore(t, service, pgxstore.Options{Namespace: in})
	w := tour{t: t, s: s}
	w.fill()
	w.goOn()
	require.NoError(t, storetest.CheckInvariants(t.Context(), s))

	require.NoError(t, pgxstore.Migrate(t.Context(), owner, in))
	var indexed bool
	require.NoError(t, admin.QueryRow(t.Context(), `SELECT to_regclass('promo.coupons_search_idx') IS NOT NULL`).Scan(&indexed))
	require.True(t, indexed, "there is no index after its owner has migrated")
	require.NoError(t, pgxstore.Migrate(t.Context(), service, in))
}

// TestMigrateAsARoleWithoutTrigrams: the index of the search is made where the role may use
// the extension, and nothing else depends on it.
func TestMigrateAsARoleWithoutTrigrams(t *testing.T) {
	t.Parallel()
	dsn := shared.Need(t).NewDatabase(t)
	admin := postgrestest.NewPool(t, dsn)
	name, owner := newRole(t, admin, "role")
	run(t, admin, "CREATE SCHEMA shop AUTHORIZATION "+name+"; CREATE SCHEMA extensions; CREATE EXTENSION pg_trgm SCHEMA extensions")
	in := pgxstore.Namespace{Schema: "shop"}
	migrate := func() (indexed bool) {
		require.NoError(t, pgxstore.Migrate(t.Context(), owner, in))
		require.NoError(t, admin.QueryRow(t.Context(), `SELECT to_regclass('shop.coupons_search_idx') IS NOT NULL`).Scan(&indexed))
		return indexed
	}
	require.False(t, migrate(), "there is an index that the role may not make")
	require.NoError(t, newStore(t, owner, pgxstore.Options{Namespace: in}).CreateCoupon(t.Context(), newCoupon(t, "plain")))
	run(t, admin, "GRANT USAGE ON SCHEMA extensions TO "+name)
	require.True(t, migrate(), "there is no index when the role may use the extension")
}
