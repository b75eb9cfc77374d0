package sqldb_test

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/sqldb/mariadbtest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// killServer kills a server in mid-run and starts it again. Callers whose
// connection was lost repeat the call with the same key.
func killServer(t *testing.T) {
	t.Helper()
	mariadb.Need(t) // skips where there is none
	server, err := mariadbtest.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	if server.Foreign() {
		t.Skip("the server is not ours to kill")
	}
	dsn, _, err := server.Database(t.Context())
	require.NoError(t, err)
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(16)
	require.NoError(t, sqlstore.Migrate(t.Context(), db, sqlstore.MySQL, ""))
	s, err := sqlstore.New(db, sqlstore.MySQL, sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	const callers = 16
	each := inFull(60)
	c := limitedCoupon("HOT", int64(callers*each), int64(each))
	require.NoError(t, s.CreateCoupon(t.Context(), c))

	var acknowledged atomic.Int64
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				name := fmt.Sprintf("k%d-%d", caller, i)
				for deadline := time.Now().Add(time.Minute); ; {
					ok, err := use(t.Context(), s, c, customer(caller), name)
					if err == nil && !ok {
						err = errors.New("no place for the own repeated key")
					}
					if err == nil {
						acknowledged.Add(1)
						break
					}
					if time.Now().After(deadline) {
						t.Errorf("use %s: %v", name, err)
						return
					}
					time.Sleep(5 * time.Millisecond)
				}
			}
		})
	}
	for kills := range 2 { // in the middle, however fast the machine is
		for acknowledged.Load() < int64(callers*each*(kills+1)/4) && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, server.Kill())
		require.NoError(t, server.Resume(t.Context()))
	}
	all.Wait()
	for caller := range callers {
		for i := range each {
			r, err := s.Redemption(t.Context(), fmt.Sprintf("%sk%d-%d", redemption.IDPrefix, caller, i))
			require.NoError(t, err)
			require.Equal(t, redemption.Completed, r.State)
		}
	}
	found, err := s.Coupon(t.Context(), c.ID)
	require.NoError(t, err)
	require.EqualValues(t, callers*each, found.UsedCount)
	require.NoError(t, storetest.CheckInvariants(t.Context(), s))
}
