package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/couponkit/couponkit/store/engine"
)

// plain is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type plain interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// prepared keeps the statements of one connection prepared. One goroutine uses it.
type prepared struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func (p *prepared) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := p.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := p.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	p.stmts[query] = stmt
	return stmt, nil
}

func (p *prepared) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := p.stmt(ctx, query) //nolint:sqlclosecheck // it is closed with the connection
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := p.stmt(ctx, query) //nolint:sqlclosecheck // it is closed with the connection
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (p *prepared) close() {
	for _, stmt := range p.stmts {
		_ = stmt.Close()
	}
	p.stmts = map[string]*sql.Stmt{}
}

// literal sends statements whose arguments are written into the text. So nothing is ever
// prepared on MySQL: a statement is one round trip with every setting of the driver, the
// server keeps no statements, proxies need to know of none, and a Galera node, which tears
// transactions that prepare statements, gets none. Text is written in hexadecimal digits,
// whose meaning no setting of the server changes.
type literal struct{ on plain }

func (l literal) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	text, err := withLiterals(query, args)
	if err != nil {
		return nil, err
	}
	return l.on.ExecContext(ctx, text)
}

func (l literal) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	text, err := withLiterals(query, args)
	if err != nil {
		return nil, err
	}
	return l.on.QueryContext(ctx, text)
}

// withLiterals replaces each placeholder of the query by its argument. The statements of
// this package have no other question marks.
func withLiterals(query string, args []any) (string, error) {
	var text []byte
	for _, arg := range args {
		before, after, found := strings.Cut(query, "?")
		if !found {
			return "", errors.New("more arguments than placeholders")
		}
		text, query = append(text, before...), after
		switch value := arg.(type) {
		case nil:
			text = append(text, "NULL"...)
		case int64:
			text = strconv.AppendInt(text, value, 10)
		case string:
			text = append(text, "x'"...)
			text = hex.AppendEncode(text, []byte(value))
			text = append(text, '\'')
		default:
			return "", fmt.Errorf("an argument is %T", arg)
		}
	}
	if strings.Contains(query, "?") {
		return "", errors.New("more placeholders than arguments")
	}
	return string(append(text, query...)), nil
}

// failure is an error of the database, as opposed to an answer of the contract.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

// verdict tells an answer of the contract from an error of the database.
func verdict(err error) (answer, failed error) {
	var of *failure
	if errors.As(err, &of) || errors.Is(err, engine.ErrAgain) {
		return nil, err
	}
	return err, nil
}

// session runs statements on a connection or in a transaction.
type session struct {
	*grammar
	on plain
	// find ends the statements that look for keys. It is empty in a transaction of the
	// store: who looks for a row does not lock it yet. A transaction of the host may read
	// an older state of MySQL, and sees rows as they are only by locking them.
	find string
	// docs are the documents of what may be inserted.
	docs documents
	// changed is how many rows the database says that statements have changed.
	changed int64
}

func (g *grammar) on(conn plain) *session {
	if g.dialect == MySQL {
		conn = literal{conn}
	}
	return &session{grammar: g, on: conn}
}

func (s *session) failed(err error) error {
	if s.duplicate(err) {
		return fmt.Errorf("%w: %w", engine.ErrAgain, err)
	}
	return &failure{err}
}

func (s *session) exec(ctx context.Context, statement string, args ...any) error {
	result, err := s.on.ExecContext(ctx, s.sql(statement), args...)
	if err != nil {
		return s.failed(err)
	}
	n, err := result.RowsAffected()
	s.changed += n
	return err
}

// each reads all rows.
func (s *session) each(ctx context.Context, statement string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := s.on.QueryContext(ctx, s.sql(statement), args...)
	if err != nil {
		return s.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return &failure{err}
		}
	}
	if err := rows.Err(); err != nil {
		return s.failed(err)
	}
	return nil
}

// collect returns a function for each that appends what it reads.
func collect[R any](into *[]R, scan func(*sql.Rows) (R, error)) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		r, err := scan(rows)
		*into = append(*into, r)
		return err
	}
}

// one reads the only column.
func one[V any](rows *sql.Rows) (value V, err error) {
	err = rows.Scan(&value)
	return value, err
}

// number reads one number; no row is 0.
func (s *session) number(ctx context.Context, statement string, args ...any) (n int64, err error) {
	err = s.each(ctx, statement, func(rows *sql.Rows) error { return rows.Scan(&n) }, args...)
	return n, err
}

// eachIn reads all rows whose keys stand in the IN ({in}) of the statement, or in its table
// ({each}). A key has width columns. Long lists are several statements.
func (s *session) eachIn(ctx context.Context, statement string, width int, keys []any, scan func(*sql.Rows) error) error {
	most := powerOfTwo(s.parameters / width)
	for len(keys) > 0 {
		n := min(most, len(keys)/width)
		some := slices.Clone(keys[:n*width])
		// Few statements of different length stay prepared: the last key fills up.
		for ; n&(n-1) != 0; n++ {
			some = append(some, some[len(some)-width:]...)
		}
		query := strings.Replace(statement, "{in}", s.placeholders(n, width), 1)
		if strings.Contains(statement, "{each}") {
			query = strings.Replace(statement, "{each}", "SELECT ? AS id"+strings.Repeat(" UNION ALL SELECT ?", n-1), 1)
		}
		if err := s.each(ctx, query, scan, some...); err != nil {
			return err
		}
		keys = keys[min(n*width, len(keys)):]
	}
	return nil
}

func (s *session) placeholders(n, width int) string {
	if width == 1 {
		return strings.Repeat("?, ", n-1) + "?"
	}
	return s.pairs + rowsOf(n, width)
}

func rowsOf(n, width int) string {
	row := "(" + strings.Repeat("?, ", width-1) + "?)"
	return strings.Repeat(row+", ", n-1) + row
}

// powerOfTwo returns the largest one that is not above n, which is at least 1.
func powerOfTwo(n int) int { return 1 << (bits.Len(uint(max(n, 1))) - 1) }

// insert writes rows into the {rows} of the statement, several at a time.
func (s *session) insert(ctx context.Context, statement string, rows [][]any) error {
	for len(rows) > 0 {
		width := len(rows[0])
		n := min(powerOfTwo(s.parameters/width), powerOfTwo(len(rows)))
		if err := s.exec(ctx, strings.Replace(statement, "{rows}", rowsOf(n, width), 1), slices.Concat(rows[:n]...)...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// spoil takes a connection whose state is unknown out of the pool.
func spoil(c *sql.Conn) {
	_ = c.Raw(func(any) error { return driver.ErrBadConn })
}
