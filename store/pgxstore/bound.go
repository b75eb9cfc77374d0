package pgxstore

import "context"

// bound ends calls that run alone, one after the other, when their time is over. It serves as
// long as it has ended none: to make a context that can be ended for each of them costs as much
// as all else that the group does for a call.
type bound struct {
	ends context.Context //nolint:containedctx // it is part of a context; see boundContext
	end  context.CancelCauseFunc
}

func newBound() *bound {
	b := new(bound)
	b.ends, b.end = context.WithCancelCause(context.Background())
	return b
}

// spent reports whether it has ended a call.
func (b *bound) spent() bool { return b.ends.Err() != nil }

// on returns the context of a call, which is left when it has returned.
func (b *bound) on(caller context.Context) *boundContext {
	c := &boundContext{Context: caller, bound: b}
	c.stop = context.AfterFunc(caller, func() { b.end(context.Cause(caller)) })
	return c
}

// boundContext has the caller's values and deadline, and ends when their context does or the
// bound.
type boundContext struct {
	context.Context // the caller's

	bound *bound
	stop  func() bool // it no longer ends with the caller's; false if that has ended
}

// leave is the end of the call. A caller's context that ends just now must not end the next one.
func (c *boundContext) leave() {
	if !c.stop() {
		c.bound.end(nil)
	}
}

func (c *boundContext) Done() <-chan struct{} { return c.bound.ends.Done() }

// Err returns the error of the caller's context, or else that the time is over.
func (c *boundContext) Err() error {
	if !c.bound.spent() {
		return nil
	}
	if err := c.Context.Err(); err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// Value asks what ends first: so contexts that are made of this one find out by whom they are
// told, and need no goroutine.
func (c *boundContext) Value(key any) any {
	if value := c.bound.ends.Value(key); value != nil {
		return value
	}
	return c.Context.Value(key)
}
