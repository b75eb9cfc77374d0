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
type statementCache struct {
	on preparer

	mu     sync.RWMutex
	known  map[string]*sql.Stmt
	wanted map[string]struct{}
	off    bool // nobody uses it any more
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

// giveUp closes what is known, and givenUp tells from now on not to use the cache. It is not
// called in a transaction: to close waits for connections that are running a statement.
func (c *statementCache) giveUp() {
	c.mu.Lock()
	c.off = true
	c.mu.Unlock()
	_ = c.close() // there is nobody to tell
}

func (c *statementCache) givenUp() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.off
}

// prime prepares what was wanted.
func (c *statementCache) prime(ctx context.Context) error {
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

// prepared runs cached statements outside of transactions of the pool.
type prepared struct {
	*statementCache
	plain // reports the error of a statement that cannot be prepared
}

func (p prepared) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := p.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

func (p prepared) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := p.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (p prepared) queryRow(ctx context.Context, query string, args ...any) *sql.Row {
	stmt, err := p.prepare(ctx, query)
	if err != nil {
		return p.QueryRowContext(ctx, query, args...)
	}
	return stmt.QueryRowContext(ctx, args...)
}

// pooled runs statements in a transaction of the pool.
type pooled struct {
	*statementCache
	tx *sql.Tx
}

// stmt returns the statement for the transaction, which closes it, or nil.
func (p pooled) stmt(ctx context.Context, query string) statement {
	stmt, known := p.find(query)
	if !known {
		p.want(query)
		return nil
	}
	return p.tx.StmtContext(ctx, stmt)
}

func (p pooled) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if stmt := p.stmt(ctx, query); stmt != nil {
		return stmt.ExecContext(ctx, args...)
	}
	return p.tx.ExecContext(ctx, query, args...)
}

func (p pooled) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := p.stmt(ctx, query); stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	return p.tx.QueryContext(ctx, query, args...)
}

func (p pooled) queryRow(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt := p.stmt(ctx, query); stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return p.tx.QueryRowContext(ctx, query, args...)
}

// spoil takes a connection whose state is unknown out of the pool.
func spoil(c *sql.Conn) {
	_ = c.Raw(func(any) error { return driver.ErrBadConn })
}
