package pgxstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// group joins concurrent calls of one kind into batches, without a timer. If no batch is running, a
// call runs at once, in its own goroutine. Calls that arrive meanwhile wait. They form the next batch
// when a batch ends.
//
// A second batch starts when enough calls wait. Its rows are read while the first batch commits. A
// batch may wait for locked rows. If all running batches take longer than patience, another worker
// starts a batch with calls of other turns.
type group[Q, A any] struct {
	operation string
	advice    string // what a caller may do who does not know the outcome
	options   BatchOptions
	run       func(context.Context, []Q) ([]engine.Answer[A], error)
	alone     func(context.Context, Q) (A, error) // runs a request after the answer engine.ErrAlone
	weigh     func(Q) int
	room      chan struct{} // one token for each waiting call
	working   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	busy    []*batch[Q, A]
	waiting queueOf[Q, A]
}

// batch is a set of jobs that one worker runs.
type batch[Q, A any] struct {
	jobs  []*job[Q, A]
	begun time.Time
}

// job is one call.
type job[Q, A any] struct {
	request     Q
	turn        string
	weight      int
	left, taken bool // left: the caller is gone; taken: a batch has the job; guarded by the group
	answer      *engine.Answer[A]
	done        chan struct{}
}

const (
	patience = 10 * time.Millisecond
	// overlap is the maximum number of running batches, unless all of them are slow.
	overlap = 2
	// fewest is the minimum number of waiting calls for a second batch. It also needs half as many
	// calls as the first batch has.
	fewest = 4
)

func newGroup[Q, A any](operation string, options BatchOptions,
	run func(context.Context, []Q) ([]engine.Answer[A], error),
) *group[Q, A] {
	return &group[Q, A]{operation: operation, options: options, run: run, room: make(chan struct{}, options.MaxQueue)}
}

// do runs the request, alone or in a batch.
func (g *group[Q, A]) do(ctx context.Context, request Q, turn string) (A, error) {
	j := &job[Q, A]{request: request, turn: turn, done: make(chan struct{})}
	b, err := g.enter(j)
	switch {
	case err != nil:
		return *new(A), err
	case b != nil:
		g.execute(ctx, b)
		if next := g.next(b); next != nil {
			go g.drain(next)
		}
		return j.answer.Value, j.answer.Err
	}
	if g.weigh != nil {
		j.weight = g.weigh(request)
	}
	select {
	case g.room <- struct{}{}:
	case <-ctx.Done():
		return *new(A), ctx.Err()
	}
	if err := g.enqueue(j); err != nil {
		<-g.room
		return *new(A), err
	}
	select {
	case <-j.done:
		return j.answer.Value, j.answer.Err
	case <-ctx.Done():
		return *new(A), g.leave(j, ctx.Err())
	}
}

// enter returns a batch with only this job if nobody waits, and if at most a single call is running.
func (g *group[Q, A]) enter(j *job[Q, A]) (*batch[Q, A], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, store.ErrClosed
	case g.waiting.length > 0, len(g.busy) >= min(overlap, g.options.Workers), len(g.busy) > 0 && len(g.busy[0].jobs) > 1:
		return nil, nil
	}
	j.taken = true
	return g.begin([]*job[Q, A]{j}), nil
}

// begin registers a batch that is about to run.
func (g *group[Q, A]) begin(jobs []*job[Q, A]) *batch[Q, A] {
	b := &batch[Q, A]{jobs: jobs, begun: time.Now()}
	g.busy = append(g.busy, b)
	g.working.Add(1)
	return b
}

// enqueue adds the job to the queue. It starts a batch if none is running, or if a second batch is
// worthwhile.
func (g *group[Q, A]) enqueue(j *job[Q, A]) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return store.ErrClosed
	}
	g.waiting.push(j)
	if b := g.take(); b != nil {
		go g.drain(b)
	}
	return nil
}

// take returns the next batch, or nil if it should not start yet.
func (g *group[Q, A]) take() *batch[Q, A] {
	var avoid map[string]bool
	switch {
	case g.waiting.length == 0 || len(g.busy) >= g.options.Workers:
		return nil
	case len(g.busy) == 0:
	case g.allLate():
		avoid = g.turns()
	case len(g.busy) >= overlap || g.waiting.length < max(fewest, len(g.busy[0].jobs)/2):
		return nil
	}
	jobs, dropped := g.waiting.take(g.options.MaxSize, avoid)
	for range len(jobs) + dropped {
		<-g.room
	}
	if len(jobs) == 0 {
		return nil
	}
	return g.begin(jobs)
}

// allLate reports whether all running batches are slow.
func (g *group[Q, A]) allLate() bool {
	for _, b := range g.busy {
		if time.Since(b.begun) < patience {
			return false
		}
	}
	return true
}

func (g *group[Q, A]) turns() map[string]bool {
	turns := map[string]bool{}
	for _, b := range g.busy {
		for _, j := range b.jobs {
			turns[j.turn] = true
		}
	}
	return turns
}

// relieve starts another batch if all running batches are slow.
func (g *group[Q, A]) relieve() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.take(); b != nil {
		go g.drain(b)
	}
}

// leave ends the wait of one caller. The batch continues.
func (g *group[Q, A]) leave(j *job[Q, A], cause error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if j.taken {
		return fmt.Errorf("%s: the outcome is unknown%s: %w", g.operation, g.advice, cause)
	}
	j.left = true
	return cause
}

// drain runs batches until no batch is left to start. Callers that were just answered can join the next
// batch.
func (g *group[Q, A]) drain(b *batch[Q, A]) {
	for b != nil {
		g.execute(context.Background(), b)
		runtime.Gosched()
		b = g.next(b)
	}
}

// next ends a batch and returns the next batch.
func (g *group[Q, A]) next(ended *batch[Q, A]) *batch[Q, A] {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, b := range g.busy {
		if b == ended {
			g.busy = append(g.busy[:i], g.busy[i+1:]...)
			break
		}
	}
	next := g.take()
	g.working.Done()
	return next
}

// execute answers every job of the batch, within the timeout of a batch.
func (g *group[Q, A]) execute(ctx context.Context, b *batch[Q, A]) {
	ctx, cancel := context.WithTimeout(ctx, g.options.Timeout)
	defer cancel()
	late := time.AfterFunc(patience, g.relieve)
	defer late.Stop()
	err := g.settle(ctx, b.jobs)
	if g.options.OnBatch != nil {
		g.options.OnBatch(BatchReport{Operation: g.operation, Size: len(b.jobs), Took: time.Since(b.begun), Err: err})
	}
}

// settle runs the jobs in one transaction. If the server refuses a statement, or a record cannot be
// read, it runs each half separately, so that only the bad request fails. If a lock takes too long, it
// runs the jobs of each turn separately.
func (g *group[Q, A]) settle(ctx context.Context, jobs []*job[Q, A]) error {
	answers, err := g.run(ctx, each(jobs, func(j *job[Q, A]) Q { return j.request }))
	switch code := codeOf(err); {
	case err == nil:
		return g.deliver(ctx, jobs, answers)
	case len(jobs) == 1 || !isServerError(err) && !errors.Is(err, store.ErrUnreadable):
	case code == lockNotAvailable || code == queryCanceled:
		if parts := byTurn(jobs); len(parts) > 1 {
			return g.apart(ctx, parts)
		}
	default:
		half := len(jobs) / 2
		return g.apart(ctx, [][]*job[Q, A]{jobs[:half], jobs[half:]})
	}
	for _, j := range jobs {
		j.answer = &engine.Answer[A]{Err: err}
		close(j.done)
	}
	return err
}

func (g *group[Q, A]) apart(ctx context.Context, parts [][]*job[Q, A]) (err error) {
	for _, part := range parts {
		err = errors.Join(err, g.settle(ctx, part))
	}
	return err
}

// deliver answers the jobs. Then it runs the jobs that need a transaction alone.
func (g *group[Q, A]) deliver(ctx context.Context, jobs []*job[Q, A], answers []engine.Answer[A]) error {
	var alone []*job[Q, A]
	for i, j := range jobs {
		if errors.Is(answers[i].Err, engine.ErrAlone) {
			alone = append(alone, j)
			continue
		}
		j.answer = &answers[i]
		close(j.done)
	}
	for _, j := range alone {
		value, err := g.alone(ctx, j.request)
		j.answer = &engine.Answer[A]{Value: value, Err: err}
		close(j.done)
	}
	return nil
}

func byTurn[Q, A any](jobs []*job[Q, A]) (parts [][]*job[Q, A]) {
	at := map[string]int{}
	for _, j := range jobs {
		i, known := at[j.turn]
		if !known {
			i = len(parts)
			at[j.turn] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], j)
	}
	return parts
}

// close refuses new calls. It waits for all waiting and running calls.
func (g *group[Q, A]) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.working.Wait()
}
