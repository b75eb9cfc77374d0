package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// answering is a redeemer that takes so long, the first of its calls longer.
func answering(first, others time.Duration) redeemer {
	var called atomic.Bool
	return func(context.Context, request) error {
		if called.CompareAndSwap(false, true) {
			time.Sleep(first)
		} else {
			time.Sleep(others)
		}
		return nil
	}
}

// TestWhatIsMeasured: the calls that end within the measured time, which begins when it
// was planned and every client has had an answer, but not beyond the latest.
func TestWhatIsMeasured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		redeem        redeemer
		clients       int
		begin, latest time.Duration
		calls         int
		late          late
		counted       int64
	}{
		{"as planned", answering(7*ms, 7*ms), 2, 100 * ms, time.Second, 14, late{7 * ms, 54 * ms}, 44},
		{"a client without an answer", answering(400*ms, 7*ms), 2, 100 * ms, time.Second, 14, late{7 * ms, 55 * ms}, 74},
		{"one that gets none", answering(5*time.Second, 7*ms), 2, 100 * ms, time.Second, 7, late{7 * ms, 50 * ms}, 152},
		{"processes begin together", answering(400*ms, 7*ms), 2, 100 * ms, 100 * ms, 7, late{7 * ms, 54 * ms}, 23},
		{"nothing ends in time", answering(300*ms, 300*ms), 1, 100 * ms, time.Second, 0, late{300 * ms, 300 * ms}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				got, err := run(t.Context(), c.redeem, load{
					clients: c.clients, coupons: 1, begin: now.Add(c.begin), latest: now.Add(c.latest), duration: 50 * ms,
				})
				require.NoError(t, err)
				require.Len(t, got.Times, c.calls)
				if diff := cmp.Diff(&c.late, got.Late); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				require.Equal(t, c.counted, got.Counted)
			})
		})
	}
}

// TestAFailureEndsTheRun and is told; so is the end of the context.
func TestAFailureEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now, failure := time.Now(), errors.New("full")
		l := load{clients: 3, coupons: 1, begin: now.Add(ms), latest: now.Add(time.Second), duration: 50 * ms}
		_, err := run(t.Context(), func(context.Context, request) error { return failure }, l)
		require.ErrorIs(t, err, failure)

		ctx, interrupt := context.WithCancel(t.Context())
		l.begin, l.latest = now.Add(time.Hour), now.Add(time.Hour)
		time.AfterFunc(time.Minute, interrupt)
		_, err = run(ctx, answering(ms, ms), l)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, time.Minute, time.Since(now).Truncate(time.Minute), "at once")
	})
}
