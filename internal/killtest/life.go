package killtest

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// ErrDead is what a killed shop gets for every step.
var ErrDead = errors.New("the shop was killed")

// ErrLost is what a shop gets for a request that is late or lost, as after a timeout.
var ErrLost = errors.New("no answer within the timeout")

// Life is one run of a shop, from its start to its death. All methods are safe for concurrent use.
type Life struct {
	world *World

	mu    sync.Mutex
	steps int  // steps until the death
	after bool // whether the last step takes effect
	dead  bool
	conns []net.Conn
}

// IsDead reports whether the shop was killed.
func (l *Life) IsDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// DieWithin lets the shop die within so many steps, while there is trouble. A test that plants a mistake
// finds it sooner.
func (l *Life) DieWithin(steps int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.world.trouble {
		l.steps = min(l.steps, steps)
	}
}

// Step does one step of the shop. If the shop dies, the error is [ErrDead], with or without the effect.
func (l *Life) Step(effect func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return ErrDead
	}
	l.world.pass()
	if l.steps--; l.steps > 0 {
		return effect()
	}
	l.dead = true
	if l.after {
		_ = effect() // the caller gets no answer
	}
	for _, c := range l.conns { // as the operating system closes them
		_ = c.Close()
	}
	return ErrDead
}

// Transport carries the requests of the shop to a provider. Each is a step. The world may keep a request
// back or lose it.
func (l *Life) Transport(to http.RoundTripper) http.RoundTripper { return transport{l, to} }

type transport struct {
	life *Life
	to   http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (response *http.Response, err error) {
	err = t.life.Step(func() (err error) {
		if t.life.world.lose(r, t.to) {
			return ErrLost
		}
		response, err = t.to.RoundTrip(r) //nolint:bodyclose // the client closes it
		return err
	})
	if err != nil { // the dead shop gets no answer
		return nil, err
	}
	return response, nil
}

// Dial makes connections whose messages are steps, such as those to PostgreSQL. A message that ends a
// connection is none.
func (l *Life) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if l.IsDead() {
		return nil, ErrDead
	}
	inner, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, inner)
	return &conn{inner, l}, nil
}

type conn struct {
	net.Conn

	life *Life
}

// terminate is the type of PostgreSQL's message that ends a connection.
const terminate = 'X'

func (c *conn) Write(message []byte) (n int, err error) {
	if len(message) > 0 && message[0] == terminate {
		return c.Conn.Write(message)
	}
	err = c.life.Step(func() (err error) {
		n, err = c.Conn.Write(message)
		return errors.Join(err, c.hearDying())
	})
	if err != nil {
		n = 0
	}
	return n, err
}

// hearDying waits until the server has processed everything that the dying shop sent.
func (c *conn) hearDying() error {
	if !c.life.dead {
		return nil
	}
	if err := c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		return err
	}
	_, err := c.Read(make([]byte, 1<<12))
	return err
}

// Connector opens connections of database/sql whose statements are steps. Closing a connection and
// rolling back are none: the operating system does both for a process that has died.
func (l *Life) Connector(d driver.Driver, dsn string) driver.Connector { return connector{d, dsn, l} }

type connector struct {
	driver driver.Driver
	dsn    string
	life   *Life
}

func (c connector) Driver() driver.Driver { return c.driver }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	made, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	inner, is := made.(innerConn)
	if !is {
		return nil, errors.Join(errors.ErrUnsupported, made.Close())
	}
	return &sqlConn{inner, c.life}, nil
}

// innerConn and innerStmt are the interfaces that a driver must have.
type innerConn interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
	driver.ConnBeginTx
}

type innerStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type sqlConn struct {
	innerConn

	life *Life
}

func (c *sqlConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	err = c.life.Step(func() (err error) {
		result, err = c.innerConn.ExecContext(ctx, query, args)
		return err
	})
	return result, err
}

func (c *sqlConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = c.life.Step(func() (err error) {
		rows, err = c.innerConn.QueryContext(ctx, query, args)
		return err
	})
	return closed(rows, err)
}

func (c *sqlConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	made, err := c.innerConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	inner, is := made.(innerStmt)
	if !is {
		return nil, errors.Join(errors.ErrUnsupported, made.Close())
	}
	return &stmt{inner, c.life}, nil
}

func (c *sqlConn) BeginTx(ctx context.Context, o driver.TxOptions) (made driver.Tx, err error) {
	err = c.life.Step(func() (err error) {
		made, err = c.innerConn.BeginTx(ctx, o)
		return err
	})
	if err != nil && made != nil {
		_ = made.Rollback()
	}
	return &tx{made, c.life}, err
}

// closed closes rows that nobody will read. Open rows would keep the connection and its locks.
func closed(rows driver.Rows, err error) (driver.Rows, error) {
	if err != nil && rows != nil {
		_ = rows.Close()
		rows = nil
	}
	return rows, err
}

type tx struct {
	driver.Tx

	life *Life
}

func (t *tx) Commit() error { return t.life.Step(t.Tx.Commit) }

type stmt struct {
	innerStmt

	life *Life
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (result driver.Result, err error) {
	err = s.life.Step(func() (err error) {
		result, err = s.innerStmt.ExecContext(ctx, args)
		return err
	})
	return result, err
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = s.life.Step(func() (err error) {
		rows, err = s.innerStmt.QueryContext(ctx, args)
		return err
	})
	return closed(rows, err)
}

// Clock is the time of the world. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *Clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
