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

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// holds takes the write lock of a SQLite database, until the function is called.
func (d database) holds(t *testing.T) (release func()) {
	t.Helper()
	db := d.connect(t)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "UPDATE couponkit_schema SET version = version")
	require.NoError(t, err)
	return func() { require.NoError(t, tx.Rollback()) }
}

// together makes calls that wait for one batch, where there are batches.
func (d database) together(t *testing.T, calls ...func() error) []error {
	t.Helper()
	release := func() {}
	if d.dialect == sqlstore.SQLite {
		release = d.holds(t)
	}
	errs := make([]error, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() { errs[i] = call() })
	}
	time.Sleep(50 * time.Millisecond) // all of them wait
	release()
	all.Wait()
	return errs
}

// plain is an order without a coupon.
func plain(customer, name string) store.Reservation {
	r := checkoutOf(hotCoupon(0, 0), customer, "", name)
	r.Order.Coupons, r.Uses, r.Coupons = nil, nil, nil
	return r
}

func reserving(t *testing.T, s store.Store, r store.Reservation) func() error {
	t.Helper()
	return func() error { _, err := s.Reserve(t.Context(), r); return err }
}

// TestABadCallFailsAlone: of the calls that wait together, one that fails after it has
// written fails alone.
func TestABadCallFailsAlone(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		s := d.store(t, sqlstore.Options{})
		c := hotCoupon(1_000, 0)
		create(t, s, c)
		require.NoError(t, reserving(t, s, checkoutOf(c, "ann", "", "first"))())
		const calls = 30
		var all []func() error
		for i := range calls {
			r := checkoutOf(c, fmt.Sprint("customer-", i), "", fmt.Sprint(i))
			if i%10 == 5 { // its order is new, its use is not
				r.Uses[0].ID = "use_first"
			}
			all = append(all, reserving(t, s, r))
		}
		for i, err := range d.together(t, all...) {
			if i%10 == 5 {
				require.ErrorIs(t, err, store.ErrConflict)
				continue
			}
			require.NoError(t, err)
		}
		counts, err := s.Counts(t.Context(), []string{eligibility.CouponUses(c.ID)})
		require.NoError(t, err)
		require.EqualValues(t, 1+calls-calls/10, counts[0].Reserved)
		require.NoError(t, storetest.Check(t.Context(), s))
	})
}

// TestACallerMayGo: a caller who leaves while waiting for the database changes nothing, and
// nobody else notices.
func TestACallerMayGo(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		s := d.store(t, sqlstore.Options{})
		c := hotCoupon(10, 1)
		create(t, s, c)
		release := d.holds(t)
		ctx, cancel := context.WithCancel(t.Context())
		gone, stays := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := s.Reserve(ctx, checkoutOf(c, "ann", "", "gone"))
			gone <- err
		}()
		go func() { stays <- reserving(t, s, checkoutOf(c, "bob", "", "stays"))() }()
		time.Sleep(20 * time.Millisecond)
		cancel()
		require.ErrorIs(t, <-gone, context.Canceled, "the caller does not wait for the lock")
		release()
		require.NoError(t, <-stays)
		_, err := s.Order(t.Context(), store.OrderKey{ID: "ord_gone"})
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}

// TestABusyDatabase: somebody who keeps the write lock too long is an error that says so.
func TestABusyDatabase(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		s := d.store(t, sqlstore.Options{BusyTimeout: 30 * time.Millisecond})
		call := reserving(t, s, plain("ann", "a"))
		release := d.holds(t)
		err := call()
		require.True(t, s.Retryable(err), "got: %v", err)
		release()
		require.NoError(t, call())
	})
}

// TestEachCallWaitsAsLongAsItMay: a call that has waited for others as long as it may is told
// so, however long each look at the lock takes. Those behind it wait on.
func TestEachCallWaitsAsLongAsItMay(t *testing.T) {
	const longest, behind, untilFree = sqlstore.DefaultBusyTimeout, 6 * time.Second, 13 * time.Second
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := d.storeOn(t, d.wired(t, func(query string, _ driver.Conn) error {
				if strings.HasPrefix(query, "BEGIN") {
					time.Sleep(2 * time.Millisecond)
				}
				return nil
			}), sqlstore.Options{})
			require.NoError(t, reserving(t, s, plain("ann", "first"))())
			release := d.holds(t)
			begun := time.Now()
			var calls sync.WaitGroup
			var errs [4]error
			var took [4]time.Duration
			for i, after := range []time.Duration{0, 1, behind, behind} {
				calls.Go(func() {
					time.Sleep(after)
					errs[i] = reserving(t, s, plain("ann", fmt.Sprint(i)))()
					took[i] = time.Since(begun)
				})
			}
			time.Sleep(untilFree)
			release()
			calls.Wait()
			for i, err := range errs[:2] {
				require.True(t, s.Retryable(err), "call %d: %v", i, err)
				require.InDelta(t, longest, took[i], float64(time.Second), "call %d", i)
			}
			for i, err := range errs[2:] {
				require.NoError(t, err, "call %d from behind", i)
			}
			require.NoError(t, storetest.Check(t.Context(), s))
		})
	})
}

// TestTheFirstCallWaitsToo: a call waits for others from its first look into the file on,
// whatever the host's connections do, also if it may wait for ever.
func TestTheFirstCallWaitsToo(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		tables := d.connect(t)
		require.NoError(t, sqlstore.Migrate(t.Context(), tables, d.dialect, sqlstore.Options{}))
		tables.SetMaxIdleConns(0)
		for i, patience := range []time.Duration{10 * time.Second, math.MaxInt64} {
			other, err := d.connect(t).Conn(t.Context())
			require.NoError(t, err)
			run := func(statement string) {
				_, err := other.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
			run("PRAGMA journal_mode = DELETE")
			host := d.wired(t, func(string, driver.Conn) error { return nil })
			host.SetMaxOpenConns(1)
			s, err := sqlstore.New(t.Context(), host, d.dialect, sqlstore.Options{BusyTimeout: patience})
			require.NoError(t, err)
			_, err = host.ExecContext(t.Context(), "PRAGMA busy_timeout = 0")
			require.NoError(t, err)
			run("BEGIN EXCLUSIVE")
			ended := make(chan error, 1)
			go func() { ended <- reserving(t, s, plain("ann", fmt.Sprint(i)))() }()
			time.Sleep(50 * time.Millisecond)
			run("ROLLBACK")
			require.NoError(t, <-ended, "of a store that waits for %s", patience)
			require.NoError(t, s.Close())
			require.NoError(t, other.Close())
			require.NoError(t, host.Close())
		}
	})
}

// TestOneConnection: a database in memory has one connection, which the store shares with
// the host.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := database{driver, "file::memory:", sqlstore.SQLite}
			db := d.connect(t)
			db.SetMaxOpenConns(1)
			s := d.storeOn(t, db, sqlstore.Options{})
			c := hotCoupon(100, 1)
			create(t, s, c)
			used, err := crowd(t.Context(), []store.Store{s}, c, "a", 64, 300)
			require.NoError(t, err)
			require.EqualValues(t, 100, used)
			require.NoError(t, storetest.Check(t.Context(), s))
		})
	}
}

var errFull = errors.New("database or disk is full")

// TestARefusalFallsWithItsBatch: a batch that cannot be committed has refused nobody. The use
// for which no other was left is not stored either.
func TestARefusalFallsWithItsBatch(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		var full atomic.Bool
		s := d.storeOn(t, d.wired(t, func(query string, _ driver.Conn) error {
			if query == "COMMIT" && full.Load() {
				return errFull
			}
			return nil
		}), sqlstore.Options{})
		c := hotCoupon(1, 1)
		create(t, s, c)
		full.Store(true)
		var calls []func() error
		for _, name := range []string{"ann", "bob", "cara", "dora"} {
			calls = append(calls, reserving(t, s, checkoutOf(c, name, "", name)))
		}
		for _, err := range d.together(t, calls...) {
			require.ErrorIs(t, err, errFull)
		}
		full.Store(false)
		require.NoError(t, calls[1]())
		require.NoError(t, storetest.Check(t.Context(), s))
	})
}

// stored makes ten orders in one batch beside another call. Each order is stored if and only
// if its call has said so.
func (d database) stored(t *testing.T, s store.Store, other func() error) (stored int, err error) {
	t.Helper()
	calls, ids := []func() error{other}, []string{""}
	for i := range 10 {
		r := plain("ann", fmt.Sprint("few", i))
		calls, ids = append(calls, reserving(t, s, r)), append(ids, r.Order.ID)
	}
	errs := d.together(t, calls...)
	for i, id := range ids[1:] {
		_, err := s.Order(t.Context(), store.OrderKey{ID: id})
		if errs[i+1] == nil {
			stored++
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, store.ErrNotFound, "the call has returned %v", errs[i+1])
	}
	return stored, errs[0]
}

// TestAReadThatFailsEndsItsBatch: SQLite ends a transaction when the disk cannot be read.
// What a batch has written before is gone then, and each of its calls is made anew.
func TestAReadThatFailsEndsItsBatch(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		tr := &trip{at: has("couponkit_coupons WHERE id = ?"), then: fails(errors.New("disk I/O error"), "ROLLBACK")}
		s, _ := d.tripping(t, tr, sqlstore.Options{})
		c := hotCoupon(0, 0)
		create(t, s, c)
		tr.armed.Store(true)
		stored, err := d.stored(t, s, func() error {
			_, err := s.SaveCoupon(t.Context(), store.CouponChange{Kind: store.DeleteCoupon, Coupon: c, At: noon()})
			return err
		})
		require.NoError(t, err)
		require.Equal(t, 10, stored)
		require.False(t, tr.armed.Load())
	})
}

// TestAFullDiskFailsOneCallOfABatch: a disk that is full for one large order is not for the
// others of its batch.
func TestAFullDiskFailsOneCallOfABatch(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		d.store(t, sqlstore.Options{}) // the tables
		pages := number(t, d.connect(t), "PRAGMA page_count")
		s := d.storeOn(t, d.wired(t, func(query string, on driver.Conn) error {
			if query != "PRAGMA cache_size" { // which is read when the connection is set up
				return nil
			}
			return fails(nil, fmt.Sprint("PRAGMA max_page_count = ", pages+40))(on)
		}), sqlstore.Options{})
		large := plain("zoe", "large")
		large.Order.Metadata = map[string]string{}
		for i := range redemption.MaxMetadata {
			large.Order.Metadata[fmt.Sprint(i)] = strings.Repeat("x", redemption.MaxMetadataLength)
		}
		stored, err := d.stored(t, s, reserving(t, s, large))
		require.ErrorContains(t, err, "full")
		require.Equal(t, 10, stored)
	})
}

// canWrite fails when a connection of the pool was left in a transaction, or keeps others
// from writing.
func canWrite(t *testing.T, db *sql.DB) {
	t.Helper()
	require.NotZero(t, db.Stats().OpenConnections, "a database in memory would be gone with its connection")
	for range db.Stats().OpenConnections {
		c, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer c.Close()
		for _, statement := range []string{"BEGIN IMMEDIATE", "ROLLBACK"} {
			_, err = c.ExecContext(t.Context(), statement)
			require.NoError(t, err)
		}
	}
}

// TestAReadThatWasGivenUpLeavesNoTransaction: a driver may report the end of a context for a
// statement that it has run.
func TestAReadThatWasGivenUpLeavesNoTransaction(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		tr := &trip{at: is("BEGIN"), then: fails(context.Canceled, "BEGIN")}
		s, db := d.tripping(t, tr, sqlstore.Options{})
		tr.armed.Store(true)
		_, err := s.ListCoupons(t.Context(), store.CouponList{})
		require.ErrorIs(t, err, context.Canceled)
		canWrite(t, db)
	})
}

// TestAMigrationThatFailsLeavesNoTransaction, and one that finds another one waits for it.
func TestAMigrationThatFailsLeavesNoTransaction(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		for name, tr := range map[string]*trip{
			"beginning": {at: is("BEGIN IMMEDIATE"), then: fails(context.Canceled, "BEGIN IMMEDIATE")},
			"middle":    {at: has("TABLE middle_uses"), then: fails(errFull, "ROLLBACK")},
			"end":       {at: is("COMMIT"), then: fails(errors.New("database is locked"), "")},
			"waits":     {at: is("BEGIN IMMEDIATE"), then: fails(errors.New("database is locked"), "")},
		} {
			db := d.wired(t, tr.before)
			tr.armed.Store(true)
			o := sqlstore.Options{TablePrefix: name + "_"}
			err := sqlstore.Migrate(t.Context(), db, d.dialect, o)
			require.False(t, tr.armed.Load(), name)
			if name == "waits" {
				require.NoError(t, err)
				continue
			}
			require.Error(t, err, name)
			canWrite(t, db)
			_, err = sqlstore.New(t.Context(), db, d.dialect, o)
			var none *sqlstore.SchemaError
			require.ErrorAs(t, err, &none, name)
		}
	})
}

// TestCloseLetsCallsFinish: Close waits for the calls that are under way, and later ones are
// ErrClosed. No call meets a statement that was closed.
func TestCloseLetsCallsFinish(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.connect(t)
		db.SetMaxOpenConns(4)
		c := hotCoupon(0, 0)
		create(t, d.storeOn(t, db, sqlstore.Options{}), c)
		for round := range 5 {
			s := d.storeOn(t, db, sqlstore.Options{})
			var callers sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				callers.Go(func() {
					for n := 0; errs[i] == nil; n++ {
						name := fmt.Sprintf("%d-%d-%d", round, i, n)
						if i%2 == 0 {
							_, errs[i] = store.Find(t.Context(), s, store.LookUp{Names: store.ByCode(c.Code), CustomerID: name})
						} else {
							_, errs[i] = s.Reserve(t.Context(), checkoutOf(c, name, "", name))
						}
					}
				})
			}
			time.Sleep(time.Duration(10+6*round) * time.Millisecond)
			require.NoError(t, s.Close())
			callers.Wait()
			for _, err := range errs {
				require.ErrorIs(t, err, store.ErrClosed)
			}
		}
	})
}

// TestCloseWaits holds a call up in the driver.
func TestCloseWaits(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		reached, goOn := make(chan struct{}), make(chan struct{})
		tr := &trip{at: has("FROM couponkit_coupons c"), then: waits(reached, goOn, nil)}
		s, _ := d.tripping(t, tr, sqlstore.Options{})
		tr.armed.Store(true)
		found, closed := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := s.ListCoupons(t.Context(), store.CouponList{})
			found <- err
		}()
		<-reached
		go func() { closed <- s.Close() }()
		require.Eventually(t, func() bool { // later calls are refused meanwhile
			_, err := s.Order(t.Context(), store.OrderKey{ID: "ord_none"})
			return errors.Is(err, store.ErrClosed)
		}, 10*time.Second, time.Millisecond)
		select {
		case <-closed:
			t.Error("the store is closed, and a call is under way")
		case <-time.After(20 * time.Millisecond):
		}
		close(goOn)
		require.NoError(t, <-found)
		require.NoError(t, <-closed)
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
			require.NoError(t, c.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value))
			found[name] = append(found[name], value)
		}
	}
	return found
}

// TestConnectionsGoBackAsTheyWere: what the store sets on a connection of the host's pool
// ends with the store. A pool of one connection is the host's between two transactions.
func TestConnectionsGoBackAsTheyWere(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.connect(t)
		s := d.storeOn(t, db, sqlstore.Options{})
		want := settings(t, db)
		require.Equal(t, []int64{10_000}, want["busy_timeout"], "after Migrate")
		require.NoError(t, reserving(t, s, plain("ann", "a"))())
		require.NoError(t, s.Close())
		for name, values := range settings(t, db) {
			for _, value := range values {
				require.Equal(t, want[name][0], value, name)
			}
		}
		one := d.connect(t)
		one.SetMaxOpenConns(1)
		for _, setting := range []string{"synchronous = OFF", "cache_size = -1234"} {
			_, err := one.ExecContext(t.Context(), "PRAGMA "+setting)
			require.NoError(t, err)
		}
		want = settings(t, one)
		s = d.storeOn(t, one, sqlstore.Options{BusyTimeout: 3 * time.Second})
		require.NoError(t, reserving(t, s, plain("ann", "b"))())
		require.Equal(t, want, settings(t, one), "while the store is open")
		require.NoError(t, s.Close())
		require.Equal(t, want, settings(t, one), "when it is closed")
	})
}

// TestKeepSettings: the store runs no PRAGMA where it is to leave the engine alone, as on
// dqlite, and no statement has more arguments than it may have.
func TestKeepSettings(t *testing.T) {
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		const most = 255
		var pragmas, longest atomic.Int64
		s := d.storeOn(t, d.wired(t, func(query string, _ driver.Conn) error {
			if strings.Contains(strings.ToUpper(query), "PRAGMA") {
				pragmas.Add(1)
			}
			longest.Store(max(longest.Load(), int64(strings.Count(query, "?"))))
			return nil
		}), sqlstore.Options{KeepSettings: true, MaxParameters: most})
		c := hotCoupon(80, 1)
		create(t, s, c)
		used, err := crowd(t.Context(), []store.Store{s}, c, "a", 64, 100)
		require.NoError(t, err)
		require.EqualValues(t, 80, used)
		require.NoError(t, storetest.Check(t.Context(), s))
		require.NoError(t, s.Close())
		require.Zero(t, pragmas.Load())
		require.Positive(t, longest.Load())
		require.LessOrEqual(t, longest.Load(), int64(most))
	})
}

// TestTheLogBeginsAnewBesideReaders, though somebody reads whenever a call is committed: the
// store waits until they have read.
func TestTheLogBeginsAnewBesideReaders(t *testing.T) {
	const callers, each = 500, 17
	onSQLite(t, func(t *testing.T, d database) {
		t.Helper()
		reached, goOn := make(chan struct{}), make(chan struct{})
		tr := &trip{at: has("wal_checkpoint"), then: waits(reached, goOn, errors.New("database is locked"))}
		s, _ := d.tripping(t, tr, sqlstore.Options{Relaxed: true})
		made := func(name string) {
			if err := reserving(t, s, plain("ann", name))(); err != nil {
				t.Error(err)
			}
		}
		made("first")
		before := d.logs(t)
		reader := d.begins(t, d.connect(t))
		var n int
		require.NoError(t, reader.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM couponkit_orders").Scan(&n))
		tr.armed.Store(true)
		go func() {
			<-reached // the store finds that somebody reads
			if err := reader.Rollback(); err != nil {
				t.Error(err)
			}
			close(goOn)
		}()
		var calls sync.WaitGroup
		for i := range callers {
			calls.Go(func() {
				for n := range each {
					made(fmt.Sprintf("%d-%d", i, n))
				}
			})
		}
		calls.Wait()
		made("last") // after the log has begun anew
		if tr.armed.CompareAndSwap(true, false) {
			close(reached)
			<-goOn
		}
		require.Equal(t, before+1, d.logs(t), "logs that were begun")
	})
}

// logs returns the number of the log: SQLite counts how often it has begun anew.
func (d database) logs(t *testing.T) uint32 {
	t.Helper()
	file, _, _ := strings.Cut(strings.TrimPrefix(d.dsn, "file:"), "?")
	header, err := os.ReadFile(file + "-wal")
	require.NoError(t, err)
	return binary.BigEndian.Uint32(header[12:])
}
