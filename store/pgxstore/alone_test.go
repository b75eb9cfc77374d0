package pgxstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/couponkit/couponkit/store/pgxstore"
)

type ofCaller struct{}

// newLone is a group whose calls run alone, each as run does.
func newLone(run func(ctx context.Context, request int) error) *pgxstore.Group {
	options := pgxstore.BatchOptions{Timeout: time.Minute, Workers: 2}
	return pgxstore.NewGroup(options, func(ctx context.Context, requests []int) (map[int]int, map[int]error, error) {
		return nil, nil, run(ctx, requests[0])
	})
}

// TestTheContextOfACallAlone has what the caller's has, and ends as that does.
func TestTheContextOfACallAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller, cancel := context.WithTimeout(context.WithValue(t.Context(), ofCaller{}, "the caller's"), 5*time.Second)
		defer cancel()
		group := newLone(func(ctx context.Context, _ int) error {
			want, _ := caller.Deadline()
			if got, bounded := ctx.Deadline(); !bounded || !got.Equal(want) || ctx.Value(ofCaller{}) != "the caller's" || ctx.Value("other") != nil {
				t.Errorf("deadline %v (%t), value %v, another %v", got, bounded, ctx.Value(ofCaller{}), ctx.Value("other"))
			}
			if err := ctx.Err(); err != nil {
				t.Errorf("it has ended before its time: %v", err)
			}
			within, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			<-within.Done()
			if cause := context.Cause(within); !errors.Is(cause, context.DeadlineExceeded) {
				t.Errorf("what was derived from it has ended because of %v", cause)
			}
			return ctx.Err()
		})
		defer group.Close()
		began := time.Now()
		if _, err := group.Do(caller, 1, "a", ""); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestACallAloneIsEndedByNoOther: what ends the context of a caller, whose call was run before
// by the same worker or is run beside it, is nothing to another call.
func TestACallAloneIsEndedByNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		group := newLone(func(ctx context.Context, seconds int) error {
			select {
			case <-time.After(time.Duration(seconds) * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		defer group.Close()
		call := func(ctx context.Context, seconds int, want error) {
			if _, err := group.Do(ctx, seconds, "a", ""); !errors.Is(err, want) {
				t.Errorf("a call of %d s: %v; want %v", seconds, err, want)
			}
		}
		for range 3 {
			before, end := context.WithCancel(t.Context())
			call(before, 1, nil)
			time.AfterFunc(time.Second, end)
			call(t.Context(), 2, nil) // its worker is the same

			beside, end := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				call(beside, 10, context.Canceled)
			}()
			time.AfterFunc(time.Second, end)
			call(t.Context(), 2, nil)
			<-ended
			call(t.Context(), 100, context.DeadlineExceeded)
		}
	})
}

// TestACallerWhoLeavesDuringTheAnswer: the context ends while the call returns, and what follows
// from that may come when the next call has begun.
func TestACallerWhoLeavesDuringTheAnswer(t *testing.T) {
	t.Parallel()
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			first, leave := context.WithCancel(t.Context())
			group := newLone(func(ctx context.Context, request int) error {
				if request == 0 {
					leave()
					return nil
				}
				synctest.Wait()
				return ctx.Err()
			})
			defer group.Close()
			for request, ctx := range []context.Context{first, t.Context()} {
				if _, err := group.Do(ctx, request, "a", ""); err != nil {
					t.Fatalf("call %d: %v", request, err)
				}
			}
		})
	}
}
