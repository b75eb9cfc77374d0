package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// fullDisk is a driver whose commits fail while it is full.
type fullDisk struct {
	of   driver.Driver
	dsn  string
	full atomic.Bool
}

var _ driver.Connector = (*fullDisk)(nil)

var errFull = errors.New("database or disk is full")

// Connect opens a connection of the driver.
func (d *fullDisk) Connect(context.Context) (driver.Conn, error) {
	c, err := d.of.Open(d.dsn)
	if err != nil {
		return nil, err
	}
	return fullConn{c, d}, nil
}

type fullConn struct {
	driver.Conn
	disk *fullDisk
}

// Driver is the driver itself.
func (d *fullDisk) Driver() driver.Driver { return d.of }

// Prepare lets commits pass by the disk.
func (c fullConn) Prepare(query string) (driver.Stmt, error) {
	stmt, err := c.Conn.Prepare(query)
	if err == nil && query == "COMMIT" {
		return commit{stmt, c.disk}, nil
	}
	return stmt, err
}

type commit struct {
	driver.Stmt
	disk *fullDisk
}

// Exec fails while the disk is full.
func (c commit) Exec(args []driver.Value) (driver.Result, error) {
	if c.disk.full.Load() {
		return nil, errFull
	}
	return c.Stmt.Exec(args) //nolint:staticcheck // what every driver has
}

// A batch that cannot be committed has refused nobody: the use for which the last place
// was not there is not stored either.
func TestARefusalFallsWithItsBatch(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		_, db := s.open(t)
		failing := &fullDisk{of: db.Driver(), dsn: s.dsn}
		mine := sql.OpenDB(failing)
		t.Cleanup(func() { require.NoError(t, mine.Close()) })
		opened, err := sqlstore.New(mine, sqlstore.SQLite, sqlstore.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, opened.Close()) })
		c := limitedCoupon("LAST", 1, 1)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))

		failing.full.Store(true)
		requests := []string{"ann", "bob", "cara", "dora"}
		host := s.begin(t, db)
		_, err = host.ExecContext(t.Context(), "DELETE FROM orders WHERE id = 'none'") // all of them wait for one batch
		require.NoError(t, err)
		errs := make([]error, len(requests))
		var calls sync.WaitGroup
		for i, name := range requests {
			calls.Go(func() { _, errs[i] = opened.Reserve(t.Context(), checkoutOf(c, name, name)) })
		}
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, host.Rollback())
		calls.Wait()
		for i, err := range errs {
			require.ErrorIs(t, err, errFull, requests[i])
		}
		failing.full.Store(false)
		_, err = opened.Reserve(t.Context(), checkoutOf(c, "bob", "bob"))
		require.NoError(t, err)
		require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
	})
}

// What the store sets on a connection of the host's pool ends with the store.
func TestConnectionsGoBackAsTheyWere(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, db := s.open(t)
		want := settings(t, db)
		require.Equal(t, []int64{10_000}, want["busy_timeout"], "after Migrate")
		require.NoError(t, opened.CreateCoupon(t.Context(), limitedCoupon("ONE", 1, 1)))
		require.NoError(t, opened.Close())
		for name, values := range settings(t, db) {
			for _, value := range values {
				require.Equal(t, want[name][0], value, name)
			}
		}
	})
}

// settings reads the settings of every connection that the pool has.
func settings(t *testing.T, db *sql.DB) map[string][]int64 {
	t.Helper()
	found := map[string][]int64{}
	for range db.Stats().OpenConnections {
		c, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer c.Close()
		for _, name := range []string{"busy_timeout", "synchronous", "cache_size", "wal_autocheckpoint"} {
			var value int64
			require.NoError(t, c.QueryRowContext(t.Context(), fmt.Sprint("PRAGMA ", name)).Scan(&value))
			found[name] = append(found[name], value)
		}
	}
	return found
}

// A call waits for others as long as the store was told to, from its first look into the
// file on, whatever the host's connections do, and the longest that can be told is long.
func TestTheFirstCallWaitsToo(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		_, db := s.open(t)
		db.SetMaxIdleConns(0)
		for i, patience := range []time.Duration{10 * time.Second, 1000 * time.Hour, math.MaxInt64} {
			s.waitsFor(t, db, sqlstore.Options{BusyTimeout: patience}, fmt.Sprint("LATE", i))
		}
	})
}

// A call that has waited for others as long as it may is told so, however long each look at
// the lock takes, and those behind it wait on, each as long as it may itself.
func TestEachCallWaitsAsLongAsItMay(t *testing.T) {
	t.Parallel()
	const longest, behind, untilFree = 10 * time.Second, 6 * time.Second, 13 * time.Second
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := sqliteShop(t, driver)
				_, db := s.open(t)
				looks := &tripwire{at: func(query string) bool { return strings.HasPrefix(query, "BEGIN") }, takes: 2 * time.Millisecond}
				opened, err := sqlstore.New(s.tripping(t, looks), s.dialect, sqlstore.Options{}) // it waits the longest by default
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, opened.Close()) })
				c := limitedCoupon("BUSY", 10, 1)
				require.NoError(t, opened.CreateCoupon(t.Context(), c))
				host := s.begin(t, db)
				_, err = host.ExecContext(t.Context(), "DELETE FROM orders WHERE id = 'none'") // takes the lock
				require.NoError(t, err)
				begun := time.Now()
				var calls sync.WaitGroup
				var errs [4]error
				var took [4]time.Duration
				for i, after := range []time.Duration{0, 1, behind, behind} {
					calls.Go(func() {
						time.Sleep(after)
						_, errs[i] = opened.Reserve(t.Context(), checkoutOf(c, customer(i), customer(i)))
						took[i] = time.Since(begun)
					})
				}
				time.Sleep(untilFree)
				require.NoError(t, host.Rollback())
				calls.Wait()
				for i, err := range errs[:2] {
					require.True(t, opened.Retryable(err), "call %d: %v", i, err)
					require.InDelta(t, longest, took[i], float64(time.Second), "call %d", i)
				}
				for i, err := range errs[2:] {
					require.NoError(t, err, "call %d from behind", i)
				}
				require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
			})
		})
	}
}

// The log begins anew though somebody reads whenever a call is committed: the store waits
// until they have read.
func TestTheLogBeginsAnewBesideReaders(t *testing.T) {
	t.Parallel()
	const callers, each = 500, 17
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		wire := &tripwire{
			at:      func(query string) bool { return strings.Contains(query, "wal_checkpoint") },
			reached: make(chan struct{}), goOn: make(chan struct{}), with: errors.New("database is locked"),
		}
		opened, err := sqlstore.New(s.tripping(t, wire), sqlstore.SQLite, sqlstore.Options{Synchronous: sqlstore.Normal})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, opened.Close()) })
		_, db := s.open(t)
		created := func(name string) {
			if _, _, err := opened.CreateOrder(t.Context(), plainOrder("ann", name, nil)); err != nil {
				t.Error(err)
			}
		}
		created("first")
		before := s.logs(t)
		reader := s.begin(t, db)
		var n int
		require.NoError(t, reader.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM orders").Scan(&n))
		wire.armed.Store(true)
		go func() {
			<-wire.reached // the store finds that somebody reads
			if err := reader.Rollback(); err != nil {
				t.Error(err)
			}
			close(wire.goOn)
		}()
		var calls sync.WaitGroup
		for i := range callers {
			calls.Go(func() {
				for n := range each {
					created(fmt.Sprintf("%d-%d", i, n))
				}
			})
		}
		calls.Wait()
		created("last") // after the log has begun anew
		if armed := wire.armed.CompareAndSwap(true, false); armed {
			close(wire.reached)
			<-wire.goOn
		}
		require.Equal(t, before+1, s.logs(t), "logs that were begun")
	})
}

// logs returns the number of the log: SQLite counts how often it has begun anew.
func (s shop) logs(t *testing.T) uint32 {
	t.Helper()
	file, _, _ := strings.Cut(strings.TrimPrefix(s.dsn, "file:"), "?")
	header, err := os.ReadFile(file + "-wal")
	require.NoError(t, err)
	return binary.BigEndian.Uint32(header[12:])
}

// waitsFor locks the whole file, and ends that once a store of a host that does not wait
// has begun to make a coupon.
func (s shop) waitsFor(t *testing.T, db *sql.DB, options sqlstore.Options, code string) {
	t.Helper()
	other, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer other.Close()
	_, err = other.ExecContext(t.Context(), "PRAGMA journal_mode = DELETE")
	require.NoError(t, err)
	host := sql.OpenDB(&fullDisk{of: db.Driver(), dsn: s.dsn})
	defer host.Close()
	host.SetMaxOpenConns(1)
	_, err = host.ExecContext(t.Context(), "PRAGMA busy_timeout = 0")
	require.NoError(t, err)
	_, err = other.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
	require.NoError(t, err)
	opened, err := sqlstore.New(host, sqlstore.SQLite, options)
	require.NoError(t, err)
	var made error
	var waits sync.WaitGroup
	waits.Go(func() { made = opened.CreateCoupon(t.Context(), limitedCoupon(code, 1, 1)) })
	time.Sleep(100 * time.Millisecond)
	_, err = other.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	waits.Wait()
	require.NoError(t, made, "of a store that waits for %s", options.BusyTimeout)
	require.NoError(t, opened.Close())
}
