package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
)

// querier runs statements: on the pool, on one connection, or in a transaction.
type querier interface {
	exec(ctx context.Context, query string, args ...any) (sql.Result, error)
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	queryRow(ctx context.Context, query string, args ...any) *sql.Row
}

// plain is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type plain interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// unprepared runs statements as they come.
type unprepared struct{ plain }

func (u unprepared) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return u.ExecContext(ctx, query, args...)
}

func (u unprepared) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return u.QueryContext(ctx, query, args...)
}

func (u unprepared) queryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return u.QueryRowContext(ctx, query, args...)
}

// preparer is what *sql.DB and *sql.Conn have in common.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// statement is a prepared statement.
type statement interface {
	ExecContext(ctx context.Context, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, args ...any) *sql.Row
}

// statementCache keeps a prepared statement for each text. The texts are those of
// this package: their number is bounded. It is safe for use by many goroutines.
//
// To prepare takes a connection of the pool, and so must not happen in a
// transaction, which has one already: where all connections are in transactions,
// all would wait. A transaction runs a statement that is not known as it is, and
// has it prepared before the next one.
//
// Without a cache, which is nil, statements run as they come.
type statementCache struct {
	on preparer

	mu     sync.RWMutex
	known  map[string]*sql.Stmt
	wanted map[string]struct{}
	users  int  // calls that it is lent to
	off    bool // it is lent to nobody any more
}

func newStatementCache(on preparer) *statementCache {
	return &statementCache{on: on, known: make(map[string]*sql.Stmt), wanted: make(map[string]struct{})}
}

func (c *statementCache) find(query string) (*sql.Stmt, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	stmt, known := c.known[query]
	return stmt, known
}

func (c *statementCache) want(query string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted[query] = struct{}{}
}

// lend lets a call run with the cache. Once one has found that the server keeps no more,
// calls run without, and what is known is closed when those have ended that have it: to close
// a statement waits for whoever is running it, who may be waiting for a row of somebody who
// would then wait for the statement.
func (c *statementCache) lend(call func(*statementCache) error, crowded func(error) bool) (err error) {
	if !c.take() {
		return call(nil)
	}
	defer func() { c.giveBack(crowded(err)) }()
	return call(c)
}

func (c *statementCache) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.off {
		c.users++
	}
	return !c.off
}

func (c *statementCache) giveBack(crowded bool) {
	c.mu.Lock()
	c.users--
	c.off = c.off || crowded
	unused := c.off && c.users == 0
	c.mu.Unlock()
	if unused {
		_ = c.close() // there is nobody to tell
	}
}

// prime prepares what was wanted.
func (c *statementCache) prime(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	missing := len(c.wanted)
	c.mu.RUnlock()
	if missing == 0 {
		return nil
	}
	c.mu.Lock()
	wanted := c.wanted
	c.wanted = make(map[string]struct{})
	c.mu.Unlock()
	for query := range wanted {
		if _, err := c.prepare(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

func (c *statementCache) prepare(ctx context.Context, query string) (statement, error) {
	if stmt, known := c.find(query); known {
		return stmt, nil
	}
	stmt, err := c.on.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if before := c.keep(query, stmt); before != nil {
		// Not under the lock: to close waits for the connection, which may be busy
		// with a statement that waits for somebody who wants the lock.
		return before, stmt.Close() //nolint:sqlclosecheck // what is kept is closed with the cache
	}
	return stmt, nil
}

// keep remembers the statement, or returns the one that is known already.
func (c *statementCache) keep(query string, stmt *sql.Stmt) *sql.Stmt {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.known[query]; before != nil {
		return before
	}
	c.known[query] = stmt
	return nil
}

func (c *statementCache) close() error {
	c.mu.Lock()
	known := c.known
	c.known, c.wanted = make(map[string]*sql.Stmt), make(map[string]struct{})
	c.mu.Unlock()
	var failures []error
	for _, stmt := range known {
		failures = append(failures, stmt.Close())
	}
	return errors.Join(failures...)
}

// cached runs statements that are kept prepared, and as they come those that are not.
type cached struct {
	plain
	// stmt finds the prepared statement, if there is one.
	stmt func(ctx context.Context, query string) (found statement, kept bool, err error)
}

// prepared runs statements outside of transactions of the pool.
func (c *statementCache) prepared(on plain) querier {
	if c == nil {
		return unprepared{on}
	}
	return cached{on, func(ctx context.Context, query string) (statement, bool, error) {
		stmt, err := c.prepare(ctx, query)
		return stmt, err == nil, err
	}}
}

// pooled runs statements in a transaction of the pool, which closes those that it is lent.
func (c *statementCache) pooled(tx *sql.Tx) querier {
	if c == nil {
		return unprepared{tx}
	}
	return cached{tx, func(ctx context.Context, query string) (statement, bool, error) {
		stmt, known := c.find(query)
		if !known {
			c.want(query)
			return nil, false, nil
		}
		return tx.StmtContext(ctx, stmt), true, nil
	}}
}

func (c cached) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, kept, err := c.stmt(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case kept:
		return stmt.ExecContext(ctx, args...)
	}
	return c.ExecContext(ctx, query, args...)
}

func (c cached) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, kept, err := c.stmt(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case kept:
		return stmt.QueryContext(ctx, args...)
	}
	return c.QueryContext(ctx, query, args...)
}

func (c cached) queryRow(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt, kept, _ := c.stmt(ctx, query); kept {
		return stmt.QueryRowContext(ctx, args...)
	}
	return c.QueryRowContext(ctx, query, args...) // which also reports the error of one that cannot be prepared
}

// spoil takes a connection whose state is unknown out of the pool.
func spoil(c *sql.Conn) {
	_ = c.Raw(func(any) error { return driver.ErrBadConn })
}
