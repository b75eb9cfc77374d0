package fakeprocessor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/couponkit/couponkit/processor"
)

// Op is a method of the contract. The empty Op of a [Fault] is every method.
type Op string

// The methods.
const (
	EnsureMirror    Op = "EnsureMirror"
	UpdateMirror    Op = "UpdateMirror"
	SetMirrorActive Op = "SetMirrorActive"
	RemoveMirror    Op = "RemoveMirror"
	VerifyMirror    Op = "VerifyMirror"
	Mirrors         Op = "Mirrors"
	CreateSession   Op = "CreateSession"
	GetSession      Op = "Session"
	ExpireSession   Op = "ExpireSession"
)

// Step is one request that a method sends: a method of the mirror needs several,
// and can be cut off between any two. The empty Step of a [Fault] is the method as
// a whole.
type Step string

// The steps. AnyStep in a [Fault] is each of them.
const (
	AnyStep           Step = "any"
	FindCode          Step = "find the active promotion code"
	ListCoupons       Step = "list our coupons"
	CreateCoupon      Step = "create a coupon"
	RenameCoupon      Step = "rename a coupon"
	DeleteCoupon      Step = "delete a coupon"
	ListCodes         Step = "list promotion codes"
	CreateCode        Step = "create a promotion code"
	ActivateCode      Step = "activate a promotion code"
	DeactivateCode    Step = "deactivate a promotion code"
	ReadMirror        Step = "read coupon and promotion code"
	CreateSessionStep Step = "create a session"
	ReadSession       Step = "read a session"
	ExpireSessionStep Step = "expire a session"
)

// Kind is what a fault does to a call.
type Kind uint8

// The kinds of fault.
const (
	// LostBefore: the call does not arrive. It has no effect and is
	// processor.ErrUnavailable.
	LostBefore Kind = iota + 1
	// LostAfter: the call takes effect and its answer is lost: it is
	// processor.ErrUnavailable all the same.
	LostAfter
	// Refuse: the call has no effect and is the error of the fault.
	Refuse
	// Delay: the call waits for the fault's latency, or until its context ends, and
	// then goes on.
	Delay
	// Hook: the fault's Do runs, and then the call goes on: something happens
	// between two requests.
	Hook
)

// Fault is something that goes wrong.
type Fault struct {
	// Op and Step tell what is hit: by default every method, as a whole.
	Op   Op
	Step Step
	// Kind tells what happens. It is required.
	Kind Kind
	// Match narrows to calls for which it returns true; nil is all. It must not call the
	// processor.
	Match func(Call) bool
	// Skip is how many matching calls go well first.
	Skip int
	// Times is how many are hit then: 0 is 1, and a negative number is every one.
	Times int
	// Err is what Refuse answers; nil is processor.ErrRejected. It has to match a
	// sentinel of package processor, as every error of the contract does.
	Err error
	// Latency is how long Delay waits, by the wall clock.
	Latency time.Duration
	// Do is what Hook runs. It may call the processor.
	Do func(Call)
}

// Call is a call of a method, or one step of it.
type Call struct {
	Op   Op
	Step Step // empty for the method as a whole
	// CouponID is that of our coupon, for the methods of the mirror.
	CouponID string
	// SessionID is that of the session, for Session and ExpireSession.
	SessionID string
	// Key is the idempotency key, for CreateSession.
	Key string
	// Err is what came of it; nil before the call is made and for success.
	Err error
}

// Injection is a fault in its place.
type Injection struct {
	faults *faults
	fault  Fault
	skip   int
	left   int
	fired  int
}

// Inject lets a fault happen from now on. Of several faults that end a call, the
// one that was injected first does, and the others wait for the next call.
func (p *Processor) Inject(f Fault) *Injection {
	in := &Injection{faults: &p.faults, fault: f, skip: f.Skip, left: f.Times}
	if f.Times == 0 {
		in.left = 1
	}
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	p.faults.list = append(p.faults.list, in)
	return in
}

// Fired returns how many calls the fault has hit.
func (in *Injection) Fired() int {
	in.faults.mu.Lock()
	defer in.faults.mu.Unlock()
	return in.fired
}

// Remove ends the fault.
func (in *Injection) Remove() {
	in.faults.mu.Lock()
	defer in.faults.mu.Unlock()
	in.faults.list = slices.DeleteFunc(in.faults.list, func(other *Injection) bool { return other == in })
}

// Heal removes every fault.
func (p *Processor) Heal() {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	p.faults.list = nil
}

// Calls returns every call since New or [Processor.ForgetCalls] in the order in
// which they ended, steps before the method that they belong to.
func (p *Processor) Calls() []Call {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	return slices.Clone(p.faults.log)
}

// ForgetCalls empties the log of calls.
func (p *Processor) ForgetCalls() {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	p.faults.log = nil
}

// faults are the injected faults and the log. It has a lock of its own: faults
// happen outside the processor's.
type faults struct {
	mu   sync.Mutex
	list []*Injection
	log  []Call
}

// run makes a call: what the faults say, with the effect in between.
func (f *faults) run(ctx context.Context, c Call, effect func() error) error {
	err := f.through(ctx, c, effect)
	c.Err = err
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, c)
	return err
}

func (f *faults) through(ctx context.Context, c Call, effect func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	around, end := f.hits(c)
	for _, fault := range around {
		if fault.Kind == Hook {
			fault.Do(c)
		} else if err := wait(ctx, fault.Latency); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	switch end.Kind {
	case Refuse:
		if end.Err == nil {
			end.Err = processor.ErrRejected
		}
		return fmt.Errorf("%s: %w", c, end.Err)
	case LostBefore:
		return fmt.Errorf("%s: lost before it took effect: %w", c, processor.ErrUnavailable)
	case LostAfter:
		_ = effect() // nobody hears the answer
		return fmt.Errorf("%s: the answer was lost: %w", c, processor.ErrUnavailable)
	case Delay, Hook:
	}
	return effect()
}

// hits takes from the injected faults those that hit the call: any number that it
// survives, and at most one that ends it.
func (f *faults) hits(c Call) (around []Fault, end Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, in := range f.list {
		survivable := in.fault.Kind == Delay || in.fault.Kind == Hook
		if in.left == 0 || !survivable && end.Kind != 0 || !in.fault.covers(c) {
			continue
		}
		if in.skip > 0 {
			in.skip--
			continue
		}
		in.fired++
		in.left = max(in.left, 0) - 1
		if in.fault.Times < 0 {
			in.left = in.fault.Times
		}
		if survivable {
			around = append(around, in.fault)
		} else {
			end = in.fault
		}
	}
	return around, end
}

func (f Fault) covers(c Call) bool {
	switch {
	case f.Op != "" && f.Op != c.Op:
		return false
	case f.Step == AnyStep && c.Step == "":
		return false
	case f.Step != AnyStep && f.Step != c.Step:
		return false
	}
	return f.Match == nil || f.Match(c)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// String names method and step.
func (c Call) String() string {
	if c.Step == "" {
		return string(c.Op)
	}
	return string(c.Op) + ": " + string(c.Step)
}
