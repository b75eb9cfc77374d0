package sqldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/internal/agreement"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// TestAQuoteIsWhatACheckoutWouldDo on SQLite.
func TestAQuoteIsWhatACheckoutWouldDo(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		d = d.immediate()
		db := d.connect(t)
		require.NoError(t, sqlstore.Migrate(t.Context(), db, d.dialect, sqlstore.Options{}))
		rapid.Check(t, func(r *rapid.T) {
			s := d.emptied(t, db)
			defer s.Close()
			agreement.Check(r, s)
		})
	})
}
