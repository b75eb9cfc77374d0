package simulation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// Errors that callers see when a call fails on its way.
var (
	errLost    = errors.New("simulated: no answer came back")
	errRefused = errors.New("simulated: the call was refused")
	errStopped = errors.New("simulated: the process has stopped")
)

// expected lists the errors that a caller of the service has to expect, besides rejections.
var expected = []error{
	errLost, errRefused, errStopped, context.Canceled, couponkit.ErrUnavailable, couponkit.ErrPaymentOpen, couponkit.ErrOrderEnded, couponkit.ErrReservationClosed,
	validation.ErrInvalid, processor.ErrRejected, processor.ErrSignature, store.ErrConflict, store.ErrNotFound, redemption.ErrIllegal, coupon.ErrCodeTaken, store.ErrNoCodesLeft,
}

// role says which partner a process calls.
type role uint8

const (
	ofStore role = iota + 1
	ofProcessor
	ofLedger
)

// fate says what happens to a call.
type fate string

const (
	arrives    fate = ""
	lostBefore fate = "lost before it took effect"
	lostAfter  fate = "its answer is lost"
	delayed    fate = "delayed" // the effect comes later, and there is no answer
	repeated   fate = "arrives twice"
	echoed     fate = "will arrive again"
	refused    fate = "refused"
	abandoned  fate = "nobody waits for it any more" // its context is cancelled
	cut        fate = "the process stops in the middle of it"
)

// fates lists every fate of a call except normal arrival.
var fates = [...]fate{lostBefore, lostAfter, delayed, repeated, echoed, refused, abandoned, cut}

// operation calls the service of a task's shop.
type operation func(ctx context.Context, t *task) error

// task is a running operation on a node.
type task struct {
	name    string
	kind    string // kind of operation
	node    *node
	shop    *shop
	service *couponkit.Service
	call    string // the call that the task waits in
	fate    fate   // the fate of that call
	began   int64  // number of budget changes before the task began
	then    func() // runs if the task succeeds
	ctx     context.Context
	cancel  context.CancelFunc
	next    func() (struct{}, bool) // continues the task
	yield   func(struct{}) bool
}

// readOnly reports whether the task must not write.
func (t *task) readOnly() bool {
	return t.kind == "preview" || t.kind == "follow" || t.kind == "index" || t.kind == "dry reconcile"
}

// paused is the call name with which a broken store yields to other tasks.
const paused = "pause"

// deadProcess is the panic value that unwinds a task when its process stops inside a broken store.
type deadProcess struct{}

// do runs an operation to its end. A panic is a fault, unless it is the end of a process.
func (w *world) do(t *task, work operation) {
	defer func() {
		cause := recover()
		_, dead := cause.(deadProcess)
		w.must(NoSurprise, cause == nil || dead, "%s: panic: %v", t.name, cause)
	}()
	err := work(t.ctx, t)
	if t.cancel(); t.node.stopped {
		return // the process that called is gone
	}
	refused := coupon.RejectionsOf(err)
	for _, of := range refused {
		for _, r := range of.Reasons {
			w.coverage.count("rejection", r.Code.String(), "")
			if r.Code == coupon.BudgetExhausted {
				w.checkSpent(t, of.CouponID, r.Params)
			}
		}
	}
	w.when(len(refused) > 1, "rejection", "of several coupons", "")
	sound := err == nil || len(refused) > 0 || slices.ContainsFunc(expected, func(e error) bool { return errors.Is(err, e) })
	w.must(NoSurprise, sound, "%s: unexpected error: %v", t.name, err)
	w.log("  %s: done (%v)", t.name, err)
	if err == nil && t.then != nil {
		t.then()
	}
}

// begin starts an operation on a running node, if there is one. It runs to its first call, or to its
// end.
func (w *world) begin(s *shop, kind, name string, work operation) bool {
	n := w.nodes[w.random.IntN(len(w.nodes))]
	for i := 0; n.stopped && i < len(w.nodes); i++ {
		n = w.nodes[i]
	}
	if n.stopped {
		return false
	}
	if len(w.shops) > 1 {
		name = fmt.Sprintf("shop %d: %s", s.number, name)
	}
	t := &task{name: name, kind: kind, node: n, shop: s, service: n.services[s.number], began: w.moments}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		w.do(t, work)
	})
	w.tasks = append(w.tasks, t)
	w.log("%s on node %d", t.name, t.node.number)
	w.run(t, arrives)
	return true
}

// run continues one task, alone, until it waits again or ends.
func (w *world) run(t *task, f fate) {
	w.active, t.fate = t, f
	_, waits := t.next()
	if w.active = nil; !waits {
		w.tasks = slices.DeleteFunc(w.tasks, func(other *task) bool { return other == t })
	}
	w.inspect()
}

// finish runs all tasks to their end.
func (w *world) finish() {
	for len(w.tasks) > 0 {
		w.run(w.tasks[0], arrives)
	}
}

// wait suspends the running task until the schedule continues it. At rest it returns at once.
func (w *world) wait(call string) fate {
	t := w.active
	if t == nil {
		w.inspect()
		return arrives
	}
	t.call = call
	t.yield(struct{}{})
	return t.fate
}

// pause suspends a broken store between two accesses.
func (w *world) pause() {
	if t := w.active; t != nil {
		if w.wait(paused); t.node.stopped {
			panic(deadProcess{})
		}
	}
}

// late is an effect that has not arrived yet.
type late struct {
	call   string
	effect func() error
}

// wire returns the function that carries every call of a node for a shop.
func (w *world) wire(n *node, s *shop, r role) Wire {
	return func(ctx context.Context, call string, effect func(context.Context) error) error {
		if n.stopped {
			return errStopped
		}
		f := w.wait(call)
		if n.stopped {
			return errStopped
		}
		w.coverage.count("fate", call, string(f))
		return w.meet(n, r, call, f, func() error { return w.outside(ctx, s, r, call, effect) })
	}
}

// meet carries out a call with its fate.
func (w *world) meet(n *node, r role, call string, f fate, effect func() error) error {
	switch f {
	case lostBefore:
		return failure(r, call, errLost)
	case lostAfter:
		_ = effect() // the caller gets no answer
		return failure(r, call, errLost)
	case delayed:
		w.late = append(w.late, late{call, effect})
		return failure(r, call, errLost)
	case echoed:
		w.late = append(w.late, late{call, effect})
	case repeated:
		_ = effect()
		w.inspect()
	case refused:
		return failure(r, call, errRefused)
	case abandoned:
		w.active.cancel()
	case cut:
		n.stopped = true
		if r == ofStore {
			n.process.Cut(w.cutAfter, func() { _ = effect() })
		}
		return errStopped
	case arrives:
	}
	return effect()
}

// failure returns the error that the caller sees. A processor rejects only calls that can be invalid.
func failure(r role, call string, cause error) error {
	creates := call == "EnsureMirror" || call == "UpdateMirror" || call == "SetMirrorActive" || call == "CreateSession"
	switch {
	case r != ofProcessor:
		return cause
	case errors.Is(cause, errRefused) && creates:
		return fmt.Errorf("%w: %w", processor.ErrRejected, cause)
	}
	return fmt.Errorf("%w: %w", processor.ErrUnavailable, cause)
}

// arrive carries out one late effect.
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

// bury ends the tasks of a node that has stopped.
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
