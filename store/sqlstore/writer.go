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

// writer is the one goroutine through which a process writes to a SQLite database, and
// the readers beside it. SQLite lets one transaction write at a time, which waits for the
// disk at its end. Calls that wait when a transaction has ended are joined into the next
// one. There is no timer: a call that is alone is a transaction of its own.
type writer struct {
	queue  chan *turn
	mu     sync.RWMutex // held to send, and to close the queue
	closed bool
	start  sync.Once
	done   chan struct{}

	// What follows belongs to the goroutine.
	connection
	batch     []*turn
	beginning time.Time // since when it tries to begin a transaction
}

// turn is a request that waits for the writer. Whoever changes its state from waiting
// decides: the writer claims it, or the caller withdraws it.
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
		// Callers who find the queue full wait until the next batch takes from it.
		queue: make(chan *turn, min(o.MaxBatch, DefaultMaxBatch)), done: make(chan struct{}),
	}
}

// write waits until the request is committed. A context that ends before its turn has come
// withdraws the request. Afterwards the outcome is near, and is awaited.
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

// close lets the goroutine finish what has been sent.
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
		w.serve(context.Background()) // no caller ends a batch of several
	}
	w.release(true)
}

// serve runs one transaction for the calls that wait. If it cannot begin, that is the
// answer to the first of them. The others have a try of their own, as long as they may
// wait.
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

// again runs a batch that has failed. After [engine.ErrAgain] it looks for the IDs that
// are taken. After any other error each call has a transaction of its own, so that a call
// that fails does so alone.
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

// patience is how long a call may still wait for others.
func (w *writer) patience(t *turn) time.Duration {
	since := t.since
	if w.beginning.After(since) { // before, it waited for its turn
		since = w.beginning
	}
	return max(0, w.options.BusyTimeout-time.Since(since))
}

// gather joins the calls that wait now.
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

// claim takes the calls of the batch that were not withdrawn.
func (w *writer) claim() []*turn {
	staying := w.batch[:0]
	for _, t := range w.batch {
		if t.state.CompareAndSwap(waiting, claimed) {
			staying = append(staying, t)
		}
	}
	return staying
}

// together answers all requests: reservations and settlements by one call of the engine
// each, everything else one by one. The transaction has the database to itself, so that
// calls of the engine may follow each other in it.
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
	reservations := each(reserving, func(t *turn) store.Reservation { return *t.reservation })
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

// answer tells the callers. After an error nothing was stored.
func answer(turns []*turn, err error) {
	for _, t := range turns {
		t.failed = err
		close(t.done)
	}
}

// view reads on a connection of its own.
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

// seal has nothing to do: entries have positions.
func (w *writer) seal(context.Context) error { return nil }

// leave ends whatever transaction a connection of SQLite is in, before it goes back to the
// pool of the host. A driver may have begun one and report that the context has ended.
func leave(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if err == nil || inNone(err) {
		return nil
	}
	spoil(c)
	return err
}

// inNone recognizes the error of an end of a transaction where there is none.
func inNone(err error) bool { return strings.Contains(err.Error(), "no transaction is active") }

// How to wait for the lock of another process. SQLite's own waiting backs off to a tenth
// of a second, in which a busy process takes the lock again a hundred times.
const (
	firstPoll = 200 * time.Microsecond
	lastPoll  = 2 * time.Millisecond
)

// patiently repeats what others keep from succeeding, at least once and for so long.
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
