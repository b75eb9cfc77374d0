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

// group joins concurrent calls of one kind into batches, without a timer. A call that finds
// nothing under way runs at once, in its own goroutine. Calls that arrive meanwhile wait, and
// are the next batch when a batch returns.
//
// A second batch begins when enough calls wait: its rows are read while the first commits. A
// batch may have to wait for rows that somebody else holds. When all batches under way take
// longer than patience, another worker takes calls of other turns.
type group[Q, A any] struct {
	operation string
	options   BatchOptions
	run       func(context.Context, []Q) ([]engine.Answer[A], error)
	alone     func(context.Context, Q) (A, error) // for the answer engine.ErrAlone
	weigh     func(Q) int
	room      chan struct{} // one for each call that waits
	working   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	busy    []*batch[Q, A]
	waiting queueOf[Q, A]
}

// batch is what a worker runs.
type batch[Q, A any] struct {
	jobs  []*job[Q, A]
	begun time.Time
}

// job is one call.
type job[Q, A any] struct {
	request     Q
	turn        string
	weight      int
	left, taken bool // the caller has left, or the job is in a batch; guarded by the group
	answer      engine.Answer[A]
	done        chan struct{}
}

const (
	patience = 10 * time.Millisecond
	// overlap is how many batches are under way unless one takes long.
	overlap = 2
	// fewest is how many calls are worth a second batch, and half as many as the first has.
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
		bounded, cancel := context.WithTimeout(ctx, g.options.Timeout)
		g.execute(bounded, b)
		cancel()
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

// enter returns a batch of the job alone if nobody waits, and at most one call, alone, is
// under way.
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

// begin notes a batch that is about to run.
func (g *group[Q, A]) begin(jobs []*job[Q, A]) *batch[Q, A] {
	b := &batch[Q, A]{jobs: jobs, begun: time.Now()}
	g.busy = append(g.busy, b)
	g.working.Add(1)
	return b
}

// enqueue adds the job, and begins a batch if none is under way or a second one is worthwhile.
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

// take begins the next batch if there is to be one.
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

// allLate reports whether all batches under way take long.
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

// relieve begins another batch if those under way take long by now.
func (g *group[Q, A]) relieve() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.take(); b != nil {
		go g.drain(b)
	}
}

// leave ends the wait of one caller. The batch goes on.
func (g *group[Q, A]) leave(j *job[Q, A], cause error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if j.taken {
		return fmt.Errorf("the outcome is unknown, repeat the call with the same key: %w", cause)
	}
	j.left = true
	return cause
}

// drain runs batches until none is to follow. Callers that were answered and call again at
// once are to be in the next batch.
func (g *group[Q, A]) drain(b *batch[Q, A]) {
	for b != nil {
		ctx, cancel := context.WithTimeout(context.Background(), g.options.Timeout)
		g.execute(ctx, b)
		cancel()
		runtime.Gosched()
		b = g.next(b)
	}
}

// next ends a batch and begins the next.
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

// execute gives every job of the batch its answer.
func (g *group[Q, A]) execute(ctx context.Context, b *batch[Q, A]) {
	late := time.AfterFunc(patience, g.relieve)
	defer late.Stop()
	err := g.settle(ctx, b.jobs)
	if g.options.OnBatch != nil {
		g.options.OnBatch(BatchReport{Operation: g.operation, Size: len(b.jobs), Took: time.Since(b.begun), Err: err})
	}
}

// settle runs the jobs in one transaction. If the server refuses it, or a record cannot be read,
// each half is run by itself, so that a bad request fails alone. If a lock was waited for too
// long, the jobs of each turn are.
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
		j.answer.Err = err
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

// deliver gives the jobs their answers, and then runs those that need a transaction alone.
func (g *group[Q, A]) deliver(ctx context.Context, jobs []*job[Q, A], answers []engine.Answer[A]) error {
	var alone []*job[Q, A]
	for i, j := range jobs {
		if errors.Is(answers[i].Err, engine.ErrAlone) {
			alone = append(alone, j)
			continue
		}
		j.answer = answers[i]
		close(j.done)
	}
	for _, j := range alone {
		j.answer.Value, j.answer.Err = g.alone(ctx, j.request)
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

// close refuses new calls and waits for those that wait or are under way.
func (g *group[Q, A]) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.working.Wait()
}
