package replay

// roundSize is the number of items of a round, and chunkSize that of a worker's task.
const (
	roundSize = 2_048
	chunkSize = 32
)

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

// engine runs rounds beside the goroutine that reads the items.
type engine[T any] struct {
	contest *contest
	read    func(T) (Event, error)

	filling, working *round[T] // working is nil if there is none
	rounds           chan *round[T]
	finished         chan *round[T]
	tasks            chan task[T]
	done             chan struct{}
	spare            *round[T]
	items            int64 // of finished rounds
}

// task is a part of a round for one worker.
type task[T any] struct {
	of       *round[T]
	from, to int
}

func start[T any](c *contest, read func(T) (Event, error)) *engine[T] {
	e := &engine[T]{
		contest: c, read: read, filling: new(round[T]), spare: new(round[T]),
		rounds: make(chan *round[T]), finished: make(chan *round[T]),
		tasks: make(chan task[T]), done: make(chan struct{}),
	}
	for range c.options.Workers {
		go e.work()
	}
	go e.run()
	return e
}

// stop ends the goroutines. No round is under way.
func (e *engine[T]) stop() {
	close(e.rounds)
	<-e.finished // run has ended
	for range e.contest.options.Workers {
		<-e.done
	}
}

// run runs rounds one after another.
func (e *engine[T]) run() {
	defer close(e.finished)
	defer close(e.tasks)
	for r := range e.rounds {
		tasks := 0
		for from := 0; from < len(r.items); from += chunkSize {
			t := task[T]{of: r, from: from, to: min(from+chunkSize, len(r.items))}
			for sent := false; !sent; {
				select {
				case e.tasks <- t:
					sent = true
					tasks++
				case <-e.done:
					tasks--
				}
			}
		}
		for ; tasks > 0; tasks-- {
			<-e.done
		}
		for i := range r.carts {
			if r.err = e.contest.settle(&r.carts[i]); r.err != nil {
				break
			}
			if err := r.carts[i].err; err != nil {
				r.refused = append(r.refused, refusal{int64(i), err})
			}
		}
		e.finished <- r
	}
}

// work decides about the carts of tasks.
func (e *engine[T]) work() {
	s := newSearcher(e.contest)
	for t := range e.tasks {
		for i := t.from; i < t.to; i++ {
			d := &t.of.carts[i]
			d.reset()
			if d.event, d.err = e.read(t.of.items[i]); d.err == nil {
				s.decide(d)
			}
		}
		e.done <- struct{}{}
	}
	e.done <- struct{}{}
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
	e.working = r
	e.rounds <- r
	return nil
}

// wait waits for the end of the round that is under way.
func (e *engine[T]) wait() error {
	if e.working == nil {
		return nil
	}
	r := <-e.finished
	e.working = nil
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
