package processortest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/couponkit/couponkit/processor"
)

func contextClauses() []clause {
	return []clause{
		{
			name:  "ended context",
			says:  "context is obeyed: with one that has ended every method returns its error, and nothing happens",
			check: endedContext,
		},
		{
			name:  "context that ends while waiting to try again",
			needs: []need{faulty()},
			says:  "context is obeyed, also while waiting to try again",
			check: contextThatEndsWhileWaitingToTryAgain,
		},
	}
}

func endedContext(p *probe) {
	c, s := p.mirrored(p.coupon("a", "SUITE1")), p.created(p.request("key-1"))
	ctx, cancel := context.WithCancel(p.Context())
	cancel()
	for name, call := range p.calls(c, s.ID) {
		p.fails(call(ctx), context.Canceled, name+" with an ended context")
	}
	p.shows(c, "after calls with an ended context")
	p.nothingOf(p.coupon("new", "SUITENEW"), "after EnsureMirror with an ended context")
	p.is(p.session(s.ID), processor.SessionOpen, processor.Unpaid, "after calls with an ended context")
}

// firstAttempt is the time before the context ends. An adapter should have made its first attempt by
// then, and wait for the second. A slower adapter does not fail; the clause then checks less.
const firstAttempt = 20 * time.Millisecond

func contextThatEndsWhileWaitingToTryAgain(p *probe) {
	c, s := p.mirrored(p.coupon("a", "SUITE1")), p.created(p.request("key-1"))
	defer p.Faults.Down()()
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	var calling, running sync.WaitGroup
	calls := p.requests(c, s.ID)
	calling.Add(len(calls))
	for name, call := range calls {
		running.Go(func() {
			calling.Done()
			err := call(ctx)
			if !errors.Is(err, context.Canceled) && !errors.Is(err, processor.ErrUnavailable) {
				p.broken("%s returned %s while the processor was down and the context ended", name, errorText(err))
			}
			p.oneKind(err, name)
		})
	}
	calling.Wait()
	time.Sleep(firstAttempt)
	cancel()
	p.inTime("a method whose context has ended", running.Wait)
}
