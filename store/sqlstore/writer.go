package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/store"
)

// writer is the one goroutine through which a process writes to a SQLite database,
// and the readers beside it. SQLite lets one transaction write at a time and waits
// for the disk at its end: whoever waits when the last one has ended is joined into
// the next. There is no timer; a call that is alone is a transaction of its own.
type writer struct {
	pool
	options Options

	queue  chan *request
	mu     sync.RWMutex // held to send, and to close the queue
	closed bool
	start  sync.Once
	done   chan struct{}

	// What follows belongs to the goroutine.
	conn      *sql.Conn
	before    map[string]int64 // settings of conn as the host had them
	cache     *statementCache
	polls     bool
	contended int // transactions for which to leave others a chance
	batch     []*request
}

// request is a call that waits for the writer. Whoever changes its state from
// waiting decides: the writer claims it, or the caller withdraws it.
type request struct {
	run   intent
	wish  wish
	state atomic.Int32
	err   error
	done  chan struct{}
}

const (
	waiting = iota
	claimed
	withdrawn
)

func newWriter(p pool, o Options) *writer {
	// Whoever finds the queue full waits to be received from, as the batch grows.
	return &writer{pool: p, options: o, queue: make(chan *request, min(o.MaxBatch, DefaultMaxBatch)), done: make(chan struct{})}
}

// change waits until the intent is committed. A context that ends before its turn
// has come withdraws it; afterwards the outcome is near, and the truth.
func (w *writer) change(ctx context.Context, of wish, run intent) error {
	r := &request{run: run, wish: of, done: make(chan struct{})}
	if err := w.send(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, withdrawn) {
			return ctx.Err()
		}
		<-r.done
	}
	return r.err
}

func (w *writer) send(ctx context.Context, r *request) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return store.ErrClosed
	}
	w.start.Do(func() { go w.work() })
	select {
	case w.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close lets the goroutine finish what has been sent.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	close(w.queue)
	w.mu.Unlock()
	w.start.Do(func() { close(w.done) })
	<-w.done
	return w.pool.close()
}

func (w *writer) work() {
	defer close(w.done)
	for r := range w.queue {
		w.batch = append(w.batch[:0], r)
		w.serve()
	}
	w.release(true)
}

// serve runs one transaction for those who wait.
func (w *writer) serve() {
	ctx := context.Background() // no caller ends a batch of several
	if err := w.begin(ctx); err != nil {
		w.answer(w.claim(), err)
		return
	}
	requests := w.claim()
	switch err := w.together(ctx, requests); {
	case err == nil:
		w.answer(requests, w.commit(ctx))
	case len(requests) == 1:
		w.rollback(ctx)
		w.answer(requests, err)
	default:
		w.rollback(ctx)
		w.apart(ctx, requests)
	}
	w.release(false)
}

// claim takes whoever waits now and has not gone.
func (w *writer) claim() []*request {
	for more := true; more && len(w.batch) < w.options.MaxBatch; {
		select {
		case r, open := <-w.queue:
			if more = open; open {
				w.batch = append(w.batch, r)
			}
		default:
			more = false
		}
	}
	staying := w.batch[:0]
	for _, r := range w.batch {
		if r.state.CompareAndSwap(waiting, claimed) {
			staying = append(staying, r)
		}
	}
	return staying
}

// together serves all requests without a way back for one of them: an intent is
// refused before it writes, save in rare cases. In these it reports the error, and so
// it does where one fails otherwise: the database may have ended the transaction.
func (w *writer) together(ctx context.Context, requests []*request) error {
	t := newTx(w.schema, w.writing())
	rest, err := t.together(ctx, requests)
	if err != nil {
		return err
	}
	for _, r := range rest {
		t.dirty = false
		if r.err = r.run(ctx, t); r.err != nil && (t.dirty || !ofContract(r.err)) {
			return r.err
		}
	}
	return t.flush(ctx)
}

// apart runs the intents again, each with a way back, so that one that fails fails
// alone. One that ends the transaction, as a full disk does, undoes those before it:
// then each has a transaction of its own.
func (w *writer) apart(ctx context.Context, requests []*request) {
	if err := w.begin(ctx); err != nil {
		w.answer(requests, err)
		return
	}
	for _, r := range requests {
		t := newTx(w.schema, w.writing())
		r.err = within(ctx, t, func(ctx context.Context) error {
			if err := r.run(ctx, t); err != nil {
				return err
			}
			return t.flush(ctx)
		})
		if errors.Is(r.err, errEnded) {
			w.rollback(ctx)
			w.alone(ctx, requests)
			return
		}
	}
	w.answer(requests, w.commit(ctx))
}

// alone runs each intent in a transaction of its own.
func (w *writer) alone(ctx context.Context, requests []*request) {
	for i := range requests {
		if err := w.begin(ctx); err != nil {
			w.answer(requests[i:], err)
			return
		}
		one := requests[i : i+1]
		err := w.together(ctx, one)
		if err == nil {
			err = w.commit(ctx)
		} else {
			w.rollback(ctx)
		}
		w.answer(one, err)
	}
}

// answer tells the callers: their own error, or that of the whole transaction. A
// refusal may have been for a use in the same batch, which then was not stored either.
func (w *writer) answer(requests []*request, err error) {
	for _, r := range requests {
		if err != nil {
			r.err = err
		}
		close(r.done)
	}
}

func (w *writer) writing() querier {
	if w.cache == nil {
		return unprepared{w.conn}
	}
	return prepared{w.cache, w.conn}
}

// shares reports whether the pool has only one connection. Then it goes back after
// each transaction.
func (w *writer) shares() bool { return w.db.Stats().MaxOpenConnections == 1 }

// acquire takes a connection and sets it up.
func (w *writer) acquire(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	if err := w.setUp(ctx, conn); err != nil {
		spoil(conn)
		_ = conn.Close()
		return err
	}
	if w.conn = conn; !w.shares() {
		w.cache = newStatementCache(conn)
	}
	return nil
}

// A batch changes a page of several indexes for each row, at random places: they stay in
// memory until it ends, and are copied from the log into the database once for many batches.
// A larger cache is slower: where a batch has balanced a tree, SQLite looks at all that it
// holds when the batch ends.
const (
	cacheSize       = "PRAGMA cache_size = -8192"        // KiB, at most
	checkpointEvery = "PRAGMA wal_autocheckpoint = 8192" // pages of 4 KiB
)

func (w *writer) setUp(ctx context.Context, conn *sql.Conn) (err error) {
	if err := w.bePatient(ctx, conn); err != nil {
		return err
	}
	mode, err := w.journal(ctx, conn)
	if err != nil {
		return fmt.Errorf("set journal mode: %w", err)
	}
	synchronous := "PRAGMA synchronous = FULL"
	if w.options.Synchronous == Normal {
		synchronous = "PRAGMA synchronous = NORMAL"
	}
	if _, err := conn.ExecContext(ctx, synchronous); err != nil {
		return fmt.Errorf("set synchronous: %w", err)
	}
	if !w.shares() {
		for _, pragma := range [...]string{cacheSize, checkpointEvery} {
			if _, err := conn.ExecContext(ctx, pragma); err != nil {
				return fmt.Errorf("%s: %w", pragma, err)
			}
		}
	}
	// In WAL mode nothing but the beginning of a transaction waits for others, and
	// lock does that better.
	if w.polls = strings.EqualFold(mode, "wal") && !w.shares(); w.polls {
		if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
			return fmt.Errorf("set busy timeout: %w", err)
		}
	}
	return nil
}

// bePatient sets how long the connection waits for others, before anything that waits: to
// read another setting looks into the file, which somebody may be locking. It keeps the
// host's settings of what setUp changes.
func (w *writer) bePatient(ctx context.Context, conn *sql.Conn) (err error) {
	if w.before, err = settingsOf(ctx, conn, "busy_timeout"); err != nil {
		return err
	}
	longest := min(w.options.BusyTimeout.Milliseconds(), math.MaxInt32) // more is none to SQLite
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", longest)); err != nil {
		return fmt.Errorf("set busy timeout: %w", err)
	}
	others, err := settingsOf(ctx, conn, w.changed()...)
	maps.Copy(w.before, others)
	return err
}

// changed are the names of the further settings that setUp changes: of a connection that
// the host uses too, no more than has to be.
func (w *writer) changed() []string {
	if w.shares() {
		return []string{"synchronous"}
	}
	return []string{"synchronous", "cache_size", "wal_autocheckpoint"}
}

// settingsOf returns these settings of a connection.
func settingsOf(ctx context.Context, conn *sql.Conn, names ...string) (map[string]int64, error) {
	settings := make(map[string]int64, len(names))
	for _, name := range names {
		var value int64
		if err := conn.QueryRowContext(ctx, "PRAGMA "+name).Scan(&value); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		settings[name] = value
	}
	return settings, nil
}

// giveBack leaves the connection as the host had it: with the store's settings, a
// statement of the host would not wait for a lock at all.
func (w *writer) giveBack(ctx context.Context) {
	for name, value := range w.before {
		if _, err := w.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA %s = %d", name, value)); err != nil {
			spoil(w.conn)
			return
		}
	}
}

// journal sets the journal mode, which the file keeps. SQLite does not wait for
// others when it changes the mode.
func (w *writer) journal(ctx context.Context, conn *sql.Conn) (mode string, err error) {
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil || strings.EqualFold(mode, "wal") {
		return mode, err
	}
	err = w.patiently(ctx, func() error {
		return conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
	})
	return mode, err
}

// release gives the connection back when it is the only one, or at the end.
func (w *writer) release(always bool) {
	if w.conn == nil || !always && w.cache != nil {
		return
	}
	if w.cache != nil {
		_ = w.cache.close()
	}
	w.giveBack(context.Background())
	_ = w.conn.Close()
	w.conn, w.cache = nil, nil
}

// discard takes a connection out of use whose state is not known.
func (w *writer) discard() {
	if w.cache != nil { // first: modernc.org/sqlite panics over a statement of a closed connection
		_ = w.cache.close()
		w.cache = nil
	}
	if w.conn != nil {
		spoil(w.conn)
		_ = w.conn.Close()
		w.conn = nil
	}
}

func (w *writer) begin(ctx context.Context) error {
	err := w.acquire(ctx)
	if err == nil {
		err = w.lock(ctx)
	}
	if err != nil {
		if w.schema.transient(err) {
			w.release(false)
		} else {
			w.discard()
		}
		return fmt.Errorf("begin transaction: %w", err)
	}
	return nil
}

// How to wait for the lock of another process. SQLite's own waiting backs off to a
// tenth of a second, in which a busy process takes the lock again a hundred times.
const (
	firstPoll = 200 * time.Microsecond
	lastPoll  = 2 * time.Millisecond
	courtesy  = 32 // transactions
)

// lock takes the database's write lock. As long as other processes were seen to
// want it, it leaves them a moment to take it first.
func (w *writer) lock(ctx context.Context) error {
	begin := func() error {
		_, err := w.writing().exec(ctx, "BEGIN IMMEDIATE")
		return err
	}
	if !w.polls {
		return begin()
	}
	if w.contended > 0 {
		w.contended--
		if err := pause(ctx, rand.N(lastPoll)); err != nil { //nolint:gosec // no secret
			return err
		}
	}
	return w.patiently(ctx, func() error {
		err := begin()
		if err != nil {
			w.contended = courtesy
		}
		return err
	})
}

// patiently repeats what others keep from succeeding, as long as the busy timeout
// allows.
func (w *writer) patiently(ctx context.Context, try func() error) error {
	left := w.options.BusyTimeout
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		err := try()
		if err == nil || !w.schema.transient(err) || left <= 0 {
			return err
		}
		wait := poll/2 + rand.N(poll) //nolint:gosec // no secret
		if err := pause(ctx, wait); err != nil {
			return err
		}
		left -= wait
	}
}

func (w *writer) commit(ctx context.Context) error {
	if _, err := w.writing().exec(ctx, "COMMIT"); err != nil {
		w.rollback(ctx)
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (w *writer) rollback(ctx context.Context) {
	_, err := w.writing().exec(ctx, "ROLLBACK")
	if err != nil && !inNone(err) {
		w.discard()
	}
}

// inNone recognises the error of an end of a transaction where there is none.
func inNone(err error) bool { return strings.Contains(err.Error(), "no transaction is active") }

// leave ends whatever transaction a connection of SQLite is in, before it goes back to
// the pool of the host. A driver may have begun one and report that the context has
// ended.
func leave(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if err == nil || inNone(err) {
		return nil
	}
	spoil(c)
	return err
}

// snapshot reads on a connection of its own.
func (w *writer) snapshot(ctx context.Context, run intent) (err error) {
	c, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // it goes back to the pool
	defer func() { err = errors.Join(err, leave(ctx, c)) }()
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	return run(ctx, newTx(w.schema, unprepared{c}))
}
