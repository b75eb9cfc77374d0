package sqldb_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// TestACopyInMidRun copies a SQLite database while callers use a coupon.
func TestACopyInMidRun(t *testing.T) {
	t.Parallel()
	for _, name := range kinds() {
		if name == "mariadb" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := databases()[name](t)
			db := d.connect(t)
			s := d.storeOn(t, db, sqlstore.Options{})
			c := hotCoupon(300, 1)
			create(t, s, c)
			var running sync.WaitGroup
			running.Go(func() {
				if _, err := crowd(t.Context(), []store.Store{s}, c, "a", 16, 1_200); err != nil {
					t.Error(err)
				}
			})
			for i := range 3 {
				file := filepath.Join(t.TempDir(), fmt.Sprint("copy", i, ".db"))
				_, err := db.ExecContext(t.Context(), "VACUUM INTO ?", file)
				require.NoError(t, err)
				copied := database{d.driver, "file:" + file, d.dialect}.store(t, sqlstore.Options{})
				require.NoError(t, storetest.Check(t.Context(), copied))
			}
			running.Wait()
			require.NoError(t, storetest.Check(t.Context(), s))
		})
	}
}

// TestMigrate makes the tables at once, again and again, and refuses
// those of another version.
func TestMigrate(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		var missing *sqlstore.SchemaError
		_, err := sqlstore.New(t.Context(), d.connect(t), d.dialect, sqlstore.Options{})
		require.ErrorAs(t, err, &missing)
		require.Zero(t, missing.Found)
		errs := make([]error, 8)
		var all sync.WaitGroup
		for i := range errs {
			db := d.connect(t)
			all.Go(func() {
				errs[i] = errors.Join(
					sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{}),
					sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{}))
			})
		}
		all.Wait()
		require.NoError(t, errors.Join(errs...))
		db := d.connect(t)
		_, err = db.ExecContext(t.Context(), "UPDATE couponkit_schema SET version = 7")
		require.NoError(t, err)
		_, err = sqlstore.New(t.Context(), db, d.dialect, sqlstore.Options{})
		require.ErrorContains(t, err, "have version 7 (couponkit_schema), this program needs 1")
		require.ErrorContains(t, sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{}), "have version 7")
		_, err = db.ExecContext(t.Context(), "DELETE FROM couponkit_schema WHERE version = 7")
		require.NoError(t, err)
	})
}
