package replay

// roundSize is the number of items of a round.
const roundSize = 2_048

// round is a part of the items, with what was decided about them. Its memory is reused.
type round[T any] struct {
	items []T
	carts []decision
	err   error
	// refused are the items that were refused in this round.
	refused []refusal
}

type refusal struct {
	item int64
	err  error
}

// engine runs a round beside the goroutine that reads the items of the next one.
type engine[T any] struct {
	contest   *contest
	read      func(T) (Event, error)
	searchers []*searcher // one for each worker

	filling, spare *round[T]
	running        *round[T] // nil if no round is under way
	working        *task     // what runs it
	items          int64     // of finished rounds
}

func newEngine[T any](c *contest, read func(T) (Event, error)) *engine[T] {
	e := &engine[T]{contest: c, read: read, filling: new(round[T]), spare: new(round[T])}
	for range c.options.Workers {
		e.searchers = append(e.searchers, newSearcher(c))
	}
	return e
}

// run decides about the carts of a round, the workers by turns. Then it takes their claims in order.
func (e *engine[T]) run(r *round[T]) {
	workers := make([]*task, len(e.searchers))
	for first, s := range e.searchers {
		workers[first] = start(func() {
			for i := first; i < len(r.items); i += len(e.searchers) {
				e.decide(s, &r.carts[i], r.items[i])
			}
		})
	}
	for _, w := range workers {
		<-w.ended
	}
	for _, w := range workers {
		if r.err = w.wait(); r.err != nil {
			return
		}
	}
	for i := range r.carts {
		if r.err = e.contest.settle(&r.carts[i]); r.err != nil {
			return
		}
		if err := r.carts[i].err; err != nil {
			r.refused = append(r.refused, refusal{int64(i), err})
		}
	}
}

func (e *engine[T]) decide(s *searcher, d *decision, item T) {
	d.reset()
	if d.event, d.err = e.read(item); d.err == nil {
		s.decide(d)
	}
}

// add adds an item, and begins a round if there are enough.
func (e *engine[T]) add(item T) error {
	e.filling.items = append(e.filling.items, item)
	if len(e.filling.items) < roundSize {
		return nil
	}
	return e.turn()
}

// turn waits for the last round and begins the next one.
func (e *engine[T]) turn() error {
	if err := e.wait(); err != nil {
		return err
	}
	r := e.filling
	e.filling, e.spare = e.spare, nil
	for len(r.carts) < len(r.items) {
		r.carts = append(r.carts, decision{})
	}
	r.carts = r.carts[:len(r.items)]
	e.running, e.working = r, start(func() { e.run(r) })
	return nil
}

// wait waits for the end of the round that is under way.
func (e *engine[T]) wait() error {
	r := e.running
	if r == nil {
		return nil
	}
	e.running = nil
	if err := e.working.wait(); err != nil {
		return err
	}
	o := &e.contest.options
	for _, refused := range r.refused {
		e.contest.report.Refused++
		if o.Refused != nil {
			o.Refused(e.items+refused.item+1, refused.err)
		}
	}
	if e.items += int64(len(r.items)); r.err == nil && o.Progress != nil {
		o.Progress(e.items)
	}
	clear(r.items)
	r.items, r.refused = r.items[:0], r.refused[:0]
	e.spare = r
	return r.err
}

// stop waits for the round that is under way, if the caller has panicked beside it.
func (e *engine[T]) stop() {
	if e.running != nil {
		<-e.working.ended
	}
}

// finish ends the last rounds and returns the report.
func (e *engine[T]) finish(cause error) (Report, error) {
	err := e.wait()
	if cause == nil {
		cause = err
	}
	if cause == nil && len(e.filling.items) > 0 {
		if cause = e.turn(); cause == nil {
			cause = e.wait()
		}
	}
	return e.contest.result(), cause
}
