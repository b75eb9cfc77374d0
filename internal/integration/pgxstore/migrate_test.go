package pgxstore_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/validation"
)

// Many processes migrate at once, into schemas of any name. The store works there.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"", "shop", `O'Hara "quoted"; DROP`} {
		pool := postgrestest.NewPool(t, shared.Need(t).NewDatabase(t))
		options := pgxstore.Options{Schema: schema}
		var group errgroup.Group
		for range 8 {
			group.Go(func() error { return pgxstore.Migrate(t.Context(), pool, options) })
		}
		require.NoError(t, group.Wait())
		s := newStore(t, pool, options)
		c := create(t, s, newCoupon(t, "TEN", coupon.Limits{MaxUses: 1}))
		_, err := s.Reserve(t.Context(), checkout(c, quote(t), "ann", "k"))
		require.NoError(t, err)
	}
}

// A host may run the script with a tool of its own; Migrate finds its work done.
func TestSchema(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.Need(t).NewDatabase(t))
	script, err := pgxstore.Schema(pgxstore.Options{})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), script, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	require.NoError(t, pgxstore.Migrate(t.Context(), pool, pgxstore.Options{}))
}

// A schema of another version is refused with both versions, and so are tables of the host.
func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t))
	_, err := pool.Exec(t.Context(), "UPDATE couponkit.version SET version = 7")
	require.NoError(t, err)
	err = pgxstore.Migrate(t.Context(), pool, pgxstore.Options{})
	require.ErrorIs(t, err, pgxstore.ErrVersion)
	require.ErrorContains(t, err, "has version 7, this package needs 1")

	_, err = pool.Exec(t.Context(), "CREATE SCHEMA mine; CREATE TABLE mine.version (text text)", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	require.ErrorIs(t, pgxstore.Migrate(t.Context(), pool, pgxstore.Options{Schema: "mine"}), pgxstore.ErrVersion)
}

// Options that do not validate name every field.
func TestOptions(t *testing.T) {
	t.Parallel()
	_, err := pgxstore.New(nil, pgxstore.Options{
		Schema: strings.Repeat("x", 64),
		Batch:  pgxstore.BatchOptions{Workers: -1, MaxSize: 2_000, MaxQueue: -1, Timeout: -1},
	})
	var faults *validation.Error
	require.ErrorAs(t, err, &faults)
	var fields []string
	for _, f := range faults.Fields {
		fields = append(fields, f.Path)
	}
	require.ErrorIs(t, pgxstore.Migrate(t.Context(), nil, pgxstore.Options{}), validation.ErrInvalid)
	require.Equal(t, []string{"pool", "schema", "batch.workers", "batch.maxSize", "batch.maxQueue", "batch.timeout"}, fields)
}
