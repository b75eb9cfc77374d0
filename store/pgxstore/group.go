package pgxstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/couponkit/couponkit/store"
)

// group joins concurrent calls of one kind into batches: natural batching. A call
// that finds the group idle runs alone, at once, in its own goroutine. Calls that
// arrive meanwhile wait; when the running one returns, all that wait are the next
// batch. No timer delays anything, no goroutine exists while nothing waits, and
// the batches grow just as the database needs them.
//
// Two batches at a time are fastest: one is carried out while the other is being
// committed. The second one begins when enough calls wait, for two small batches cost
// more than one; of two calls, the second is sent at once. A batch may have to wait for
// a row that somebody else holds: while one takes longer than a moment, no second one is
// begun about the same, and when all do, another worker takes the calls about whatever
// is in none of them.
//
// Where other processes are at the same rows, one of their batches is carried out while one
// of ours is being committed: a second one of ours would only make all of them smaller. A
// batch whose answers tell of them is followed by some that are alone.
type group[Q, A any] struct {
	operation string
	options   BatchOptions
	run       func(ctx context.Context, requests []Q) ([]answer[A], error)
	patience  time.Duration  // how long calls wait for a batch before another worker takes them
	slots     chan struct{}  // one for each call that waits: the bound of the queue
	working   sync.WaitGroup // counts busy workers
	meanwhile func(A) int    // what others did at a batch's rows while it was carried out, if answers tell
	weigh     func(Q) int    // bytes that a request sends, if they can be many

	mu      sync.Mutex
	busy    []*worker // few, in the order in which they began
	idle    []*worker // no more than were ever busy at once
	handed  int       // calls that were ever run
	crowded lately    // others than this group at the same rows: batches are alone
	closed  bool
	waiting queue[Q, A]
	// limit fires when the time of a call that runs alone may be over. It is one for all of
	// them: another for each call costs as much as the rest of what is done here.
	limit *time.Timer
}

// worker runs a batch, or a call alone.
type worker struct {
	alone bool
	bound *bound // of the calls that it runs alone
	begun time.Time
	calls []call
	// ours are the calls that other workers ran when this one began, less those that were
	// ever run: with those at its end, all that were run beside it.
	ours int
}

// call is what others that wait may not meet.
type call struct{ turn, clash string }

func (c call) ofTurn() string  { return c.turn }
func (c call) ofClash() string { return c.clash }

const (
	defaultPatience = 10 * time.Millisecond
	// overlap is how many batches are under way if none takes longer.
	overlap = 2
	// fewest is how many calls are worth a second batch, and half as many as the first
	// one has.
	fewest = 4
)

// answer is what became of one request of a batch.
type answer[A any] struct {
	value A
	err   error
}

// job is a call that waits for its batch.
type job[Q, A any] struct {
	request Q
	turn    string // jobs of different turns take turns
	clash   string // jobs of the same clash are never in one batch; "" clashes with none
	queued  time.Time
	weight  int  // bytes that the request sends, or 0 for few
	gone    bool // the caller has left; guarded by the group's lock until taken
	taken   bool // in a batch; guarded by the group's lock
	result  answer[A]
	done    chan struct{}
}

func newGroup[Q, A any](operation string, options BatchOptions,
	run func(context.Context, []Q) ([]answer[A], error),
) *group[Q, A] {
	return &group[Q, A]{
		operation: operation, options: options, run: run, patience: defaultPatience, slots: make(chan struct{}, options.MaxQueue),
	}
}

// do runs the request, alone or in a batch.
func (g *group[Q, A]) do(ctx context.Context, request Q, turn, clash string) (A, error) {
	alone, err := g.enter(call{turn, clash})
	if err != nil {
		return *new(A), err
	}
	if alone != nil {
		return g.alone(ctx, alone, request)
	}
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return *new(A), ctx.Err()
	}
	j := &job[Q, A]{request: request, turn: turn, clash: clash, queued: time.Now(), done: make(chan struct{})}
	if g.weigh != nil {
		j.weight = g.weigh(request)
	}
	if err := g.enqueue(j); err != nil {
		<-g.slots
		return *new(A), err
	}
	return g.wait(ctx, j)
}

// wait returns what became of the job.
func (g *group[Q, A]) wait(ctx context.Context, j *job[Q, A]) (A, error) {
	late := time.NewTimer(g.patience)
	defer late.Stop()
	for pause := g.patience; ; {
		select {
		case <-j.done:
			return j.result.value, j.result.err
		case <-ctx.Done():
			return *new(A), g.leave(j, ctx.Err())
		case <-late.C:
			g.relieve()
			pause *= 2 // thousands may wait for a server that does not answer
			late.Reset(pause)
		}
	}
}

// enter returns a worker for the caller if the group is idle, or as good as idle.
func (g *group[Q, A]) enter(c call) (*worker, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, store.ErrClosed
	case len(g.busy) > 0 && !g.one():
		return nil, nil
	}
	w := g.hire()
	w.alone = true
	if w.bound == nil || w.bound.spent() {
		w.bound = newBound()
	}
	g.hold(w, c)
	if g.limit == nil {
		g.limit = time.AfterFunc(g.options.Timeout, g.stopLate)
	}
	return w, nil
}

// stopLate ends the calls alone whose time is over, and comes again when that of the next one
// may be: those who are busy stand in the order in which they began.
func (g *group[Q, A]) stopLate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = nil
	for _, w := range g.busy {
		if !w.alone {
			continue
		}
		if left := g.options.Timeout - time.Since(w.begun); left > 0 {
			g.limit = time.AfterFunc(left, g.stopLate)
			return
		}
		w.bound.end(context.DeadlineExceeded)
	}
}

// one reports whether there is but one call, and a worker for another.
func (g *group[Q, A]) one() bool {
	if len(g.busy) != 1 || g.options.Workers == 1 || !g.waiting.empty() {
		return false
	}
	return g.busy[0].alone
}

// hire makes a worker busy.
func (g *group[Q, A]) hire() *worker {
	w := new(worker)
	if last := len(g.idle) - 1; last >= 0 {
		w, g.idle = g.idle[last], g.idle[:last]
	}
	*w = worker{begun: time.Now(), bound: w.bound, calls: w.calls[:0]}
	g.busy = append(g.busy, w)
	g.working.Add(1)
	return w
}

// dismiss makes it idle.
func (g *group[Q, A]) dismiss(w *worker) {
	g.rest(w)
	g.release(w)
}

// release ends the work of one who rests.
func (g *group[Q, A]) release(w *worker) {
	g.idle = append(g.idle, w)
	g.working.Done()
}

// rest makes it no longer count among those who are busy.
func (g *group[Q, A]) rest(w *worker) {
	at := slices.Index(g.busy, w)
	g.busy = slices.Delete(g.busy, at, at+1)
}

// hold notes that the worker runs the call.
func (g *group[Q, A]) hold(w *worker, c call) {
	g.handed++
	w.calls = append(w.calls, c)
}

// about returns what the calls that are run are about, in one respect. It is asked for batches
// only: calls alone are not worth keeping it.
func (g *group[Q, A]) about(part func(call) string) map[string]bool {
	about := make(map[string]bool)
	for _, w := range g.busy {
		for _, c := range w.calls {
			about[part(c)] = true
		}
	}
	return about
}

// relieve hires another worker when all that are busy have been so for long.
func (g *group[Q, A]) relieve() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.waiting.empty() && len(g.busy) < g.options.Workers && g.allLate() {
		go g.drain(g.hire())
	}
}

// allLate reports whether no busy worker is about to return.
func (g *group[Q, A]) allLate() bool {
	for _, w := range g.busy {
		if !g.late(w) {
			return false
		}
	}
	return true
}

func (g *group[Q, A]) late(w *worker) bool { return time.Since(w.begun) >= g.patience }

// worthwhile reports whether another batch is to be begun beside one that is about to
// return. One worker is left to the calls that these would keep waiting.
func (g *group[Q, A]) worthwhile() bool {
	if len(g.busy) >= max(1, min(overlap, g.options.Workers-1)) || len(g.busy) > 0 && g.crowded.met() {
		return false
	}
	for _, w := range g.busy {
		if g.late(w) || g.waiting.length < max(fewest, len(w.calls)/2) {
			return false
		}
	}
	return true
}

// alone runs one request in the goroutine and under the context of its caller, bounded as a
// batch is: others may wait behind it.
func (g *group[Q, A]) alone(ctx context.Context, w *worker, request Q) (A, error) {
	defer g.proceed(w)
	within := w.bound.on(ctx)
	defer within.leave()
	answers, err := g.run(within, []Q{request})
	g.report(1, w.begun, w.begun, err)
	if err != nil {
		return *new(A), err
	}
	return answers[0].value, answers[0].err
}

// enqueue adds the job. Should the group have become idle meanwhile, it starts; should
// enough wait, so does another worker.
func (g *group[Q, A]) enqueue(j *job[Q, A]) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return store.ErrClosed
	}
	g.waiting.push(j)
	if g.worthwhile() {
		go g.drain(g.hire())
	}
	return nil
}

// leave ends the wait of one caller; the others of its batch are not concerned.
func (g *group[Q, A]) leave(j *job[Q, A], cause error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if j.taken {
		return fmt.Errorf("the outcome is unknown, repeat the call with the same key: %w", cause)
	}
	j.gone = true
	return cause
}

// proceed hands a worker on after a call that ran alone.
func (g *group[Q, A]) proceed(w *worker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.calls = w.calls[:0]
	if g.waiting.empty() {
		g.dismiss(w)
		return
	}
	go g.drain(w)
}

// drain runs batches until nobody waits. Those who were answered by another batch, and
// call again at once, are to be in the next one.
func (g *group[Q, A]) drain(w *worker) {
	runtime.Gosched()
	for batch := g.next(w); len(batch) > 0; batch = g.next(w) {
		g.execute(batch)
		g.look(w, batch)
		runtime.Gosched()
	}
}

// next takes the worker's next batch. It dismisses the worker when there is none: nobody
// waits, or only for what others run, or another one can do with the rest.
func (g *group[Q, A]) next(w *worker) []*job[Q, A] {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.calls = w.calls[:0]
	g.rest(w)
	batch := g.take()
	if len(batch) == 0 {
		g.release(w)
		return nil
	}
	w.alone, w.begun, w.ours = false, time.Now(), 0
	for _, other := range g.busy {
		w.ours += len(other.calls)
	}
	g.busy = append(g.busy, w)
	for _, j := range batch {
		g.hold(w, call{j.turn, j.clash})
	}
	w.ours -= g.handed
	return batch
}

// look notes whether others than this group's own were at the batch's rows, enough of them
// to matter. Any of the answers tells it.
func (g *group[Q, A]) look(w *worker, batch []*job[Q, A]) {
	if g.meanwhile == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	others := g.meanwhile(batch[0].result.value) - (w.ours + g.handed)
	g.crowded.note(2*others >= len(batch))
}

// take takes what may be run beside those who are busy.
func (g *group[Q, A]) take() (batch []*job[Q, A]) {
	var left int
	switch {
	case g.allLate(): // they may be waiting, and whoever meets them would wait as well
		batch, left = g.waiting.take(g.options.MaxSize, g.about(call.ofTurn), nil)
	case g.worthwhile():
		batch, left = g.waiting.take(g.options.MaxSize, nil, g.about(call.ofClash))
	}
	for range left + len(batch) {
		<-g.slots
	}
	return batch
}

// execute runs a batch, apart from the contexts of its callers.
func (g *group[Q, A]) execute(batch []*job[Q, A]) {
	ctx, cancel := context.WithTimeout(context.Background(), g.options.Timeout)
	defer cancel()
	begun := time.Now()
	err := g.settle(ctx, batch)
	g.report(len(batch), oldest(batch), begun, err)
}

// errAlone and errLater are the answers to calls for which a batch has done nothing: to
// be run by themselves, and to be run again together.
var (
	errAlone = errors.New("left alone by a batch")
	errLater = errors.New("left for later by a batch")
)

// settle gives every job of the batch its answer. When PostgreSQL refuses the
// whole batch, the halves are run by themselves, so that a bad request fails alone; when
// it has run out of time, the calls of each turn are.
func (g *group[Q, A]) settle(ctx context.Context, batch []*job[Q, A]) error {
	requests := make([]Q, len(batch))
	for i, j := range batch {
		requests[i] = j.request
	}
	answers, err := g.run(ctx, requests)
	switch {
	case err == nil:
		return g.answer(ctx, batch, answers)
	case len(batch) > 1 && divisible(err):
		half := len(batch) / 2
		return errors.Join(g.settle(ctx, batch[:half]), g.settle(ctx, batch[half:]))
	case outOfTime(err):
		if turns := byTurn(batch); len(turns) > 1 {
			return g.apart(ctx, turns)
		}
	}
	refuse(batch, err)
	return err
}

// answer gives the jobs of a batch their answers. What the batch has left follows when the
// others have theirs.
func (g *group[Q, A]) answer(ctx context.Context, batch []*job[Q, A], answers []answer[A]) error {
	var alone [][]*job[Q, A]
	var later []*job[Q, A]
	for i, j := range batch {
		switch {
		case errors.Is(answers[i].err, errAlone) && len(batch) > 1:
			alone = append(alone, batch[i:i+1])
		case errors.Is(answers[i].err, errLater) && len(batch) > 1:
			later = append(later, j)
		default:
			j.result = answers[i]
			close(j.done)
		}
	}
	err := g.apart(ctx, alone)
	if len(later) > 0 {
		err = errors.Join(err, g.settle(ctx, later))
	}
	return err
}

// close refuses new calls and waits for those that are under way.
func (g *group[Q, A]) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.working.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limit != nil {
		g.limit.Stop()
	}
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
