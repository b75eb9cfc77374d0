package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// tripwire is a driver of which one statement fails, once.
type tripwire struct {
	of  driver.Driver
	dsn string
	// at reports whether a statement is the one; instead is run in its place, and then it
	// fails.
	at      func(query string) bool
	instead string
	with    error
	armed   atomic.Bool
	takes   time.Duration // whether it is armed or not
	// reached and goOn, if there are any, hold it up.
	reached, goOn chan struct{}
}

var _ driver.Connector = (*tripwire)(nil)

// Connect opens a connection of the driver.
func (d *tripwire) Connect(context.Context) (driver.Conn, error) {
	c, err := d.of.Open(d.dsn)
	if err != nil {
		return nil, err
	}
	return trippedConn{c, d}, nil
}

// Driver is the driver itself.
func (d *tripwire) Driver() driver.Driver { return d.of }

type trippedConn struct {
	driver.Conn
	wire *tripwire
}

// Prepare lets the statement pass by the wire.
func (c trippedConn) Prepare(query string) (driver.Stmt, error) {
	stmt, err := c.Conn.Prepare(query)
	if err == nil && c.wire.at(query) {
		return tripped{stmt, c}, nil
	}
	return stmt, err
}

type tripped struct {
	driver.Stmt
	conn trippedConn
}

func (s tripped) trip() error {
	time.Sleep(s.conn.wire.takes)
	if !s.conn.wire.armed.CompareAndSwap(true, false) {
		return nil
	}
	if s.conn.wire.reached != nil {
		close(s.conn.wire.reached)
		<-s.conn.wire.goOn
	}
	if s.conn.wire.instead != "" {
		other, err := s.conn.Conn.Prepare(s.conn.wire.instead)
		if err != nil {
			return err
		}
		defer other.Close()
		if _, err := other.Exec(nil); err != nil { //nolint:staticcheck // what every driver has
			return err
		}
	}
	return s.conn.wire.with
}

// Exec fails when it is tripped over.
func (s tripped) Exec(args []driver.Value) (driver.Result, error) {
	if err := s.trip(); err != nil {
		return nil, err
	}
	return s.Stmt.Exec(args) //nolint:staticcheck // what every driver has
}

// Query fails when it is tripped over.
func (s tripped) Query(args []driver.Value) (driver.Rows, error) {
	if err := s.trip(); err != nil {
		return nil, err
	}
	return s.Stmt.Query(args) //nolint:staticcheck // what every driver has
}

// tripping opens the shop's database through the wire.
func (s shop) tripping(t *testing.T, wire *tripwire) *sql.DB {
	t.Helper()
	_, db := s.open(t)
	wire.of, wire.dsn = db.Driver(), s.dsn
	mine := sql.OpenDB(wire)
	t.Cleanup(func() { require.NoError(t, mine.Close()) })
	return mine
}

func plainOrder(customer, name string, metadata map[string]string) store.Order {
	o := *checkoutOf(limitedCoupon("NONE", 0, 0), customer, name).Order
	o.CouponID, o.Coupon, o.ReservationID = "", nil, ""
	o.Quote = must(pricing.Price(shopCart(), pricing.Discount{}, nil))
	o.DiscountAmount, o.Metadata = 0, metadata
	return o
}

// created creates the orders in one batch beside the other call; an order is stored if
// and only if its call has said so.
func (s shop) created(t *testing.T, opened store.Store, orders []store.Order, other func()) (stored int) {
	t.Helper()
	errs := make([]error, len(orders))
	var calls []func()
	for i, o := range orders {
		if i == len(orders)/2 {
			calls = append(calls, other)
		}
		calls = append(calls, func() { _, _, errs[i] = opened.CreateOrder(t.Context(), o) })
	}
	s.joined(t, opened, calls...)
	for i, o := range orders {
		_, err := opened.Order(t.Context(), o.ID)
		if errs[i] == nil {
			stored++
			require.NoError(t, err, "the call of order %d has succeeded", i)
		} else {
			require.ErrorIs(t, err, store.ErrNotFound, "the call of order %d has returned %v", i, errs[i])
		}
	}
	return stored
}

func fewOrders() []store.Order {
	var orders []store.Order
	for i := range 10 {
		orders = append(orders, plainOrder(customer(i), fmt.Sprint("few", i), nil))
	}
	return orders
}

// SQLite ends a transaction when the disk cannot be read. What a batch has written
// before is gone then, and what it would write after that would be kept one by one.
func TestAReadThatFailsEndsItsBatch(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		wire := &tripwire{
			at:      func(query string) bool { return strings.Contains(query, "emails_digest FROM") },
			instead: "ROLLBACK", with: errors.New("disk I/O error"),
		}
		opened, err := sqlstore.New(s.tripping(t, wire), sqlstore.SQLite, sqlstore.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, opened.Close()) })
		c := limitedCoupon("GONE", 0, 0)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		wire.armed.Store(true)
		stored := s.created(t, opened, fewOrders(), func() { _ = opened.DeleteCoupon(t.Context(), c.ID, c.Revision) })
		require.False(t, wire.armed.Load())
		require.Equal(t, 10, stored)
	})
}

// told opens connections that begin with a statement.
type told struct {
	of             driver.Driver
	dsn, statement string
}

func (d told) Driver() driver.Driver { return d.of }

func (d told) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := d.of.Open(d.dsn)
	if err == nil {
		_, err = conn.(driver.ExecerContext).ExecContext(ctx, d.statement, nil)
	}
	return conn, err
}

// A disk that is full for one large order is not for the others of its batch.
func TestAFullDiskFailsOneCallOfABatch(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		_, db := s.open(t)
		var pages int
		require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages))
		limited := sql.OpenDB(told{db.Driver(), s.dsn, fmt.Sprintf("PRAGMA max_page_count = %d", pages+40)})
		t.Cleanup(func() { require.NoError(t, limited.Close()) })
		opened, err := sqlstore.New(limited, sqlstore.SQLite, sqlstore.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, opened.Close()) })
		large := map[string]string{}
		for i := range store.MaxMetadata {
			large[fmt.Sprint(i)] = strings.Repeat("x", store.MaxMetadataLength)
		}
		var failed error
		stored := s.created(t, opened, fewOrders(), func() {
			_, _, failed = opened.CreateOrder(t.Context(), plainOrder("zoe", "large", large))
		})
		require.Error(t, failed)
		require.Equal(t, 10, stored)
	})
}

// canWrite fails when a connection of the pool was left in a transaction, or keeps
// others from writing.
func canWrite(t *testing.T, pools ...*sql.DB) {
	t.Helper()
	for _, db := range pools {
		for range db.Stats().OpenConnections {
			c, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer c.Close()
			_, err = c.ExecContext(t.Context(), "BEGIN IMMEDIATE")
			require.NoError(t, err)
			_, err = c.ExecContext(t.Context(), "ROLLBACK")
			require.NoError(t, err)
		}
	}
}

// A driver may report the end of a context for a statement that it has run.
func TestAReadThatWasGivenUpLeavesNoTransaction(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		wire := &tripwire{at: func(query string) bool { return query == "BEGIN" }, instead: "BEGIN", with: context.Canceled}
		mine := s.tripping(t, wire)
		opened, err := sqlstore.New(mine, sqlstore.SQLite, sqlstore.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, opened.Close()) })
		wire.armed.Store(true)
		_, err = opened.ListCoupons(t.Context(), store.CouponList{})
		require.ErrorIs(t, err, context.Canceled)
		require.NotZero(t, mine.Stats().OpenConnections, "a database in memory would be gone with its connection")
		canWrite(t, mine)
	})
}

func TestAMigrationThatFailsLeavesNoTransaction(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		for name, wire := range map[string]*tripwire{
			"at its beginning": {
				at:      func(query string) bool { return query == "BEGIN IMMEDIATE" },
				instead: "BEGIN IMMEDIATE", with: context.Canceled,
			},
			"at its end": {
				at:   func(query string) bool { return query == "COMMIT" },
				with: errors.New("database is locked"),
			},
			"before it": {
				at:      func(query string) bool { return query == "PRAGMA busy_timeout = 60000" },
				instead: "PRAGMA busy_timeout = 60000", with: context.Canceled,
			},
		} {
			mine := s.tripping(t, wire)
			wire.armed.Store(true)
			err := sqlstore.Migrate(t.Context(), mine, sqlstore.SQLite, "other_")
			require.ErrorIs(t, err, wire.with, name)
			require.NotZero(t, mine.Stats().OpenConnections, name)
			_, db := s.open(t)
			canWrite(t, db, mine)
			require.Equal(t, []int64{10_000}, settings(t, mine)["busy_timeout"], name)
			require.NoError(t, sqlstore.Migrate(t.Context(), mine, sqlstore.SQLite, "other_"), name)
		}
	})
}

// A process that comes while another one migrates, for longer than one wait for the lock,
// waits for it again.
func TestAMigrationWaitsForAnother(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		wire := &tripwire{at: func(query string) bool { return query == "BEGIN IMMEDIATE" }, with: errors.New("database is locked")}
		mine := s.tripping(t, wire)
		wire.armed.Store(true)
		require.NoError(t, sqlstore.Migrate(t.Context(), mine, sqlstore.SQLite, "other_"))
		require.False(t, wire.armed.Load())
		canWrite(t, mine)
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		s := mariadbShop(t)
		_, db := s.open(t)
		other, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer other.Close()
		migrating := &otherMigration{of: db.Driver(), dsn: s.dsn, holds: 3, other: other}
		mine := sql.OpenDB(migrating)
		t.Cleanup(func() { require.NoError(t, mine.Close()) })
		require.NoError(t, sqlstore.Migrate(t.Context(), mine, sqlstore.MySQL, ""))
		require.Zero(t, migrating.holds)
	})
}

// otherMigration is a driver of a server on which another process is migrating, and will be
// during the first waits for the lock, which do not take their time.
type otherMigration struct {
	of    driver.Driver
	dsn   string
	holds int
	other *sql.Conn
}

func (m *otherMigration) Driver() driver.Driver { return m.of }

func (m *otherMigration) Connect(context.Context) (driver.Conn, error) {
	conn, err := m.of.Open(m.dsn)
	return besideMigration{conn, m}, err
}

type besideMigration struct {
	driver.Conn
	by *otherMigration
}

// Prepare shortens the wait for a lock.
func (c besideMigration) Prepare(query string) (driver.Stmt, error) {
	if !strings.Contains(query, "GET_LOCK") {
		return c.Conn.Prepare(query)
	}
	stmt, err := c.Conn.Prepare("SELECT GET_LOCK(?, 0)")
	return lockWanted{stmt, c.by}, err
}

type lockWanted struct {
	driver.Stmt
	by *otherMigration
}

// Query finds the lock taken.
func (s lockWanted) Query(args []driver.Value) (driver.Rows, error) {
	statement := "DO GET_LOCK(?, 0)"
	if s.by.holds == 0 {
		statement = "DO RELEASE_LOCK(?)"
	} else {
		s.by.holds--
	}
	if _, err := s.by.other.ExecContext(context.Background(), statement, args[0]); err != nil {
		return nil, err
	}
	return s.Stmt.Query(args) //nolint:staticcheck // what every driver has
}

// However many calls a batch may have, the store does not make room for them all.
func TestAnyNumberOfCallsInABatch(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		_, db := s.open(t)
		opened, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{MaxBatch: math.MaxInt})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, opened.Close()) })
		require.NoError(t, opened.CreateCoupon(t.Context(), limitedCoupon("ANY", 0, 0)))
	})
}

// Close waits for the calls that are under way, and later ones are ErrClosed: no call
// meets a statement that was closed.
func TestCloseLetsCallsFinish(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		_, db := s.open(t)
		db.SetMaxOpenConns(4)
		c := limitedCoupon("CLOSE", 0, 0)
		for round := range 10 {
			opened, err := sqlstore.New(db, s.dialect, sqlstore.Options{})
			require.NoError(t, err)
			if round == 0 {
				require.NoError(t, opened.CreateCoupon(t.Context(), c))
			}
			var callers sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				callers.Go(func() {
					for n := 0; errs[i] == nil; n++ {
						if i%2 == 0 {
							_, errs[i] = opened.LookUp(t.Context(), store.LookUp{Code: c.Code, CustomerID: customer(i)})
							continue
						}
						name := fmt.Sprintf("%d-%d-%d", round, i, n)
						_, errs[i] = opened.Reserve(t.Context(), checkoutOf(c, customer(i), name))
					}
				})
			}
			time.Sleep(time.Duration(10+3*round) * time.Millisecond)
			require.NoError(t, opened.Close())
			callers.Wait()
			for _, err := range errs {
				require.ErrorIs(t, err, store.ErrClosed)
				require.NotErrorIs(t, err, coupon.ErrNotFound)
			}
		}
	})
}

// TestCloseWaits holds a call up in the driver.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		wire := &tripwire{
			at:      func(query string) bool { return strings.Contains(query, "FROM coupons") },
			reached: make(chan struct{}), goOn: make(chan struct{}),
		}
		opened, err := sqlstore.New(s.tripping(t, wire), sqlstore.SQLite, sqlstore.Options{})
		require.NoError(t, err)
		c := limitedCoupon("WAIT", 0, 0)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		wire.armed.Store(true)
		found, closed := make(chan error, 1), make(chan struct{})
		go func() {
			_, err := opened.ListCoupons(t.Context(), store.CouponList{})
			found <- err
		}()
		<-wire.reached
		go func() {
			defer close(closed)
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		}()
		require.Eventually(t, func() bool { // later calls are refused meanwhile
			_, err := opened.Order(t.Context(), "ord_none")
			return errors.Is(err, store.ErrClosed)
		}, 10*time.Second, time.Millisecond)
		select {
		case <-closed:
			t.Error("the store is closed, and a call is under way")
		case <-time.After(20 * time.Millisecond):
		}
		close(wire.goOn)
		require.NoError(t, <-found)
		<-closed
	})
}

// A pool of one connection is the host's between two transactions of the store.
func TestASharedConnectionIsTheHosts(t *testing.T) {
	t.Parallel()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		_, db := s.open(t)
		db.SetMaxOpenConns(1)
		_, err := db.ExecContext(t.Context(), "PRAGMA synchronous = OFF")
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "PRAGMA cache_size = -1234")
		require.NoError(t, err)
		want := settings(t, db)
		opened, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{BusyTimeout: 3 * time.Second})
		require.NoError(t, err)
		require.NoError(t, opened.CreateCoupon(t.Context(), limitedCoupon("SHARED", 0, 0)))
		require.Equal(t, want, settings(t, db), "while the store is open")
		require.NoError(t, opened.Close())
		require.Equal(t, want, settings(t, db), "when it is closed")
	})
}

// A session that an order could not be stored with is not attached to it.
func TestAttachRefusesWhatNoOrderHas(t *testing.T) {
	t.Parallel()
	forEachDatabase(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, _ := s.open(t)
		order, _, err := opened.CreateOrder(t.Context(), plainOrder("ann", "attach", nil))
		require.NoError(t, err)
		for _, a := range []store.Attachment{
			{SessionURL: "https://pay.example"},
			{SessionID: strings.Repeat("x", 256), SessionURL: "https://pay.example"},
			{SessionID: "cs_1", SessionURL: "https://pay.example/" + strings.Repeat("x", store.MaxMetadataLength)},
		} {
			a.OrderID, a.At, a.Deadline = order.ID, noon().Add(time.Minute), noon().Add(time.Hour)
			_, err := opened.AttachSession(t.Context(), a)
			require.ErrorIs(t, err, pricing.ErrInvalid)
		}
		stored, err := opened.Order(t.Context(), order.ID)
		require.NoError(t, err)
		require.NoError(t, stored.Validate())
		require.Empty(t, stored.SessionURL)
	})
}
