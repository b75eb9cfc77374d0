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

// plain is the common interface of *sql.DB, *sql.Conn and *sql.Tx.
type plain interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// prepared keeps prepared statements for one connection. Only one goroutine may use it.
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

// literal writes arguments into the text of statements, so that MySQL never prepares a statement. Every
// statement is one round trip with all settings of the driver. The server keeps no statements, and
// proxies need no support for them. Galera nodes break transactions that prepare statements. Text is
// written in hexadecimal digits, because no setting of the server changes their meaning.
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

// withLiterals replaces each placeholder of the query by its argument. The statements of this package
// have question marks only as placeholders.
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

// failure is an error of the database. It is not an answer of the contract.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

// verdict splits an error: it is either an answer of the contract or an error of the database.
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
	// find is appended to statements that search for keys. It is empty in a transaction of the store,
	// where a search locks no rows. In a transaction of the host, MySQL may read an older state. There,
	// find locks the rows, so that their current state is read.
	find string
	// docs are the encoded records that may be inserted.
	docs documents
	// changed is the number of rows that statements have changed, as the database reports it.
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

// each calls scan for each row.
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

// collect returns a function for each. The function appends every scanned row to into.
func collect[R any](into *[]R, scan func(*sql.Rows) (R, error)) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		r, err := scan(rows)
		*into = append(*into, r)
		return err
	}
}

// one scans the only column.
func one[V any](rows *sql.Rows) (value V, err error) {
	err = rows.Scan(&value)
	return value, err
}

// number reads one number. It returns 0 if there is no row.
func (s *session) number(ctx context.Context, statement string, args ...any) (n int64, err error) {
	err = s.each(ctx, statement, func(rows *sql.Rows) error { return rows.Scan(&n) }, args...)
	return n, err
}

// eachIn reads the rows for a list of keys. The keys replace {in} of the statement, or fill its table
// {each}. A key has width columns. A long list is split into several statements. before are the arguments before the keys.
func (s *session) eachIn(ctx context.Context, statement string, width int, keys []any, scan func(*sql.Rows) error, before ...any) error {
	most := powerOfTwo((s.parameters - len(before)) / width)
	for len(keys) > 0 {
		n := min(most, len(keys)/width)
		some := append(slices.Clone(before), keys[:n*width]...)
		// Repeat the last key until the number is a power of two. Then few different statements stay
		// prepared.
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

// powerOfTwo returns the largest power of two that is at most n, and at least 1.
func powerOfTwo(n int) int { return 1 << (bits.Len(uint(max(n, 1))) - 1) }

// insert inserts rows at {rows} of the statement, several rows at a time.
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

// spoil removes a connection with an unknown state from the pool.
func spoil(c *sql.Conn) {
	_ = c.Raw(func(any) error { return driver.ErrBadConn })
}
