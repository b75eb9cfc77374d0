package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/validation"
)

// Defaults and bounds of [Options].
const (
	MaxTablePrefix     = 40
	MinParameters      = 32 // two rows of the widest table
	DefaultTablePrefix = "couponkit_"
	DefaultMaxBatch    = 512
	DefaultBusyTimeout = 10 * time.Second
)

// Options of a [Store]. The zero value is the default.
type Options struct {
	// TablePrefix begins the names of all tables: letters, digits and underscores, no
	// digit first, at most [MaxTablePrefix] characters. Empty is [DefaultTablePrefix].
	TablePrefix string
	// SingleWriter declares that of a Galera cluster one node alone is written to.
	SingleWriter bool
	// MaxParameters bounds the arguments of a statement; 0 leaves it to the store. dqlite
	// takes 255. It is at least [MinParameters].
	MaxParameters int

	// MaxBatch is how many calls that write the store of a SQLite database joins into one
	// transaction at most; 0 is [DefaultMaxBatch], 1 joins none.
	MaxBatch int
	// BusyTimeout is how long a call waits for the write lock of a SQLite database that
	// another process or a transaction of the host has; 0 is [DefaultBusyTimeout]. The
	// context of the call may end the wait before.
	BusyTimeout time.Duration
	// Relaxed sets synchronous to NORMAL instead of FULL on SQLite: a loss of power may take
	// back the last transactions. It never damages the database.
	Relaxed bool
	// KeepSettings lets the store leave all settings (PRAGMA) of a SQLite database as
	// they are, for engines that have their own, such as dqlite. Whether the SQLite in such
	// an engine keeps its log whole is then the host's to know: [LibraryError] is not returned.
	KeepSettings bool
}

var prefixPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (o Options) validate() error {
	var faults validation.Error
	switch {
	case len(o.TablePrefix) > MaxTablePrefix:
		faults.Add("tablePrefix", validation.TooLong, fmt.Sprintf("at most %d characters", MaxTablePrefix))
	case o.TablePrefix != "" && !prefixPattern.MatchString(o.TablePrefix):
		faults.Add("tablePrefix", validation.Malformed, "must be letters, digits and underscores, no digit first")
	}
	if o.MaxParameters != 0 && o.MaxParameters < MinParameters {
		faults.Add("maxParameters", validation.TooSmall, fmt.Sprintf("at least %d arguments", MinParameters))
	}
	if o.MaxBatch < 0 {
		faults.Add("maxBatch", validation.TooSmall, "a batch has at least 1 call")
	}
	if o.BusyTimeout < 0 {
		faults.Add("busyTimeout", validation.TooSmall, "a timeout is not negative")
	}
	return faults.Err()
}

func (o Options) prefix() string { return cmp.Or(o.TablePrefix, DefaultTablePrefix) }

func (o Options) withDefaults() Options {
	o.MaxBatch, o.BusyTimeout = cmp.Or(o.MaxBatch, DefaultMaxBatch), cmp.Or(o.BusyTimeout, DefaultBusyTimeout)
	return o
}

// Store is a store in a database behind database/sql. It is safe for concurrent use, and
// many processes may use one database at once.
type Store struct {
	grammar *grammar
	run     runner

	mu     sync.RWMutex // read-locked by calls, locked by Close
	closed bool
	calls  sync.WaitGroup
}

var (
	_ store.Store         = (*Store)(nil)
	_ store.Transactional = (*Store)(nil)
)

// runner runs transactions: in the writer of SQLite, in the pool of MySQL, or in a transaction of the
// host.
type runner interface {
	// write answers a request in a transaction. It returns only errors of the database.
	write(ctx context.Context, r *request) error
	// view reads one consistent state of the database.
	view(ctx context.Context, read func(context.Context, *session) error) error
	// seal gives positions to journal entries without a position.
	seal(ctx context.Context) error
	close() error
}

// request is a writing call with its answer: a reservation, a settlement, or any other call.
type request struct {
	reservation *store.Reservation
	settlement  *store.Settlement
	other       func(context.Context, *session) error
	late        bool // answer the settlement with [engine.ApplyLate]
	docs        documents

	reserved store.Reserved
	settled  store.Settled
	err      error
}

// answer answers the request in a transaction. It returns errors of the database and [engine.ErrAgain].
func (r *request) answer(ctx context.Context, s *session, row int, thorough bool) error {
	var err error
	s.docs = r.docs
	switch {
	case r.reservation != nil:
		r.reserved, err = engine.Only(engine.Reserve(ctx, s, row, thorough, r.reservation))
	case r.settlement != nil && r.late:
		r.settled, err = engine.ApplyLate(ctx, s, row, *r.settlement)
	case r.settlement != nil:
		r.settled, err = engine.Only(engine.Apply(ctx, s, row, *r.settlement))
	default:
		err = r.other(ctx, s)
	}
	r.err, err = verdict(err)
	return err
}

// alone reports whether the request must run once more, as a late settlement.
func (r *request) alone() bool {
	r.late = !r.late && errors.Is(r.err, engine.ErrAlone)
	return r.late
}

// New returns a store in the database, which stays the host's: [Store.Close] does not
// close it. Errors:
//
//   - [*SchemaError]: the tables are not there, or have another version; see [Migrate].
//   - [*GaleraError]: the server belongs to a cluster, see [Options].SingleWriter.
//   - [*LibraryError]: the driver brings a SQLite before [LeastSQLite].
//   - validation.ErrInvalid: db is nil, the dialect is unknown, or an option is out of bounds.
//
// The store of a SQLite database has a goroutine from its first write until Close, and
// holds one connection of the pool, unless that has only one.
func New(ctx context.Context, db *sql.DB, d Dialect, o Options) (*Store, error) {
	g, err := d.grammarOf(db, o)
	if err != nil {
		return nil, err
	}
	if err := g.guard(ctx, db, o); err != nil {
		return nil, err
	}
	if err := g.check(ctx, db); err != nil {
		return nil, err
	}
	if d == SQLite {
		return &Store{grammar: g, run: newWriter(g, db, o.withDefaults())}, nil
	}
	return &Store{grammar: g, run: &pool{grammar: g, db: db}}, nil
}

// WithTx returns a view of the store within a transaction of the host: what the view
// writes is committed or rolled back with it. A call that fails undoes itself and leaves
// the transaction usable, unless the database has ended it (see [Store.Retryable]). After the
// transaction has ended, calls of the view fail with store.ErrClosed. A nil transaction is one that has ended. One
// goroutine uses the view at a time. Closing the view does not close the store. The view has a savepoint named couponkit.
//
// A service on the view records payments, sweeps orders and reads. Calls that would open a payment
// session or move money, points or mirrors fail with couponkit.ErrInTransaction, because a rollback
// would forget what they did outside of the database.
//
// Until the transaction ends, others wait for the rows that it has written, and on SQLite
// for the whole database: reserve late. Begin the transaction on SQLite as one that writes
// (BEGIN IMMEDIATE; drivers take _txlock=immediate). On MySQL let it be READ COMMITTED.
func (s *Store) WithTx(tx *sql.Tx) *Store {
	view := s.grammar.on(tx)
	if s.grammar.dialect == MySQL {
		view.find = " FOR UPDATE"
	}
	return &Store{grammar: s.grammar, run: &hosted{view}, closed: tx == nil}
}

// InTransaction implements [store.Transactional]. It is true for what WithTx returns.
func (s *Store) InTransaction() bool {
	_, in := s.run.(*hosted)
	return in
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

// Retryable reports whether the database has undone a transaction, or refused to begin
// one, only because of others: a deadlock, a lock that was not to be had in time, or a row
// that was changed since the transaction began to read. The store has tried such a call
// again, or waited for the lock. A host rolls a transaction of its own back and begins it
// anew.
func (s *Store) Retryable(err error) bool { return err != nil && s.grammar.transient(err) }

// enter begins a call. The caller must call s.calls.Done at its end.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return store.ErrClosed
	}
	s.calls.Add(1)
	return nil
}

func (s *Store) write(ctx context.Context, what string, r *request) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	if err := s.run.write(ctx, r); err != nil {
		return explain(ctx, what, err)
	}
	return r.err
}

func (s *Store) view(ctx context.Context, what string, read func(context.Context, *session) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	return explain(ctx, what, s.run.view(ctx, read))
}

// explain adds the operation to an error of the database, and the context's error if the context has
// ended. It does not change an answer of the contract.
func explain(ctx context.Context, what string, err error) error {
	_, failed := verdict(err)
	switch {
	case failed == nil && (err == nil || ctx.Err() == nil || errors.Is(err, store.ErrClosed)):
		return err
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("%s: %w: %w", what, ctx.Err(), err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Reserve implements [store.Orders].
func (s *Store) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	r = r.Normalize()
	if err := r.Validate(); err != nil {
		return store.Reserved{}, err
	}
	docs, err := requested(&r)
	if err != nil {
		return store.Reserved{}, err
	}
	asked := request{reservation: &r, docs: docs}
	err = s.write(ctx, "reserve", &asked)
	return answered(asked.reserved, err)
}

// Apply implements [store.Orders].
func (s *Store) Apply(ctx context.Context, e store.Settlement) (store.Settled, error) {
	e = e.Normalize()
	if err := e.Validate(); err != nil {
		return store.Settled{}, err
	}
	docs, err := requested(&e.Unknown)
	if err != nil {
		return store.Settled{}, err
	}
	asked := request{settlement: &e, docs: docs}
	err = s.write(ctx, "apply "+e.Event.Kind.String(), &asked)
	return answered(asked.settled, err)
}

// SaveCoupon implements [store.Coupons].
func (s *Store) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	c = c.Normalize()
	if err := c.Validate(); err != nil {
		return coupon.Coupon{}, err
	}
	var saved coupon.Coupon
	err := s.write(ctx, "save coupon", &request{other: func(ctx context.Context, t *session) (err error) {
		saved, err = engine.SaveCoupon(ctx, t, c)
		return err
	}})
	return answered(saved, err)
}

// answered returns the zero value if there is an error.
func answered[A any](value A, err error) (answer A, _ error) {
	if err != nil {
		return answer, err
	}
	return value, nil
}

const (
	selectOrder  = `SELECT ` + orderColumns + ` FROM {orders} WHERE `
	selectUses   = `SELECT ` + useColumns + ` FROM {uses} WHERE order_id IN ({in}) ORDER BY coupon_id, id`
	selectCounts = `SELECT counter, SUM(reserved), SUM(completed) FROM {counters} WHERE counter IN ({in}) GROUP BY counter`
)

// Order implements [store.Orders].
func (s *Store) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	where, args := "id = ?", []any{by.ID}
	switch {
	case by.ID != "":
	case by.SessionID != "":
		where, args = "session_id = ?", []any{by.SessionID}
	default:
		where, args = "customer_id = ? AND idempotency_key = ?", []any{by.CustomerID, by.Key}
	}
	var found store.Settled
	err := s.view(ctx, "read order", func(ctx context.Context, t *session) error {
		for _, arg := range args {
			if text, _ := arg.(string); !findable(text) {
				return store.ErrNotFound
			}
		}
		orders, err := t.orders(ctx, selectOrder+where, args...)
		if err == nil {
			found, err = orders.First()
		}
		return err
	})
	return answered(found, err)
}

// orders reads orders with their uses.
func (s *session) orders(ctx context.Context, statement string, args ...any) (found engine.List[store.Settled], err error) {
	at := map[string]int{}
	var ids []any
	if err := s.each(ctx, statement, func(rows *sql.Rows) error {
		o, err := scanOrder(rows)
		at[o.ID] = len(ids)
		ids = append(ids, o.ID)
		return found.Add(store.Settled{Order: o}, err)
	}, args...); err != nil {
		return found, err
	}
	err = s.eachIn(ctx, selectUses, 1, ids, func(rows *sql.Rows) error {
		u, err := scanUse(rows)
		i, known := at[u.OrderID]
		if !known { // the order's row could not be read
			return err
		}
		found.Records[i].Uses = append(found.Records[i].Uses, u)
		return engine.NoteUse(&found, i, err)
	})
	return found, err
}

// Counts implements [store.Counters].
func (s *Store) Counts(ctx context.Context, keys []string) ([]eligibility.Count, error) {
	var counts []eligibility.Count
	err := s.view(ctx, "read counters", func(ctx context.Context, t *session) (err error) {
		counts, err = t.counts(ctx, keys)
		return err
	})
	return counts, err
}

func (s *session) counts(ctx context.Context, keys []string) ([]eligibility.Count, error) {
	wanted := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !findable(key) })
	found := make(map[string]eligibility.Count, len(wanted))
	err := s.eachIn(ctx, selectCounts, 1, s.storedAs(unique(wanted)), s.scanCounts(found))
	return each(keys, func(key string) eligibility.Count { return found[key] }), err
}
