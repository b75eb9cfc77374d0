package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// mostWarming is how much longer than planned it may warm up, for clients that have
// had no answer yet.
const mostWarming = time.Second

// load is who calls, and when it is measured.
type load struct {
	first, clients int // the clients have the numbers from first on
	coupons        int
	// It warms up until begin and until every client has had an answer, but not beyond
	// latest. Several processes begin together: their latest is begin.
	begin, latest time.Time
	duration      time.Duration
}

// now is a load that begins to warm up now.
func (b *bench) now(c cell, first int) load {
	begin := time.Now().Add(b.turn() / 2)
	return load{first: first, clients: c.clients, coupons: c.content.coupons, begin: begin, latest: begin.Add(mostWarming), duration: b.turn()}
}

// observed is what clients have seen.
type observed struct {
	Times   []time.Duration // of the calls that ended in the measured time
	Late    *late           // the first that ended after it, if any
	Counted int64           // redemptions in all, with those of warming up
}

// late is a call that ended after the measured time.
type late struct {
	Took  time.Duration
	After time.Duration // since the measured time began
}

// add puts together what the clients of several processes have seen, or those of several turns.
func (o *observed) add(more observed) {
	o.Times = append(o.Times, more.Times...)
	o.Counted += more.Counted
	if more.Late != nil && (o.Late == nil || more.Late.After < o.Late.After) {
		o.Late = more.Late
	}
}

// sample is what one round of a cell has measured.
type sample struct {
	calls     int
	perSecond float64
	p50, p99  time.Duration
}

var errNoneEnded = errors.New("not one redemption ended")

// summarise is the rate and the latencies. Where the disk stood still for the whole of
// the measured time, that goes on until the first call has ended.
func (o observed) summarise(duration time.Duration) (sample, error) {
	times := slices.Sorted(slices.Values(o.Times))
	if len(times) == 0 {
		if o.Late == nil {
			return sample{}, errNoneEnded
		}
		times, duration = []time.Duration{o.Late.Took}, o.Late.After
	}
	n := len(times)
	return sample{calls: n, perSecond: float64(n) / duration.Seconds(), p50: times[n/2], p99: times[n*99/100]}, nil
}

// span is the measured time.
type span struct{ begin, end time.Time }

// run lets the clients redeem as fast as they can.
func run(ctx context.Context, redeem redeemer, l load) (observed, error) {
	var measured atomic.Pointer[span]
	seen := make([]observed, l.clients)
	failures := make([]error, l.clients)
	var running, warming sync.WaitGroup
	for n := range l.clients {
		warming.Add(1)
		running.Go(func() {
			answered := sync.OnceFunc(warming.Done)
			defer answered()
			failures[n] = seen[n].call(ctx, redeem, l, l.first+n, &measured, answered)
		})
	}
	warm := make(chan struct{})
	running.Go(func() { warming.Wait(); close(warm) })
	measured.Store(l.await(ctx, warm))
	running.Wait()
	var all observed
	for _, o := range seen {
		all.add(o)
	}
	return all, errors.Join(append(failures, ctx.Err())...)
}

// await waits until it is warm, and says what is measured then.
func (l load) await(ctx context.Context, warm <-chan struct{}) *span {
	latest, begin := time.NewTimer(time.Until(l.latest)), time.NewTimer(time.Until(l.begin))
	defer latest.Stop()
	defer begin.Stop()
	select {
	case <-warm:
	case <-latest.C:
	case <-ctx.Done():
	}
	select {
	case <-begin.C:
	case <-ctx.Done():
	}
	now := time.Now()
	return &span{now, now.Add(l.duration)}
}

// call redeems one after the other until the measured time is over.
func (o *observed) call(
	ctx context.Context, redeem redeemer, l load, client int, measured *atomic.Pointer[span], answered func(),
) error {
	for n := 0; ctx.Err() == nil; n++ {
		started := time.Now()
		if s := measured.Load(); s != nil && started.After(s.end) {
			return nil
		}
		if err := redeem(ctx, next(client, n, l.coupons)); err != nil {
			return err
		}
		answered()
		o.Counted++
		s, ended := measured.Load(), time.Now()
		switch {
		case s == nil || ended.Before(s.begin):
		case ended.Before(s.end):
			o.Times = append(o.Times, ended.Sub(started))
		case o.Late == nil:
			o.Late = &late{Took: ended.Sub(started), After: ended.Sub(s.begin)}
		}
	}
	return nil
}
