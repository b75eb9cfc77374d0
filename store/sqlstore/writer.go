package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
	contended int       // transactions for which to leave others a chance
	beginning time.Time // since when it tries to begin a transaction
	logged    int       // calls since the log was to begin anew
	batch     []*request
}

// request is a call that waits for the writer. Whoever changes its state from
// waiting decides: the writer claims it, or the caller withdraws it.
type request struct {
	run   intent
	wish  wish
	since time.Time // it waits
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
	r := &request{run: run, wish: of, since: time.Now(), done: make(chan struct{})}
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

// serve runs one transaction for those who wait. When it cannot begin, that is the answer to
// the first of them: the others have a try of their own, as long as they may wait.
func (w *writer) serve() {
	ctx := context.Background() // no caller ends a batch of several
	if w.beginning.IsZero() {
		w.beginning = time.Now()
	}
	if err := w.begin(ctx, w.patience(w.batch[0])); err != nil {
		w.answer(w.claim(), err)
		return
	}
	w.gather()
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
	w.logged += len(requests)
	w.restartLog(ctx)
	w.release(false)
}

// patience is how long a call may still wait for others.
func (w *writer) patience(r *request) time.Duration {
	since := r.since
	if w.beginning.After(since) { // before, it waited for its turn
		since = w.beginning
	}
	return max(0, w.options.BusyTimeout-time.Since(since))
}

// gather joins whoever waits now.
func (w *writer) gather() {
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
}

// claim takes those of the batch who have not gone.
func (w *writer) claim() []*request {
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
	if err := w.begin(ctx, w.options.BusyTimeout); err != nil {
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
		if err := w.begin(ctx, w.options.BusyTimeout); err != nil {
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

// begin begins a transaction, and waits for others no longer than it is told.
func (w *writer) begin(ctx context.Context, patience time.Duration) error {
	err := w.acquire(ctx, patience)
	if err == nil {
		err = w.lock(ctx, patience)
	}
	if err != nil {
		if w.schema.transient(err) {
			w.release(false)
		} else {
			w.discard()
		}
		return fmt.Errorf("begin transaction: %w", err)
	}
	w.beginning = time.Time{}
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
func (w *writer) lock(ctx context.Context, patience time.Duration) error {
	begin := func() error {
		_, err := w.writing().exec(ctx, "BEGIN IMMEDIATE")
		return err
	}
	if !w.polls {
		if err := waitAtMost(ctx, w.conn, patience); err != nil {
			return err
		}
		return begin()
	}
	if w.contended > 0 {
		w.contended--
		if err := pause(ctx, rand.N(lastPoll)); err != nil { //nolint:gosec // no secret
			return err
		}
	}
	return w.patiently(ctx, patience, func() error {
		err := begin()
		if err != nil {
			w.contended = courtesy
		}
		return err
	})
}

// patiently repeats what others keep from succeeding, at least once and for so long.
func (w *writer) patiently(ctx context.Context, patience time.Duration, try func() error) error {
	begun := time.Now()
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		err := try()
		if err == nil || !w.schema.transient(err) && !errors.Is(err, errRead) || time.Since(begun) >= patience {
			return err
		}
		if err := pause(ctx, poll/2+rand.N(poll)); err != nil { //nolint:gosec // no secret
			return err
		}
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
