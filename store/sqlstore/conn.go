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

// statementCache keeps a prepared statement for each text. The texts are those of
// this package: their number is bounded. It is safe for use by many goroutines.
type statementCache struct {
	on preparer

	mu    sync.RWMutex
	known map[string]*sql.Stmt
}

func newStatementCache(on preparer) *statementCache {
	return &statementCache{on: on, known: make(map[string]*sql.Stmt)}
}

func (c *statementCache) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	c.mu.RLock()
	stmt := c.known[query]
	c.mu.RUnlock()
	if stmt != nil {
		return stmt, nil
	}
	stmt, err := c.on.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.known[query]; before != nil {
		return before, stmt.Close()
	}
	c.known[query] = stmt
	return stmt, nil
}

func (c *statementCache) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var failures []error
	for _, stmt := range c.known {
		failures = append(failures, stmt.Close())
	}
	clear(c.known)
	return errors.Join(failures...)
}

// prepared runs cached statements, in the transaction if there is one.
type prepared struct {
	*statementCache
	fallback plain // reports the error of a statement that cannot be prepared
	tx       *sql.Tx
}

func (p prepared) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	stmt, err := p.prepare(ctx, query)
	if err == nil && p.tx != nil {
		stmt = p.tx.StmtContext(ctx, stmt)
	}
	return stmt, err
}

func (p prepared) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := p.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

func (p prepared) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := p.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (p prepared) queryRow(ctx context.Context, query string, args ...any) *sql.Row {
	stmt, err := p.stmt(ctx, query)
	if err != nil {
		return p.fallback.QueryRowContext(ctx, query, args...)
	}
	return stmt.QueryRowContext(ctx, args...)
}

// spoil takes a connection whose state is unknown out of the pool.
func spoil(c *sql.Conn) {
	_ = c.Raw(func(any) error { return driver.ErrBadConn })
}
