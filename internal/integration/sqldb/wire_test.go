package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/store/sqlstore"
)

// wire is a driver between a store and its database. It calls a function before each
// statement, whose error is the answer.
type wire struct {
	of     driver.Driver
	dsn    string
	before func(query string, on driver.Conn) error
}

var _ driver.Connector = (*wire)(nil)

// Driver is the driver itself.
func (w *wire) Driver() driver.Driver { return w.of }

// Connect opens a connection of the driver.
func (w *wire) Connect(context.Context) (driver.Conn, error) {
	c, err := w.of.Open(w.dsn)
	if err != nil {
		return nil, err
	}
	return wiredConn{c, w}, nil
}

// wiredConn has only the methods that every connection has, so that every statement passes
// by Prepare.
type wiredConn struct {
	driver.Conn
	wire *wire
}

// Prepare puts the statement on the wire.
func (c wiredConn) Prepare(query string) (driver.Stmt, error) {
	stmt, err := c.Conn.Prepare(query)
	return wiredStmt{stmt, c, query}, err
}

type wiredStmt struct {
	driver.Stmt
	conn  wiredConn
	query string
}

// Exec runs the statement.
func (s wiredStmt) Exec(args []driver.Value) (driver.Result, error) {
	if err := s.conn.wire.before(s.query, s.conn.Conn); err != nil {
		return nil, err
	}
	return s.Stmt.Exec(args) //nolint:staticcheck // what every driver has
}

// Query runs the statement.
func (s wiredStmt) Query(args []driver.Value) (driver.Rows, error) {
	if err := s.conn.wire.before(s.query, s.conn.Conn); err != nil {
		return nil, err
	}
	return s.Stmt.Query(args) //nolint:staticcheck // what every driver has
}

// wired connects to the database through a wire.
func (d database) wired(t *testing.T, before func(query string, on driver.Conn) error) *sql.DB {
	t.Helper()
	db := sql.OpenDB(&wire{d.connect(t).Driver(), d.dsn, before})
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// trip is what happens instead of one statement, once it is armed.
type trip struct {
	armed atomic.Bool
	at    func(query string) bool
	then  func(on driver.Conn) error
}

func (tr *trip) before(query string, on driver.Conn) error {
	if !tr.at(query) || !tr.armed.CompareAndSwap(true, false) {
		return nil
	}
	return tr.then(on)
}

func has(part string) func(string) bool {
	return func(query string) bool { return strings.Contains(query, part) }
}

func is(whole string) func(string) bool { return func(query string) bool { return query == whole } }

// fails runs another statement, if there is one, and returns the error.
func fails(with error, instead string) func(driver.Conn) error {
	return func(on driver.Conn) error {
		if instead == "" {
			return with
		}
		other, err := on.Prepare(instead)
		if err != nil {
			return err
		}
		defer other.Close()
		_, err = other.Exec(nil) //nolint:staticcheck // what every driver has
		return errors.Join(with, err)
	}
}

// waits tells that the statement was reached, and lets it go on.
func waits(reached chan<- struct{}, goOn <-chan struct{}, with error) func(driver.Conn) error {
	return func(driver.Conn) error {
		close(reached)
		<-goOn
		return with
	}
}

// tripping is a store whose statements pass by the trip.
func (d database) tripping(t *testing.T, tr *trip, o sqlstore.Options) (*sqlstore.Store, *sql.DB) {
	t.Helper()
	db := d.wired(t, tr.before)
	return d.storeOn(t, db, o), db
}
