package simulation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/couponkit/couponkit/processor"
)

// What callers see of a call that went wrong on its way.
var (
	errLost    = errors.New("simulated: no answer came back")
	errRefused = errors.New("simulated: the call was refused")
	errStopped = errors.New("simulated: the process has stopped")
)

// role is whom a process calls.
type role uint8

const (
	ofStore role = iota + 1
	ofProcessor
	ofLedger
)

func (r role) String() string { return [...]string{"", "store", "processor", "ledger"}[r] }

// fate is what becomes of a call.
type fate uint8

const (
	arrives    fate = iota // the effect happens and the caller sees it
	lostBefore             // no effect, and no answer
	lostAfter              // the effect happens, and no answer comes
	delayed                // no answer comes, and the effect happens later
	repeated               // the effect happens twice, and the caller sees the second
	echoed                 // the caller sees the effect, which happens again later
	refused                // no effect, and the answer says so
	abandoned              // the caller's own caller has gone: its context is cancelled
	cut                    // the process stops in the middle of the call
)

var fates = [...]string{
	"", "lost before it took effect", "its answer is lost", "delayed", "arrives twice", "will arrive again",
	"refused", "nobody waits for it any more", "the process stops in the middle of it",
}

func (f fate) String() string { return fates[f] }

// task is an operation of a service that is under way on a node.
type task struct {
	name   string
	kind   string // of operation
	node   *node
	shop   *shop
	reads  bool   // and must not write
	call   string // that it waits with
	fate   fate   // of that call
	ctx    context.Context
	cancel context.CancelFunc
	hand   *hand
}

const paused = "pause"

// deadProcess unwinds a task whose process has stopped inside of a broken store.
type deadProcess struct{}

// hand is a coroutine that runs one operation after the other: a stack that has
// grown is kept.
type hand struct {
	task  *task
	work  func(ctx context.Context) error
	yield func(struct{}) bool
	next  func() (struct{}, bool)
	stop  func()
}

func (w *world) newHand() *hand {
	h := &hand{}
	h.next, h.stop = iter.Pull(func(yield func(struct{}) bool) {
		h.yield = yield
		for more := true; more; more = yield(struct{}{}) {
			w.do(h)
		}
	})
	return h
}

// do runs one operation to its end. A panic is the fault that it is, and the end of
// a process is none.
func (w *world) do(h *hand) {
	t := h.task
	defer func() {
		h.task, h.work = nil, nil
		switch r := recover().(type) {
		case nil, deadProcess:
		default:
			w.fail(NoSurprise, "%s: panic: %v", t.name, r)
		}
	}()
	w.finished(t, h.work(t.ctx))
}

// begin begins an operation on a node. It runs to its first call, or to its end.
func (w *world) begin(n *node, s *shop, kind, name string, operation func(context.Context) error) bool {
	return w.launch(&task{name: name, kind: kind, node: n, shop: s}, operation)
}

func (w *world) launch(t *task, operation func(context.Context) error) bool {
	if t.node.stopped {
		return false
	}
	if len(w.shops) > 1 {
		t.name = fmt.Sprintf("shop %d: %s", t.shop.number, t.name)
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	if last := len(w.idle) - 1; last >= 0 {
		t.hand, w.idle = w.idle[last], w.idle[:last]
	} else {
		t.hand = w.newHand()
	}
	t.hand.task, t.hand.work = t, operation
	w.tasks = append(w.tasks, t)
	w.log("%s on node %d", t.name, t.node.number)
	w.run(t, arrives)
	return true
}

func (w *world) finished(t *task, err error) {
	t.cancel()
	if t.node.stopped {
		return // nobody is left to see it
	}
	w.expect(t.name, err)
	w.countRejections(err)
	w.log("  %s: done (%v)", t.name, err)
}

// run lets one task go on, alone, until it waits again or ends.
func (w *world) run(t *task, f fate) {
	w.active, t.fate = t, f
	t.hand.next()
	w.active = nil
	if t.hand.task == nil {
		w.tasks = slices.DeleteFunc(w.tasks, func(other *task) bool { return other == t })
		w.idle = append(w.idle, t.hand)
	}
	w.inspect()
}

// wait makes the running task wait for the schedule. At rest nothing waits; what the
// call before has done is looked at.
func (w *world) wait(call string) fate {
	t := w.active
	if t == nil {
		w.inspect()
		return arrives
	}
	t.call = call
	t.hand.yield(struct{}{})
	return t.fate
}

// pause is what broken stores call between two accesses.
func (w *world) pause() {
	t := w.active
	if t == nil {
		return
	}
	w.wait(paused)
	if t.node.stopped {
		panic(deadProcess{})
	}
}

// late is an effect that is still on its way.
type late struct {
	call   string
	shop   *shop
	effect func() error
}

// wire returns what carries every call of a node for a shop.
func (w *world) wire(n *node, s *shop, r role) Wire {
	return func(ctx context.Context, call string, effect func(context.Context) error) error {
		if n.stopped {
			return errStopped
		}
		f := w.wait(call)
		if n.stopped {
			return errStopped
		}
		w.coverage.count("fate", call, f.String())
		return w.meet(n, s, r, call, f, func() error { return w.outside(ctx, s, r, call, effect) })
	}
}

// meet lets a call meet its fate.
func (w *world) meet(n *node, s *shop, r role, call string, f fate, effect func() error) error {
	switch f {
	case lostBefore:
		return lost(r)
	case lostAfter:
		_ = effect() // nobody hears the answer
		return lost(r)
	case delayed:
		w.late = append(w.late, late{call, s, effect})
		return lost(r)
	case echoed:
		w.late = append(w.late, late{call, s, effect})
	case repeated:
		_ = effect()
		w.inspect()
	case refused:
		return refusal(r, call)
	case abandoned:
		w.active.cancel()
	case cut:
		n.stopped, n.torn = true, true
		if r == ofStore {
			n.process.Cut(w.cutAfter, func() { _ = effect() })
		}
		return errStopped
	case arrives:
	}
	return effect()
}

func lost(r role) error {
	if r == ofProcessor {
		return fmt.Errorf("%w: %w", processor.ErrUnavailable, errLost)
	}
	return errLost
}

// refusal is what the one who is called may answer without doing anything. What
// only reads, or removes, has nothing that could be wrong with it.
func refusal(r role, call string) error {
	if r != ofProcessor {
		return errRefused
	}
	switch call {
	case "EnsureMirror", "UpdateMirror", "SetMirrorActive", "CreateSession":
		return fmt.Errorf("%w: %w", processor.ErrRejected, errRefused)
	}
	return fmt.Errorf("%w: %w", processor.ErrUnavailable, errRefused)
}

// arrive lets one effect that is late happen.
func (w *world) arrive(i int) {
	l := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	w.arriving = true
	err := l.effect()
	w.arriving = false
	w.coverage.count("step", "arrive late", l.call)
	w.log("a %s arrives late: %v", l.call, err)
	w.inspect()
}

// bury ends what was under way on a node that has stopped.
func (w *world) bury(n *node) {
	n.stopped = true
	for _, t := range slices.Clone(w.tasks) {
		for t.node == n && slices.Contains(w.tasks, t) {
			w.coverage.count("stopped at", t.kind, t.call)
			w.run(t, arrives)
		}
	}
	if n.process != nil {
		n.process.Kill()
		n.process = nil
	}
}
