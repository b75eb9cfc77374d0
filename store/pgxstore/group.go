package pgxstore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/couponkit/couponkit/store"
)

// group joins concurrent calls of one kind into batches: natural batching. A call
// that finds its lane idle runs alone, at once, in its own goroutine. Calls that
// arrive meanwhile wait; when the running one returns, all that wait are the next
// batch. No timer delays anything, no goroutine exists while nothing waits, and
// the batches grow just as the database needs them.
//
// A call's route decides its lane: what contends for the same row should share
// one, since two batches on one row would only queue for it.
type group[Q, A any] struct {
	operation string
	options   BatchOptions
	run       func(ctx context.Context, requests []Q) ([]answer[A], error)
	lanes     []*lane[Q, A]
	seed      maphash.Seed
	running   sync.WaitGroup // counts busy lanes
}

// answer is what became of one request of a batch.
type answer[A any] struct {
	value A
	err   error
}

// lane runs one batch at a time.
type lane[Q, A any] struct {
	slots chan struct{} // one for each call that waits: the bound of the queue

	mu      sync.Mutex
	busy    bool
	closed  bool
	waiting queue[Q, A]
}

// job is a call that waits for its batch.
type job[Q, A any] struct {
	request Q
	turn    string // jobs of different turns take turns
	clash   string // jobs of the same clash are never in one batch; "" clashes with none
	queued  time.Time
	gone    bool // the caller has left; guarded by the lane's lock until taken
	taken   bool // in a batch; guarded by the lane's lock
	result  answer[A]
	done    chan struct{}
}

func newGroup[Q, A any](operation string, options BatchOptions,
	run func(context.Context, []Q) ([]answer[A], error),
) *group[Q, A] {
	g := &group[Q, A]{operation: operation, options: options, run: run, seed: maphash.MakeSeed()}
	for range options.Workers {
		g.lanes = append(g.lanes, &lane[Q, A]{slots: make(chan struct{}, options.MaxQueue)})
	}
	return g
}

// do runs the request, alone or in a batch.
func (g *group[Q, A]) do(ctx context.Context, request Q, route, clash string) (A, error) {
	l := g.lanes[maphash.String(g.seed, route)%uint64(len(g.lanes))]
	alone, err := g.enter(l)
	if err != nil {
		return *new(A), err
	}
	if alone {
		return g.alone(ctx, l, request)
	}
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return *new(A), ctx.Err()
	}
	j := &job[Q, A]{request: request, turn: route, clash: clash, queued: time.Now(), done: make(chan struct{})}
	if err := g.enqueue(l, j); err != nil {
		<-l.slots
		return *new(A), err
	}
	select {
	case <-j.done:
		return j.result.value, j.result.err
	case <-ctx.Done():
		return *new(A), l.leave(j, ctx.Err())
	}
}

// enter reports whether the caller has the lane for itself.
func (g *group[Q, A]) enter(l *lane[Q, A]) (alone bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return false, store.ErrClosed
	case l.busy:
		return false, nil
	}
	l.busy = true
	g.running.Add(1)
	return true, nil
}

// alone runs one request in the goroutine and under the context of its caller.
func (g *group[Q, A]) alone(ctx context.Context, l *lane[Q, A], request Q) (A, error) {
	defer g.proceed(l)
	begun := time.Now()
	answers, err := g.run(ctx, []Q{request})
	g.report(1, begun, begun, err)
	if err != nil {
		return *new(A), err
	}
	return answers[0].value, answers[0].err
}

// enqueue adds the job; should the lane have become idle meanwhile, it starts.
func (g *group[Q, A]) enqueue(l *lane[Q, A], j *job[Q, A]) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.ErrClosed
	}
	l.waiting.push(j)
	if !l.busy {
		l.busy = true
		g.running.Add(1)
		go g.drain(l)
	}
	return nil
}

// leave ends the wait of one caller; the others of its batch are not concerned.
func (l *lane[Q, A]) leave(j *job[Q, A], cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if j.taken {
		return fmt.Errorf("the outcome is unknown, repeat the call with the same key: %w", cause)
	}
	j.gone = true
	return cause
}

// proceed hands a lane on after a call that ran alone.
func (g *group[Q, A]) proceed(l *lane[Q, A]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting.empty() {
		l.busy = false
		g.running.Done()
		return
	}
	go g.drain(l)
}

// drain runs batches until nobody waits.
func (g *group[Q, A]) drain(l *lane[Q, A]) {
	for {
		l.mu.Lock()
		batch, left := l.waiting.take(g.options.MaxSize)
		if len(batch) == 0 && l.waiting.empty() {
			l.busy = false
			g.running.Done()
			l.mu.Unlock()
			l.free(left)
			return
		}
		l.mu.Unlock()
		l.free(left + len(batch))
		if len(batch) > 0 {
			g.execute(batch)
		}
	}
}

// free gives places in the queue back.
func (l *lane[Q, A]) free(places int) {
	for range places {
		<-l.slots
	}
}

// execute runs a batch, apart from the contexts of its callers.
func (g *group[Q, A]) execute(batch []*job[Q, A]) {
	ctx, cancel := context.WithTimeout(context.Background(), g.options.Timeout)
	defer cancel()
	begun := time.Now()
	err := g.settle(ctx, batch)
	g.report(len(batch), oldest(batch), begun, err)
}

// settle gives every job of the batch its answer. When PostgreSQL refuses the
// whole batch, the halves are run by themselves, so that a bad request fails alone.
func (g *group[Q, A]) settle(ctx context.Context, batch []*job[Q, A]) error {
	requests := make([]Q, len(batch))
	for i, j := range batch {
		requests[i] = j.request
	}
	answers, err := g.run(ctx, requests)
	if err != nil && len(batch) > 1 && divisible(err) {
		half := len(batch) / 2
		return errors.Join(g.settle(ctx, batch[:half]), g.settle(ctx, batch[half:]))
	}
	for i, j := range batch {
		if err != nil {
			j.result.err = err
		} else {
			j.result = answers[i]
		}
		close(j.done)
	}
	return err
}

// divisible reports whether a part of the batch may fare better: the server has
// refused the statement and still answers.
func divisible(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.SeverityUnlocalized != "FATAL" && server.SeverityUnlocalized != "PANIC"
}

// close refuses new calls and waits for those that are under way.
func (g *group[Q, A]) close() {
	for _, l := range g.lanes {
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
	}
	g.running.Wait()
}

func (g *group[Q, A]) report(size int, queued, begun time.Time, err error) {
	if g.options.OnBatch != nil {
		g.options.OnBatch(BatchReport{
			Operation: g.operation, Size: size, Waited: begun.Sub(queued), Took: time.Since(begun), Err: err,
		})
	}
}

func oldest[Q, A any](batch []*job[Q, A]) time.Time {
	first := batch[0].queued
	for _, j := range batch[1:] {
		if j.queued.Before(first) {
			first = j.queued
		}
	}
	return first
}
