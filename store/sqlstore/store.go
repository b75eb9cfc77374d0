package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Defaults of [Options].
const (
	DefaultMaxBatch    = 512
	DefaultBusyTimeout = 10 * time.Second
)

// Options of a [Store]. The zero value is the default.
type Options struct {
	// TablePrefix begins the names of all tables, such as "shop_"; see [Migrate].
	TablePrefix string
	// MaxBatch is how many calls that write the store of a SQLite database joins
	// into one transaction at most; 0 is [DefaultMaxBatch], 1 joins none.
	MaxBatch int
	// BusyTimeout is how long a call, each for itself, waits for the write lock of a SQLite
	// database that another process or a transaction of the host has; 0 is
	// [DefaultBusyTimeout]. The context of the call may end the wait before.
	BusyTimeout time.Duration
	// Synchronous is how a SQLite database is written to the disk; 0 is [Full].
	Synchronous Synchronous
}

// Synchronous is SQLite's setting of the same name for the connection that writes.
type Synchronous uint8

// The settings.
const (
	// Full: what was acknowledged survives a loss of power.
	Full Synchronous = iota + 1
	// Normal: a loss of power may take back the last transactions, though never
	// damage the database; a crash of the process takes back nothing.
	Normal
)

func (o Options) validate() error {
	var faults pricing.ValidationError
	faults.Merge("", checkPrefix(o.TablePrefix))
	if o.MaxBatch < 0 {
		faults.Add("maxBatch", pricing.FieldTooSmall, "a batch has at least 1 call")
	}
	if o.BusyTimeout < 0 {
		faults.Add("busyTimeout", pricing.FieldTooSmall, "a timeout is not negative")
	}
	if o.Synchronous > Normal {
		faults.Add("synchronous", pricing.FieldUnknown, "must be Full or Normal")
	}
	return faults.Err()
}

func (o Options) withDefaults() Options {
	if o.MaxBatch == 0 {
		o.MaxBatch = DefaultMaxBatch
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = DefaultBusyTimeout
	}
	if o.Synchronous == 0 {
		o.Synchronous = Full
	}
	return o
}

// Store is a store.Store in a database behind database/sql. It is safe for
// concurrent use by many goroutines, and many processes may use one database at
// once.
type Store struct {
	schema *schema
	run    runner
	terms  terms

	mu     sync.RWMutex // held to enter, and to close
	closed bool
	calls  sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// runner runs transactions: in the pool, by one writer, or within a transaction of
// the host.
type runner interface {
	// change runs the intent in a transaction that writes. When it returns an error
	// nothing is changed. The wish lets a batch do without running it.
	change(ctx context.Context, of wish, run intent) error
	// single runs an intent that reads with one statement.
	single(ctx context.Context, run intent) error
	// snapshot runs an intent that reads, all of one state of the database.
	snapshot(ctx context.Context, run intent) error
	close() error
}

// New returns a store in the database, which stays the host's: [Store.Close] does
// not close it. The tables must be there; see [Migrate]. New asks nothing of the database:
// without the tables it is the calls that fail, with the database's error. Whether a store is
// ready is cheaply seen by [Store.Order] of an ID that nobody has: it is, when the error is
// store.ErrNotFound. An unknown dialect and
// options out of bounds are a pricing.ErrInvalid.
//
// The store of a SQLite database has a goroutine from its first write until Close,
// and holds one connection of the pool, unless that has only one.
func New(db *sql.DB, d Dialect, o Options) (*Store, error) {
	g, err := d.grammar()
	if err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Store{schema: &schema{grammar: g, prefix: o.TablePrefix}}
	shared := pool{schema: s.schema, db: db, statements: newStatementCache(db)}
	if g.rowLocks {
		s.run = &shared
	} else {
		s.run = newWriter(shared, o.withDefaults())
	}
	return s, nil
}

// WithTx returns a view of the store within a transaction of the host: what it
// writes is committed or rolled back with it. A call that fails undoes itself and
// leaves the transaction usable, unless the database has ended it (see
// [Store.Retryable]). The view must not be used after the transaction has ended, nor, as
// the transaction itself, by two goroutines at once. Nothing is retried, and calls
// are not joined into batches. Closing the view does not close the store. The view
// has a savepoint named couponkit, which to MySQL and MariaDB is one with a savepoint of
// the host of that name.
//
// Until the transaction ends, a SQLite database is locked for all others that
// write, this store too, and so is in MySQL a coupon that has a limit over all
// customers: reserve late. Begin the transaction on SQLite as one that writes
// (BEGIN IMMEDIATE; the drivers take _txlock=immediate): one that reads first
// fails as soon as it writes after somebody else.
//
// A couponkit.Service on the view has the options that it is given itself: without WithPoints
// it leaves refunds to the sweep, without WithObserver and WithLogger nobody is told. A ledger
// of points in the same SQLite file writes in the transaction too: one beside it waits for that
// as long as the busy timeout, fails, and leaves the refund to the sweep.
func (s *Store) WithTx(tx *sql.Tx) *Store {
	return &Store{schema: s.schema, run: &hosted{schema: s.schema, on: unprepared{tx}}}
}

// Close ends the store: calls that are under way are finished, later ones are
// store.ErrClosed. The database stays open. It may be called again.
func (s *Store) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	s.calls.Wait()
	return s.run.close()
}

// Retryable reports whether the database has undone a transaction, or refused to
// begin one, only because of others: a deadlock, a lock that was not to be had in
// time, or a row that was changed since the transaction began to read. A call that writes
// has tried again, or waited for the lock, before it returns such an error; one that reads
// has not, and may be repeated. A host with a transaction of its own ([Store.WithTx]) rolls
// that back and begins it anew.
func (s *Store) Retryable(err error) bool { return err != nil && s.schema.transient(err) }

// ready is what a method asks before it looks at what it was given.
func (s *Store) ready(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.open(ctx)
}

// enter is ready for a call that Close waits for.
func (s *Store) enter(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	err := s.open(ctx)
	if err == nil {
		s.calls.Add(1)
	}
	return err
}

func (s *Store) open(ctx context.Context) error {
	if s.closed {
		return store.ErrClosed
	}
	return ctx.Err()
}

func (s *Store) change(ctx context.Context, what string, run intent) error {
	return s.changeFor(ctx, what, wish{}, run)
}

func (s *Store) changeFor(ctx context.Context, what string, of wish, run intent) error {
	return s.call(ctx, what, run, func(ctx context.Context, run intent) error { return s.run.change(ctx, of, run) })
}

func (s *Store) read(ctx context.Context, what string, run intent) error {
	return s.call(ctx, what, run, s.run.single)
}

func (s *Store) snapshot(ctx context.Context, what string, run intent) error {
	return s.call(ctx, what, run, s.run.snapshot)
}

func (s *Store) call(ctx context.Context, what string, run intent, by func(context.Context, intent) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	err := by(ctx, run)
	switch {
	case err == nil || ofContract(err):
		return err
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("%s: %w: %w", what, ctx.Err(), err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// ofContract reports whether the error is an answer, as opposed to a failure.
func ofContract(err error) bool {
	if rejected(err) {
		return true
	}
	for _, answer := range [...]error{
		store.ErrNotFound, store.ErrConflict, store.ErrClosed, redemption.ErrIllegal, pricing.ErrInvalid, sql.ErrNoRows,
	} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

// orElse returns the answer for a row that is not there.
func orElse(err, missing error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return missing
	}
	return err
}
