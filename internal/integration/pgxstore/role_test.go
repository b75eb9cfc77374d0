package pgxstore_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestMigrateAsARoleWithoutTrigrams: the index of the search is made where the role may use
// the extension, and nothing else depends on it.
func TestMigrateAsARoleWithoutTrigrams(t *testing.T) {
	t.Parallel()
	dsn := shared.Need(t).NewDatabase(t)
	admin := postgrestest.NewPool(t, dsn)
	run := func(ctx context.Context, script string) {
		_, err := admin.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
	}
	var role string // is the cluster's
	require.NoError(t, admin.QueryRow(t.Context(), `SELECT current_database() || '_role'`).Scan(&role))
	name := pgx.Identifier{role}.Sanitize()
	run(t.Context(), "CREATE ROLE "+name+"; CREATE SCHEMA shop AUTHORIZATION "+name)
	t.Cleanup(func() { run(context.WithoutCancel(t.Context()), "DROP OWNED BY "+name+" CASCADE; DROP ROLE "+name) })
	run(t.Context(), `CREATE SCHEMA extensions; CREATE EXTENSION pg_trgm SCHEMA extensions`)

	owner := postgrestest.NewPool(t, dsn, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["role"] = role })
	in := pgxstore.Namespace{Schema: "shop"}
	migrate := func() (indexed bool) {
		require.NoError(t, pgxstore.Migrate(t.Context(), owner, in))
		require.NoError(t, admin.QueryRow(t.Context(), `SELECT to_regclass('shop.coupons_search_idx') IS NOT NULL`).Scan(&indexed))
		return indexed
	}
	require.False(t, migrate(), "there is an index that the role may not make")
	require.NoError(t, newStore(t, owner, pgxstore.Options{Namespace: in}).CreateCoupon(t.Context(), newCoupon(t, "plain")))
	run(t.Context(), "GRANT USAGE ON SCHEMA extensions TO "+name)
	require.True(t, migrate(), "there is no index when the role may use the extension")
}
