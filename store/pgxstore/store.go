package pgxstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/store"
)

// Options of a [Store]. The zero value is the default.
type Options struct {
	// Namespace tells where the tables are; see [Migrate].
	Namespace
	// QueryExecMode tells pgx how to send statements; 0 leaves it to the
	// configuration of the pool. Behind a proxy that pools transactions use
	// pgx.QueryExecModeExec, unless the proxy knows prepared statements.
	QueryExecMode pgx.QueryExecMode
	// Batch bounds the group commit.
	Batch BatchOptions
}

// Store is a store.Store in PostgreSQL. It is safe for concurrent use by many
// goroutines, and many processes may use one database at once.
type Store struct {
	db     session
	pool   *pgxpool.Pool // nil in a transaction of the host
	mode   pgx.QueryExecMode
	direct bool // a statement for which it is worth it may bypass pgx's own layer
	names  Namespace
	sql    *statements
	shared *shared
	closed *atomic.Bool // a view has one of its own
}

var _ store.Store = (*Store)(nil)

// session is what a pool and a transaction have in common.
type session interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
}

// shared is what a store and its views within transactions have in common.
type shared struct {
	closed atomic.Bool
	groups *groups   // nil without group commit
	lists  sync.Pool // of *wireList: a new one is as much work as the rest of a claim's values
	// notPlain are reservations of a coupon without a limit over all customers, and those that
	// are refused or were stored before, as when clients ask again after a time-out: a batch
	// that does not expect one and has one stores its others twice, and a reservation alone
	// looks twice.
	notPlain lately
	// crowded are single reservations that others were faster than at the gate of a coupon,
	// as at one that is hot: the next one that does not expect it waits for the gate twice.
	crowded lately
}

// New returns a store on the pool, which stays the host's: [Store.Close] does not
// close it. The schema must be there; see [Migrate]. New asks nothing of the database: without
// the schema it is the calls that fail, with an error of PostgreSQL such as 42P01. Whether a
// store is ready is cheaply seen by [Store.Order] of an ID that nobody has: it is, when the
// error is store.ErrNotFound. A namespace that cannot be
// quoted, and a bound of [BatchOptions] that is negative or above its most, is a
// pricing.ErrInvalid that names all of them.
func New(pool *pgxpool.Pool, options Options) (*Store, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	s := &Store{
		db: pool, pool: pool, mode: options.QueryExecMode, direct: sendsDirectly(pool, options.QueryExecMode),
		names: options.Namespace, sql: newStatements(options.Namespace), shared: &shared{},
	}
	s.closed = &s.shared.closed
	if !options.Batch.Off {
		s.shared.groups = newGroups(s, options.Batch.withDefaults(pool))
	}
	return s, nil
}

// WithTx returns a view of the store within a transaction of the host: what it
// writes is committed or rolled back with it. It must not be used after the
// transaction has ended, nor, as the transaction itself, by two goroutines at once.
//
// The transaction should run at READ COMMITTED. At a stricter level the store is
// as exact, but a call may fail because of a concurrent change; PostgreSQL then
// requires that the host runs its transaction again, which [Store.Retryable] tells. At
// every level that is so when somebody gives a session to another redemption at the same
// moment: run again, the call is refused, or settles that redemption. Nothing is retried
// here and calls are not joined into batches. A coupon with a limit over all customers
// stays locked until the transaction ends: reserve late in it. Closing the view does not
// close the store; a store that is closed closes its views.
//
// A couponkit.Service on the view has the options that it is given itself: without WithPoints
// it leaves refunds to the sweep, without WithObserver and WithLogger nobody is told. A ledger
// of points in the same database writes in the transaction too, if a refund is to be given
// with the commit and not before.
func (s *Store) WithTx(tx pgx.Tx) *Store {
	view := *s
	view.db, view.pool, view.direct, view.closed = tx, nil, false, new(atomic.Bool)
	return &view
}

// Retryable reports whether a transaction that ended with this error, of a call or of the
// commit, may be run again from its beginning: PostgreSQL has undone it only because of
// others (a serialisation failure, a deadlock, a call about the same session, order or
// customer at the same moment), or the connection was lost before anything was sent. The
// store has tried again before it returns such an error; a host with a transaction of its
// own ([Store.WithTx]) rolls that back and begins it anew. It is not retryable that the
// host's own constraints are violated, whatever their names are.
func (s *Store) Retryable(err error) bool { return err != nil && s.names.retryable(err) }

// Close ends the store: calls that are under way are finished, later ones are
// store.ErrClosed. The pool stays open.
func (s *Store) Close() error {
	s.closed.Store(true)
	if s.pool != nil && s.shared.groups != nil {
		s.shared.groups.close()
	}
	return nil
}

// ready is called first by every method.
func (s *Store) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() || s.shared.closed.Load() {
		return store.ErrClosed
	}
	return nil
}

// query runs a statement and hands each of its rows to scan.
func (s *Store) query(ctx context.Context, statement string, scan func(pgx.Rows) error, arguments ...any) error {
	return queryOn(ctx, s.db, s.mode, statement, scan, arguments...)
}

func queryOn(ctx context.Context, on session, mode pgx.QueryExecMode, statement string, scan func(pgx.Rows) error, arguments ...any) error {
	if mode != 0 {
		arguments = append([]any{mode}, arguments...)
	}
	rows, err := on.Query(ctx, statement, arguments...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// queryRow runs a statement that has at most one row, and scans it; without one it
// is pgx.ErrNoRows.
func (s *Store) queryRow(ctx context.Context, statement string, into []any, arguments ...any) error {
	return queryRowOn(ctx, s.db, s.mode, statement, into, arguments...)
}

// querySparse is queryRow for a row that is NULL nearly everywhere. It leaves the targets of
// what is NULL as they are: pgx would find out how to read an array before it sees that
// there is none.
func (s *Store) querySparse(ctx context.Context, statement string, into []any, arguments ...any) error {
	return queryOneOn(ctx, s.db, s.mode, statement, func(rows pgx.Rows) error {
		present := slices.Clone(into)
		for i, value := range rows.RawValues() {
			if value == nil {
				present[i] = nil
			}
		}
		return rows.Scan(present...)
	}, arguments...)
}

func queryRowOn(ctx context.Context, on session, mode pgx.QueryExecMode, statement string, into []any, arguments ...any) error {
	return queryOneOn(ctx, on, mode, statement, func(rows pgx.Rows) error { return rows.Scan(into...) }, arguments...)
}

// queryOneOn is queryOn for a statement that has at most one row; without one it is
// pgx.ErrNoRows.
func queryOneOn(ctx context.Context, on session, mode pgx.QueryExecMode, statement string, scan func(pgx.Rows) error, arguments ...any) error {
	found := false
	err := queryOn(ctx, on, mode, statement, func(rows pgx.Rows) error {
		found = true
		return scan(rows)
	}, arguments...)
	if err == nil && !found {
		return pgx.ErrNoRows
	}
	return err
}

// missing reports whether a query has found no row.
func missing(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// storable reports whether PostgreSQL can hold the texts; one that it cannot hold
// is not stored and so cannot be found.
func storable(texts ...string) bool {
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
			return false
		}
	}
	return true
}
