package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// fewStatements is a driver of a server that keeps so many prepared statements and no more.
type fewStatements struct {
	of  driver.Driver
	dsn string

	mu       sync.Mutex
	left     int
	refusals int
}

func (d *fewStatements) Driver() driver.Driver { return d.of }

func (d *fewStatements) Connect(context.Context) (driver.Conn, error) {
	conn, err := d.of.Open(d.dsn)
	return countingConn{conn, d}, err
}

// take returns an error when nothing is left.
func (d *fewStatements) take() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		d.refusals++
		return &mysql.MySQLError{
			Number: 1461, SQLState: [5]byte([]byte("42000")), Message: "Can't create more than max_prepared_stmt_count statements",
		}
	}
	d.left--
	return nil
}

func (d *fewStatements) giveBack() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left++
}

type countingConn struct {
	driver.Conn
	by *fewStatements
}

// BeginTx is the driver's own.
func (c countingConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

// Prepare takes one of the statements.
func (c countingConn) Prepare(query string) (driver.Stmt, error) {
	if err := c.by.take(); err != nil {
		return nil, err
	}
	stmt, err := c.Conn.Prepare(query)
	if err != nil {
		c.by.giveBack()
		return nil, err
	}
	return countedStatement{stmt, c.by}, nil
}

type countedStatement struct {
	driver.Stmt
	by *fewStatements
}

// Close gives the statement back.
func (s countedStatement) Close() error {
	s.by.giveBack()
	return s.Stmt.Close()
}

// fewStatementsStore is a store on so many connections to a server that keeps so many prepared
// statements for them; another store writes without that bound.
func fewStatementsStore(t *testing.T, connections, statements int) (few *fewStatements, opened, another *sqlstore.Store) {
	t.Helper()
	s := mariadbShop(t)
	another, db := s.open(t)
	few = &fewStatements{of: db.Driver(), dsn: s.dsn, left: statements}
	mine := sql.OpenDB(few)
	t.Cleanup(func() { require.NoError(t, mine.Close()) })
	mine.SetMaxOpenConns(connections)
	mine.SetMaxIdleConns(connections)
	opened, err := sqlstore.New(mine, sqlstore.MySQL, sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	return few, opened, another
}

// A server that keeps no more prepared statements refuses nobody's call: the store gives its
// own up, and prepares for each call what it runs. Calls then never wait for each other in
// a circle, whichever calls have met: there are several stores, so that some of many meetings are
// had.
func TestAServerOfFewStatements(t *testing.T) {
	t.Parallel()
	const connections, statements, stores = 8, 40, 6
	for n := range stores {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			few, opened, _ := fewStatementsStore(t, connections, statements)
			exhaust(t, opened, 300, 100)
			require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
			require.Positive(t, few.refusals)
			for range connections { // each of them is put back once more
				_, err := opened.Due(t.Context(), noon(), 1)
				require.NoError(t, err)
			}
			require.NoError(t, opened.Close())
			if diff := cmp.Diff(statements, few.left); diff != "" {
				t.Errorf("statements that are left when the store is closed (-want +got):\n%s", diff)
			}
		})
	}
}

// Whoever else has all the statements is waited for.
func TestStatementsThatComeFree(t *testing.T) {
	t.Parallel()
	few, opened, writing := fewStatementsStore(t, 2, 0)
	c := limitedCoupon("WAIT", 0, 0)
	require.NoError(t, writing.CreateCoupon(t.Context(), c))
	free := time.AfterFunc(2*time.Second, few.giveBack)
	defer free.Stop()
	_, err := use(t.Context(), opened, c, "ann", "late")
	require.NoError(t, err)

	require.NoError(t, few.take())
	brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = opened.Coupon(brief, c.ID)
	require.ErrorIs(t, err, context.DeadlineExceeded, "the wait ends with the context")
	few.giveBack()
}

// Calls that only read are not refused either.
func TestReadingFromAServerOfFewStatements(t *testing.T) {
	t.Parallel()
	few, opened, writing := fewStatementsStore(t, 1, 2)
	c := limitedCoupon("READ", 0, 0)
	require.NoError(t, writing.CreateCoupon(t.Context(), c))
	for range 3 {
		_, err := opened.LookUp(t.Context(), store.LookUp{Code: c.Code})
		require.NoError(t, err)
		_, err = opened.Due(t.Context(), noon(), 10)
		require.NoError(t, err)
		_, err = opened.OpenOrders(t.Context(), noon(), 10)
		require.NoError(t, err)
		_, err = opened.Coupon(t.Context(), c.ID)
		require.NoError(t, err)
		_, err = opened.ListCoupons(t.Context(), store.CouponList{})
		require.NoError(t, err)
	}
	require.Positive(t, few.refusals)
}
