package simulation

import (
	"errors"
	"fmt"
)

// errLost is what a caller sees of a call whose answer, or which itself, was lost.
var errLost = errors.New("simulated: the answer was lost")

// errStopped is what every call returns in a process that has stopped.
var errStopped = errors.New("simulated: the process has stopped")

// fate is what becomes of a call.
type fate uint8

const (
	arrives    fate = iota // the effect happens and the caller sees it
	lostBefore             // no effect
	lostAfter              // the effect happens, and the caller does not see it
	repeated               // the effect happens twice, and the caller sees the second
)

func (f fate) String() string {
	return [...]string{"", ", lost before", ", lost after", ", arrives twice"}[f]
}

// task is an operation of the service that is under way on a node.
type task struct {
	name   string
	node   *node
	call   string // that it waits with
	resume chan fate
	done   bool
}

// start begins an operation. It runs to its first call, or to its end.
func (w *World) start(n *node, name string, operation func() error) {
	t := &task{name: name, node: n, resume: make(chan fate)}
	w.tasks = append(w.tasks, t)
	go func() {
		<-t.resume
		err := operation()
		if n.stopped {
			err = nil // nobody is left to see it
		}
		w.expect(name, err)
		w.log("  %s: %s", name, outcome(err))
		t.done = true
		w.parked <- struct{}{}
	}()
	w.run(t, arrives)
}

func outcome(err error) string {
	if err == nil {
		return "done"
	}
	return err.Error()
}

// run lets one task go on, alone, until it waits again or ends.
func (w *World) run(t *task, f fate) {
	w.active = t
	t.resume <- f
	<-w.parked
	w.active = nil
	if !t.done {
		return
	}
	for i, other := range w.tasks {
		if other == t {
			w.tasks = append(w.tasks[:i:i], w.tasks[i+1:]...)
			return
		}
	}
}

// pause makes the running task wait for the schedule. Calls outside of a task (the
// checks) do not wait.
func (w *World) pause(call string) fate {
	t := w.active
	if t == nil {
		return arrives
	}
	t.call = call
	w.parked <- struct{}{}
	return <-t.resume
}

// gate is what every call of a node passes.
func (w *World) gate(n *node, call string, effect func() error) error {
	if n.stopped {
		return errStopped
	}
	f := w.pause(call)
	if n.stopped {
		return errStopped
	}
	switch f {
	case lostBefore:
		return errLost
	case lostAfter:
		if err := effect(); err != nil {
			return fmt.Errorf("%w: %w", errLost, err)
		}
		return errLost
	case repeated:
		if err := effect(); err != nil {
			return err
		}
	case arrives:
	}
	return effect()
}

// stop stops a process in the middle of everything, and starts its successor.
func (w *World) stop(i int) {
	old := w.nodes[i]
	old.stopped = true
	for _, t := range append([]*task(nil), w.tasks...) {
		for t.node == old && !t.done {
			w.run(t, arrives)
		}
	}
	w.nodes[i] = w.newNode()
}

// finish lets everything that is under way come to its end.
func (w *World) finish() {
	for len(w.tasks) > 0 {
		w.run(w.tasks[0], arrives)
	}
}
