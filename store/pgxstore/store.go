package pgxstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/validation"
)

// Store is a [store.Store] in PostgreSQL. Many goroutines may use it at once, and many
// processes one database.
type Store struct {
	pool   *pgxpool.Pool // nil in a transaction of the host
	host   pgx.Tx        // nil if the store has a pool
	sql    *statements
	shared *shared
}

var (
	_ store.Store         = (*Store)(nil)
	_ store.Transactional = (*Store)(nil)
)

// shared has the state common to a store and its views in transactions.
type shared struct {
	closed   atomic.Bool
	reserve  *group[*store.Reservation, store.Reserved]
	apply    *group[store.Settlement, store.Settled]
	attempts *group[store.AttemptChange, time.Time]
}

// New returns a store on the pool, which stays the host's: Close does not close it. New asks
// nothing of the database; see [Migrate]. A nil pool, and options that do not validate, are a
// [*validation.Error].
func New(pool *pgxpool.Pool, options Options) (*Store, error) {
	var faults validation.Error
	if pool == nil {
		faults.Add("pool", validation.Required, "is required")
	}
	faults.Merge("", options.validate())
	if err := faults.Err(); err != nil {
		return nil, err
	}
	s := &Store{pool: pool, sql: newStatements(options), shared: &shared{}}
	batch := options.Batch.withDefaults(pool)
	s.shared.reserve = newGroup("reserve", batch, s.reserveAll)
	s.shared.reserve.weigh, s.shared.reserve.advice = weight, ", repeat the call with the same key"
	s.shared.apply = newGroup("apply", batch, s.applyAll)
	s.shared.apply.alone, s.shared.apply.advice = s.applyLate, ", repeat the call"
	s.shared.attempts = newGroup("attempts", batch, s.attemptAll)
	return s, nil
}

// WithTx returns a view of the store within a transaction of the host: what it writes is
// committed or rolled back with that. After the transaction has ended, calls of the view fail with
// store.ErrClosed. A nil transaction is one that has ended. One goroutine uses the view at a time.
//
// A service on the view records payments, sweeps orders and reads. Calls that would open a payment
// session or move money, points or mirrors fail with couponkit.ErrInTransaction, because a rollback
// would forget what they did outside of the database.
//
// Each call works behind a savepoint: after an error the transaction goes on as before the
// call. Rows that a call locks stay locked until the transaction ends, so reserve late in it.
// An error that [Retryable] accepts asks the host to run its transaction again. Transactions
// that lock rows of several calls may deadlock, which PostgreSQL resolves with such an error.
func (s *Store) WithTx(tx pgx.Tx) *Store {
	if tx == nil {
		view := &Store{host: noTx{}, sql: s.sql, shared: &shared{}}
		view.shared.closed.Store(true)
		return view
	}
	return &Store{host: tx, sql: s.sql, shared: s.shared}
}

// noTx stands for a transaction that is nil. Nothing calls its methods.
type noTx struct{ pgx.Tx }

// InTransaction implements [store.Transactional]. It is true for what WithTx returns.
func (s *Store) InTransaction() bool { return s.host != nil }

// Close ends the store: calls under way are finished, later calls are store.ErrClosed. The
// pool stays open. Close of a view does nothing.
func (s *Store) Close() error {
	if s.host == nil {
		s.shared.closed.Store(true)
		s.shared.reserve.close()
		s.shared.apply.close()
		s.shared.attempts.close()
	}
	return nil
}

func (s *Store) ready(ctx context.Context) error {
	if s.shared.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// part returns a new part number for spread counters. A transaction inserts this part if all parts are
// locked. No other transaction has the same number.
func (s *Store) part() int {
	return 1 + int(rand.Int32N(math.MaxInt32)) //nolint:gosec // not a secret
}

// weight estimates the size of a reservation's documents, in bytes. It rather estimates too high.
func weight(r *store.Reservation) int {
	return (1 + len(r.Order.Quote.Lines) + len(r.Order.Claims) + len(r.Uses)) << 10
}

// Reserve implements [store.Orders].
func (s *Store) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	r = r.Normalize()
	if err := r.Validate(); err != nil {
		return store.Reserved{}, err
	}
	if err := s.ready(ctx); err != nil {
		return store.Reserved{}, err
	}
	if s.host != nil {
		return engine.Only(s.reserveAll(ctx, []*store.Reservation{&r}))
	}
	turn := r.Order.CustomerID
	if len(r.Coupons) > 0 {
		turn = r.Coupons[0].ID
	}
	return s.shared.reserve.do(ctx, &r, turn)
}

// reserveAll decides the requests in one transaction.
func (s *Store) reserveAll(ctx context.Context, requests []*store.Reservation) (answers []engine.Answer[store.Reserved], err error) {
	again := 0
	err = s.transact(ctx, func(t *tx) (err error) {
		t.early = again > maxLate
		answers, err = engine.Reserve(ctx, t, s.part(), again > 0, requests...)
		if errors.Is(err, engine.ErrAgain) {
			again++
		}
		return err
	})
	return answers, wrap("reserve", err)
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Apply implements [store.Orders].
func (s *Store) Apply(ctx context.Context, e store.Settlement) (store.Settled, error) {
	e = e.Normalize()
	if err := e.Validate(); err != nil {
		return store.Settled{}, err
	}
	if err := s.ready(ctx); err != nil {
		return store.Settled{}, err
	}
	if s.host != nil {
		settled, err := engine.Only(s.applyAll(ctx, []store.Settlement{e}))
		if errors.Is(err, engine.ErrAlone) {
			return s.applyLate(ctx, e)
		}
		return settled, err
	}
	turn := e.Event.OrderID
	if turn == "" {
		turn = e.Event.SessionID + e.Event.UseID
	}
	return s.shared.apply.do(ctx, e, turn)
}

// applyAll decides the events in one transaction, except those that get [engine.ErrAlone].
func (s *Store) applyAll(ctx context.Context, events []store.Settlement) (answers []engine.Answer[store.Settled], err error) {
	err = s.transact(ctx, func(t *tx) (err error) {
		answers, err = engine.Apply(ctx, t, s.part(), events...)
		return err
	})
	return answers, wrap("apply", err)
}

// applyLate decides any event in a transaction of its own.
func (s *Store) applyLate(ctx context.Context, e store.Settlement) (settled store.Settled, err error) {
	var refusal error
	err = s.transact(ctx, func(t *tx) error {
		settled, refusal = engine.ApplyLate(ctx, t, s.part(), e)
		if t.failed == nil && errors.Is(refusal, engine.ErrAgain) {
			return refusal
		}
		return t.failed
	})
	if err != nil {
		return store.Settled{}, wrap("apply", err)
	}
	return settled, refusal
}

// transact runs work in a transaction, and repeats it while that can help. It rolls back if work does
// not save.
func (s *Store) transact(ctx context.Context, work func(*tx) error) error {
	if s.host != nil {
		return s.within(ctx, work)
	}
	return Retry(ctx, func() error {
		return s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
			t := &tx{sql: s.sql, conn: c.Conn(), own: true, begin: "BEGIN ISOLATION LEVEL READ COMMITTED", commit: "COMMIT"}
			err := work(t)
			if t.begun && !t.saved {
				_, ended := c.Exec(ctx, "ROLLBACK") // if the ROLLBACK fails, the pool closes the connection
				if err == nil {
					err = ended
				}
			}
			return err
		})
	})
}

const savepoint = "couponkit"

// within implements transact in a transaction of the host. If the host has ended it, the error is
// store.ErrClosed.
func (s *Store) within(ctx context.Context, work func(*tx) error) error {
	err := s.attempt(ctx, work)
	if errors.Is(err, pgx.ErrTxClosed) {
		return fmt.Errorf("%w: %w", store.ErrClosed, err)
	}
	return err
}

// attempt runs work behind a savepoint. It repeats work if other transactions insert rows first.
func (s *Store) attempt(ctx context.Context, work func(*tx) error) error {
	for attempt := 1; ; attempt++ {
		t := &tx{sql: s.sql, conn: s.host, begin: "SAVEPOINT " + savepoint, commit: "RELEASE SAVEPOINT " + savepoint}
		err := work(t)
		if t.begun && !t.saved {
			// A failed transaction cannot prepare statements.
			if _, ended := s.host.Exec(ctx, "ROLLBACK TO SAVEPOINT "+savepoint+"; RELEASE SAVEPOINT "+savepoint,
				pgx.QueryExecModeSimpleProtocol); ended != nil {
				return errors.Join(err, ended)
			}
		}
		if attempt == maxAttempts || !errors.Is(err, engine.ErrAgain) {
			return err
		}
	}
}

// sender is the common interface of a connection and a transaction.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// read sends read-only statements in one round trip.
func (s *Store) read(ctx context.Context, b func() *pgx.Batch) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if s.host != nil {
		return s.within(ctx, func(t *tx) error { return t.send(ctx, b(), true) })
	}
	return Retry(ctx, func() error { return s.pool.SendBatch(ctx, b()).Close() })
}

// isServerError reports whether the server refused a statement and the connection is still usable.
func isServerError(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.SeverityUnlocalized != "FATAL" && server.SeverityUnlocalized != "PANIC"
}
