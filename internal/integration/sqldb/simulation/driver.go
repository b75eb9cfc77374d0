package simulation

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"

	"modernc.org/sqlite"
)

// errEnded is the error of statements after the process has ended.
var errEnded = errors.New("simulated: the process has ended")

// life decides when the connections of a process end.
type life struct {
	mu     sync.Mutex
	ended  bool
	bound  bool // the process ends in its next writing transaction
	inside bool // that transaction is running
	left   int  // number of statements until the end
}

func (l *life) endAfter(statements int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bound, l.left = true, statements
}

func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// goesOn is called before each statement. It returns an error if the process has ended.
func (l *life) goesOn(statement string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
		return errEnded
	case !l.bound:
		return nil
	case strings.HasPrefix(statement, "BEGIN IMMEDIATE"):
		l.inside = true
		return nil
	case !l.inside:
		return nil
	}
	if l.left--; l.left < 0 || statement == "COMMIT" {
		l.ended = true
		return errEnded
	}
	return nil
}

// connector opens connections of one process with the driver modernc.org/sqlite.
type connector struct {
	dsn     string
	life    *life
	rewrite func(string) string
}

func (c connector) Connect(context.Context) (driver.Conn, error) {
	inner, err := (&sqlite.Driver{}).Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: inner, connector: c}, nil
}

// Driver is required by the interface. database/sql does not call it if there is a connector.
func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }

// conn passes statements while the process runs.
type conn struct {
	driver.Conn
	connector connector
}

var (
	_ driver.ExecerContext      = (*conn)(nil)
	_ driver.QueryerContext     = (*conn)(nil)
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ConnBeginTx        = (*conn)(nil)
)

func (c *conn) text(statement string) (string, error) {
	if err := c.connector.life.goesOn(statement); err != nil {
		return "", err
	}
	return c.rewritten(statement), nil
}

func (c *conn) rewritten(statement string) string {
	if c.connector.rewrite == nil {
		return statement
	}
	return c.connector.rewrite(statement)
}

func (c *conn) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	text, err := c.text(statement)
	if err != nil {
		return nil, err
	}
	inner, can := c.Conn.(driver.ExecerContext)
	if !can {
		return nil, driver.ErrSkip
	}
	return inner.ExecContext(ctx, text, args)
}

func (c *conn) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	text, err := c.text(statement)
	if err != nil {
		return nil, err
	}
	inner, can := c.Conn.(driver.QueryerContext)
	if !can {
		return nil, driver.ErrSkip
	}
	return inner.QueryContext(ctx, text, args)
}

func (c *conn) PrepareContext(ctx context.Context, statement string) (driver.Stmt, error) {
	inner, can := c.Conn.(driver.ConnPrepareContext)
	if !can {
		return c.Conn.Prepare(c.rewritten(statement))
	}
	made, err := inner.PrepareContext(ctx, c.rewritten(statement))
	if err != nil {
		return nil, err
	}
	return &stmt{Stmt: made, text: statement, life: c.connector.life}, nil
}

func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if err := c.connector.life.goesOn("BEGIN"); err != nil {
		return nil, err
	}
	inner, can := c.Conn.(driver.ConnBeginTx)
	if !can {
		return nil, errors.New("the driver begins no transactions")
	}
	return inner.BeginTx(ctx, o)
}

// stmt is a prepared statement. Each run counts as a statement.
type stmt struct {
	driver.Stmt
	text string
	life *life
}

var (
	_ driver.StmtExecContext  = (*stmt)(nil)
	_ driver.StmtQueryContext = (*stmt)(nil)
)

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	inner, can := s.Stmt.(driver.StmtExecContext)
	if err := s.life.goesOn(s.text); err != nil || !can {
		return nil, errors.Join(err, unable(can))
	}
	return inner.ExecContext(ctx, args)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	inner, can := s.Stmt.(driver.StmtQueryContext)
	if err := s.life.goesOn(s.text); err != nil || !can {
		return nil, errors.Join(err, unable(can))
	}
	return inner.QueryContext(ctx, args)
}

func unable(can bool) error {
	if can {
		return nil
	}
	return errors.New("the driver's statements take no context")
}
