package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// errDead is what a killed shop gets for every statement and every request. What it does after its
// death therefore changes nothing outside, as if it did nothing.
var errDead = errors.New("the shop was killed")

// life is one run of the shop, from its start to its death. Each statement of the database and each
// request to the provider is a step. The shop dies at a step that was drawn before: before the step
// takes effect, or after it and before the answer.
type life struct {
	mu    sync.Mutex
	steps int // until the death
	after bool
	dead  bool
	pass  func() // lets time pass, before a step
}

func newLife(random *rand.Rand, steps int, pass func()) *life {
	return &life{steps: random.IntN(steps) + 1, after: random.IntN(2) == 0, pass: pass}
}

// step does one step of the shop.
func (l *life) step(effect func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errDead
	}
	l.pass()
	if l.steps--; l.steps > 0 {
		return effect()
	}
	l.dead = true
	if l.after {
		_ = effect() // nobody hears the answer
	}
	return errDead
}

func (l *life) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// wire carries the requests of one life to the provider.
type wire struct {
	life     *life
	provider http.RoundTripper
	// lose may keep a request back, which then reaches the provider later or never. The shop gets an
	// error, as after a timeout.
	lose func(*http.Request) bool
}

func (w wire) RoundTrip(r *http.Request) (response *http.Response, err error) {
	err = w.life.step(func() (err error) {
		if w.lose(r) {
			return context.DeadlineExceeded
		}
		response, err = w.provider.RoundTrip(r) //nolint:bodyclose // the client closes it
		return err
	})
	if err != nil { // nobody reads an answer that came after the death
		return nil, err
	}
	return response, nil
}

// connector opens the connections of one life.
type connector struct {
	file string
	life *life
}

func (c connector) Connect(context.Context) (driver.Conn, error) {
	inner, err := c.Driver().Open("file:" + c.file + "?_pragma=busy_timeout(1000)&_pragma=synchronous(OFF)&_txlock=immediate")
	return &conn{inner, c.life}, err
}

func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }

// conn is a connection of one life. Closing it and rolling back are no steps: the operating system does
// both for a process that has died.
type conn struct {
	driver.Conn

	life *life
}

var (
	_ driver.ExecerContext      = (*conn)(nil)
	_ driver.QueryerContext     = (*conn)(nil)
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ConnBeginTx        = (*conn)(nil)
)

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	err = c.life.step(func() (err error) {
		result, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return result, err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = c.life.step(func() (err error) {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
		return err
	})
	return closed(rows, err)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	made, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	return &stmt{made, c.life}, err
}

func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (made driver.Tx, err error) {
	err = c.life.step(func() (err error) {
		made, err = c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
		return err
	})
	if err != nil && made != nil {
		_ = made.Rollback()
	}
	return &tx{made, c.life}, err
}

// closed closes rows that nobody reads. They would keep the connection, and its locks, after its end.
func closed(rows driver.Rows, err error) (driver.Rows, error) {
	if err != nil && rows != nil {
		_ = rows.Close()
		rows = nil
	}
	return rows, err
}

type tx struct {
	driver.Tx

	life *life
}

func (t *tx) Commit() error { return t.life.step(t.Tx.Commit) }

type stmt struct {
	driver.Stmt

	life *life
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (result driver.Result, err error) {
	err = s.life.step(func() (err error) {
		result, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
		return err
	})
	return result, err
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = s.life.step(func() (err error) {
		rows, err = s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
		return err
	})
	return closed(rows, err)
}

// clock is the time of the shop.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
