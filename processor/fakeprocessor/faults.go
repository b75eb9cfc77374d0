package fakeprocessor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/couponkit/couponkit/processor"
)

// Op is a method of the contract. In a [Fault] the empty Op means every method.
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
	FindSession     Op = "FindSession"
	Refund          Op = "Refund"
	Refunds         Op = "Refunds"
)

// Step is one request that a method sends. In a [Fault] the empty Step means the whole
// method.
type Step string

// The steps. In a [Fault] AnyStep means every step.
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
	ListSessions      Step = "list sessions"
	CreateRefund      Step = "create a refund"
	ListRefunds       Step = "list refunds"
)

// Kind is the effect of a fault on a call.
type Kind uint8

// The kinds of fault.
const (
	// LostBefore loses the request. The call has no effect and returns
	// processor.ErrUnavailable.
	LostBefore Kind = iota + 1
	// LostAfter loses the answer. The call takes effect and returns
	// processor.ErrUnavailable.
	LostAfter
	// Refuse makes the call return [Fault].Err without an effect.
	Refuse
	// Delay makes the call wait for [Fault].Latency, or until its context ends.
	Delay
	// Hook runs [Fault].Do before the call continues.
	Hook
)

// Fault makes calls fail or wait.
type Fault struct {
	// Op and Step select the calls. The zero values select every method as a whole.
	Op   Op
	Step Step
	// Kind is the effect of the fault. It is required.
	Kind Kind
	// Match restricts the fault to calls for which it returns true; nil matches all
	// calls. It must not call the processor.
	Match func(Call) bool
	// Skip is the number of matching calls that succeed first.
	Skip int
	// Times is the number of calls that the fault then affects. 0 means 1, and a
	// negative number means all.
	Times int
	// Err is the error that Refuse returns; nil means processor.ErrRejected. It must
	// match a sentinel of package processor.
	Err error
	// Latency is how long Delay waits, by the wall clock.
	Latency time.Duration
	// Do is the function that Hook runs. It may call the processor.
	Do func(Call)
}

// Call is a call of a method, or one step of a call.
type Call struct {
	Op   Op
	Step Step // empty for the whole method
	// CouponID is the ID of the couponkit coupon, for the methods of a mirror.
	CouponID string
	// SessionID is the ID of the session, for Session, ExpireSession, Refund and Refunds.
	SessionID string
	// OrderID is the ID of the order, for FindSession.
	OrderID string
	// Key is the idempotency key, for CreateSession and Refund.
	Key string
	// Err is the result. It is nil in [Fault].Match and after success.
	Err error
}

// Injection is an active fault.
type Injection struct {
	faults *faults
	fault  Fault
	skip   int
	left   int
	fired  int
}

// Inject activates a fault. If several faults match a call, the earliest that makes it
// fail is used. The others wait for the next call.
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

// Fired returns how many calls the fault has affected.
func (in *Injection) Fired() int {
	in.faults.mu.Lock()
	defer in.faults.mu.Unlock()
	return in.fired
}

// Remove deactivates the fault.
func (in *Injection) Remove() {
	in.faults.mu.Lock()
	defer in.faults.mu.Unlock()
	in.faults.list = slices.DeleteFunc(in.faults.list, func(other *Injection) bool { return other == in })
}

// Heal deactivates all faults.
func (p *Processor) Heal() {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	p.faults.list = nil
}

// Calls returns all calls since [New] or [Processor.ForgetCalls], in the order of their
// ends. The steps of a method come before the method.
func (p *Processor) Calls() []Call {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	return slices.Clone(p.faults.log)
}

// ForgetCalls clears the log of calls.
func (p *Processor) ForgetCalls() {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	p.faults.log = nil
}

// faults has the injected faults and the log of calls. It has its own lock, because faults happen
// outside the processor's lock.
type faults struct {
	mu   sync.Mutex
	list []*Injection
	log  []Call
}

// run makes a call with its faults and its effect.
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
		_ = effect() // the caller gets no answer
		return fmt.Errorf("%s: the answer was lost: %w", c, processor.ErrUnavailable)
	case Delay, Hook:
	}
	return effect()
}

// hits removes the injected faults that hit the call. around are faults that the call survives. end is
// the fault that ends it, if there is one.
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

// String returns method and step.
func (c Call) String() string {
	if c.Step == "" {
		return string(c.Op)
	}
	return string(c.Op) + ": " + string(c.Step)
}
