// Package patience bounds waiting by the time in which a program runs, not by the
// clock.
//
// # Idea
//
// A test that waits for a server gives up after a while, or a hang would never be
// told. By the clock, such a limit also ends when the machine was asleep, or somebody
// has stopped the processes and let them go on: everything that was under way then
// looks as if it had hung. Here time counts in short ticks. Between two of them a
// program that runs lets little more than a tick pass; of a longer gap, in which it
// was stopped or had no processor, only a little counts.
package patience

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrOver is the cause of a context whose patience is over.
var ErrOver = errors.New("patience is over")

const (
	tick = 50 * time.Millisecond
	most = 2 * tick // maximum time that counts between two ticks
)

// WithTimeout returns a context that ends once the program has run for so long, with
// [ErrOver] as its cause, or when the parent ends or the function is called. The
// function must be called: it ends the goroutine that counts.
func WithTimeout(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(parent)
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for run := (stopwatch{last: time.Now()}); run.total < limit; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				run.see(time.Now())
			}
		}
		end(ErrOver)
	}()
	return ctx, sync.OnceFunc(func() {
		end(context.Canceled)
		<-counted
	})
}

// stopwatch measures the time in which a program ran.
type stopwatch struct {
	last  time.Time
	total time.Duration
}

// see adds the time since the last call.
func (s *stopwatch) see(now time.Time) {
	s.total += min(max(now.Sub(s.last), 0), most)
	s.last = now
}
