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
	"github.com/couponkit/couponkit/store/engine"
)

// writer is the goroutine through which a process writes to a SQLite database. Readers run beside it.
// SQLite has one writing transaction at a time, and each waits for the disk at its end. Calls that wait
// when a transaction ends share the next transaction. There is no timer: a single call is a transaction
// of its own.
type writer struct {
	queue  chan *turn
	mu     sync.RWMutex // read-locked to send, locked to close the queue
	closed bool
	start  sync.Once
	done   chan struct{}

	// Only the goroutine uses the fields below.
	connection
	batch     []*turn
	beginning time.Time // when the first attempt to begin the transaction was made
}

// turn is a request that waits for the writer. Its state leaves waiting once: the writer claims it, or
// the caller withdraws it.
type turn struct {
	*request
	since  time.Time
	state  atomic.Int32
	failed error
	done   chan struct{}
}

const (
	waiting = iota
	claimed
	withdrawn
)

func newWriter(g *grammar, db *sql.DB, o Options) *writer {
	return &writer{
		connection: connection{grammar: g, db: db, options: o},
		// If the queue is full, callers wait until the next batch takes requests from it.
		queue: make(chan *turn, min(o.MaxBatch, DefaultMaxBatch)), done: make(chan struct{}),
	}
}

// write waits until the request is committed. If the context ends first, write withdraws the request,
// unless the writer has claimed it. A claimed request is finished soon, so write waits for its outcome.
func (w *writer) write(ctx context.Context, r *request) error {
	t := &turn{request: r, since: time.Now(), done: make(chan struct{})}
	if err := w.send(ctx, t); err != nil {
		return err
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		if t.state.CompareAndSwap(waiting, withdrawn) {
			return ctx.Err()
		}
		<-t.done
	}
	return t.failed
}

func (w *writer) send(ctx context.Context, t *turn) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return store.ErrClosed
	}
	w.start.Do(func() { go w.work() })
	select {
	case w.queue <- t:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close waits until the goroutine has finished all sent requests.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	close(w.queue)
	w.mu.Unlock()
	w.start.Do(func() { close(w.done) })
	<-w.done
	return nil
}

func (w *writer) work() {
	defer close(w.done)
	for t := range w.queue {
		w.batch = append(w.batch[:0], t)
		w.serve(context.Background()) // a batch of several calls outlives the context of each
	}
	w.release(true)
}

// serve runs one transaction for the waiting calls. If it cannot begin, the first call gets the error.
// The other calls are tried again, as long as each may wait.
func (w *writer) serve(ctx context.Context) {
	if w.beginning.IsZero() {
		w.beginning = time.Now()
	}
	if err := w.begin(ctx, w.patience(w.batch[0])); err != nil {
		answer(w.claim(), err)
		return
	}
	w.beginning = time.Time{}
	w.gather()
	turns := w.claim()
	if err := w.finish(ctx, w.together(ctx, turns, false)); err == nil || len(turns) == 1 && !errors.Is(err, engine.ErrAgain) {
		answer(turns, err)
	} else {
		w.again(ctx, turns, err)
	}
	w.written(ctx, len(turns))
	w.release(false)
}

// again repeats a failed batch. After [engine.ErrAgain] it searches for the IDs that are taken. After
// any other error, each call gets its own transaction, so that only the bad call fails.
func (w *writer) again(ctx context.Context, turns []*turn, err error) {
	if errors.Is(err, engine.ErrAgain) {
		err = w.transaction(ctx, turns)
		if err == nil || len(turns) == 1 {
			answer(turns, err)
			return
		}
	}
	for i := range turns {
		one := turns[i : i+1]
		answer(one, w.transaction(ctx, one))
	}
}

func (w *writer) transaction(ctx context.Context, turns []*turn) error {
	if err := w.begin(ctx, w.options.BusyTimeout); err != nil {
		return err
	}
	return w.finish(ctx, w.together(ctx, turns, true))
}

// patience returns how long a call may still wait for other processes.
func (w *writer) patience(t *turn) time.Duration {
	since := t.since
	if w.beginning.After(since) { // before that, the call waited for earlier batches
		since = w.beginning
	}
	return max(0, w.options.BusyTimeout-time.Since(since))
}

// gather adds the waiting calls to the batch.
func (w *writer) gather() {
	for len(w.batch) < w.options.MaxBatch {
		select {
		case t, open := <-w.queue:
			if !open {
				return
			}
			w.batch = append(w.batch, t)
		default:
			return
		}
	}
}

// claim claims the calls of the batch and drops withdrawn calls.
func (w *writer) claim() []*turn {
	staying := w.batch[:0]
	for _, t := range w.batch {
		if t.state.CompareAndSwap(waiting, claimed) {
			staying = append(staying, t)
		}
	}
	return staying
}

// together answers all requests. Reservations share one call of the engine, and so do settlements. All
// other requests are answered one by one. The transaction is the only writer, so several calls of the
// engine can follow each other in it.
func (w *writer) together(ctx context.Context, turns []*turn, thorough bool) error {
	s := w.session()
	s.docs, _ = documentsOf(nil, nil)
	var reserving, settling, others []*turn
	for _, t := range turns {
		t.late = false
		switch {
		case t.reservation != nil:
			reserving = append(reserving, t)
			s.docs.add(t.docs)
		case t.settlement != nil:
			settling = append(settling, t)
		default:
			others = append(others, t)
		}
	}
	reservations := each(reserving, func(t *turn) *store.Reservation { return t.reservation })
	reserved, err := engine.Reserve(ctx, s, 0, thorough, reservations...)
	if err != nil {
		return err
	}
	for i, t := range reserving {
		t.reserved, t.err = reserved[i].Value, reserved[i].Err
	}
	settlements := each(settling, func(t *turn) store.Settlement { return *t.settlement })
	settled, err := engine.Apply(ctx, s, 0, settlements...)
	if err != nil {
		return err
	}
	for i, t := range settling {
		t.settled, t.err = settled[i].Value, settled[i].Err
		if t.alone() {
			others = append(others, t)
		}
	}
	for _, t := range others {
		if err := t.answer(ctx, s, 0, thorough); err != nil {
			return err
		}
	}
	return nil
}

// answer wakes the callers. After an error, nothing was stored.
func answer(turns []*turn, err error) {
	for _, t := range turns {
		t.failed = err
		close(t.done)
	}
}

// view reads on its own connection.
func (w *writer) view(ctx context.Context, read func(context.Context, *session) error) (err error) {
	c, err := w.db.Conn(ctx)
	if err != nil {
		return &failure{err}
	}
	defer c.Close() //nolint:errcheck // it goes back to the pool
	defer func() {
		if left := leave(ctx, c); left != nil {
			err = errors.Join(err, &failure{left})
		}
	}()
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return &failure{err}
	}
	return read(ctx, w.grammar.on(c))
}

// seal does nothing: entries already have positions.
func (w *writer) seal(context.Context) error { return nil }

// leave ends any transaction of a SQLite connection before the connection returns to the host's pool. A
// driver may have begun a transaction and then reported that the context ended.
func leave(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if err == nil || inNone(err) {
		return nil
	}
	spoil(c)
	return err
}

// inNone reports whether an error means that there was no transaction to end.
func inNone(err error) bool { return strings.Contains(err.Error(), "no transaction is active") }

// Intervals of polling for the lock of another process. SQLite's own waits grow to a tenth of a second.
// In that time a busy process takes the lock a hundred times.
const (
	firstPoll = 200 * time.Microsecond
	lastPoll  = 2 * time.Millisecond
)

// patiently repeats try while others keep it from succeeding. It tries at least once, and stops after
// patience.
func patiently(ctx context.Context, patience time.Duration, others func(error) bool, try func() error) error {
	begun := time.Now()
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		err := try()
		if err == nil || !others(err) || time.Since(begun) >= patience {
			return err
		}
		if waited := pause(ctx, poll/2+rand.N(poll)); waited != nil { //nolint:gosec // no secret
			return fmt.Errorf("%w: %w", waited, err)
		}
	}
}
