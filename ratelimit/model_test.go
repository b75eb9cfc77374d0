package ratelimit_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/ratelimit"
)

// model counts attempts the other way round: what is left in a bucket, in units of time, when it was last
// looked at.
type model struct {
	left map[ratelimit.Subject]time.Duration
	seen map[ratelimit.Subject]time.Time
}

// look returns what is left of a subject now.
func (m *model) look(s ratelimit.Subject, size time.Duration, now time.Time) time.Duration {
	if _, known := m.left[s]; !known {
		return size
	}
	return max(0, min(size, m.left[s]+now.Sub(m.seen[s])))
}

func (m *model) take(limits ratelimit.Limits, n int, now time.Time, subjects []ratelimit.Subject) (retryAt time.Time) {
	after := map[ratelimit.Subject]time.Duration{}
	for _, s := range subjects {
		size := limits[s.Limit].Window
		cost := size / time.Duration(limits[s.Limit].Attempts) * time.Duration(n)
		after[s] = m.look(s, size, now) - cost
		if at := now.Add(-after[s]); after[s] < 0 && at.After(retryAt) {
			retryAt = at
		}
	}
	for s, left := range after {
		if retryAt.IsZero() {
			m.left[s], m.seen[s] = left, now
		}
	}
	return retryAt
}

func (m *model) giveBack(limits ratelimit.Limits, n int, subjects []ratelimit.Subject) {
	for _, s := range subjects {
		if _, known := m.left[s]; known {
			m.left[s] += limits[s.Limit].Window / time.Duration(limits[s.Limit].Attempts) * time.Duration(n)
		}
	}
}

// TestLimitersAgreeWithAModel plays random calls, also with a clock that goes back.
func TestLimitersAgreeWithAModel(t *testing.T) {
	t.Parallel()
	limits := ratelimit.Limits{"customer": {Attempts: 3, Window: 3 * time.Second}, "address": {Attempts: 5, Window: 10 * time.Second}}
	all := []ratelimit.Subject{of("customer", "ann"), of("customer", "ben"), of("address", "ann"), of("address", "2001:db8::/64")}
	rapid.Check(t, func(t *rapid.T) {
		c, m := &clock{noon}, &model{map[ratelimit.Subject]time.Duration{}, map[ratelimit.Subject]time.Time{}}
		tested := limiters(t, c, limits)
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, len(all), rapid.ID[ratelimit.Subject])
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) {
				c.pass(time.Duration(rapid.IntRange(-2_000, 6_000).Draw(t, "milliseconds")) * time.Millisecond)
			},
			"take": func(t *rapid.T) {
				n, subjects := rapid.IntRange(1, 3).Draw(t, "attempts"), some.Draw(t, "subjects")
				want := m.take(limits, n, c.at, subjects)
				for name, l := range tested {
					err := l.Take(t.Context(), n, subjects...)
					refused, _ := errors.AsType[*ratelimit.TooManyAttemptsError](err)
					require.Equal(t, want.IsZero(), err == nil, "%s: %v", name, err)
					if err != nil {
						require.Equal(t, want, refused.RetryAt, name)
					}
				}
			},
			"return": func(t *rapid.T) {
				n, subjects := rapid.IntRange(1, 3).Draw(t, "attempts"), some.Draw(t, "subjects")
				m.giveBack(limits, n, subjects)
				for _, l := range tested {
					require.NoError(t, l.Return(t.Context(), n, subjects...))
				}
			},
		})
	})
}

// TestNobodyFailsMoreOftenThanTheLimit is the promise itself: whatever the calls, every span of time has at most
// what a bucket holds and what comes back.
func TestNobodyFailsMoreOftenThanTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := ratelimit.Limit{
			Attempts: rapid.IntRange(1, 9).Draw(t, "attempts"),
			Window:   time.Duration(rapid.IntRange(1, 20_000).Draw(t, "window")) * time.Millisecond,
		}
		c, ann := &clock{noon}, of("customer", "ann")
		for name, l := range limiters(t, c, ratelimit.Limits{"customer": limit}) {
			var failed []time.Time
			for range rapid.IntRange(1, 60).Draw(t, "calls") {
				c.pass(time.Duration(rapid.IntRange(0, 3_000).Draw(t, "milliseconds")) * time.Millisecond)
				if l.Take(t.Context(), 1, ann) != nil {
					continue
				}
				if rapid.Bool().Draw(t, "succeeds") {
					require.NoError(t, l.Return(t.Context(), 1, ann))
					continue
				}
				failed = append(failed, c.at)
			}
			interval := (limit.Window / time.Duration(limit.Attempts)).Truncate(time.Microsecond)
			for i := range failed {
				for j := i; j < len(failed); j++ {
					if most := limit.Attempts + int(failed[j].Sub(failed[i])/interval); j-i+1 > most {
						t.Fatalf("%s: %d failures in %v, at most %d are allowed", name, j-i+1, failed[j].Sub(failed[i]), most)
					}
				}
			}
		}
	})
}

// TestManyAttemptsAtOnce shows that parallel calls cannot exceed a limit.
func TestManyAttemptsAtOnce(t *testing.T) {
	t.Parallel()
	for name, l := range limiters(t, &clock{noon}, ratelimit.Limits{"customer": {Attempts: 7, Window: time.Minute}, "address": {Attempts: 50, Window: time.Minute}}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var taken atomic.Int64
			var all sync.WaitGroup
			for i := range 32 {
				all.Go(func() {
					for range 20 {
						subjects := []ratelimit.Subject{of("customer", "ann"), of("address", fmt.Sprint("a", i%4))}
						if l.Take(t.Context(), 1, subjects...) == nil {
							taken.Add(1)
							if i%2 == 0 && l.Return(t.Context(), 1, subjects...) == nil {
								taken.Add(-1)
							}
						}
					}
				})
			}
			all.Wait()
			require.LessOrEqual(t, taken.Load(), int64(7))
		})
	}
}

// TestMemoryIsBounded: whoever comes under many names neither fills the memory nor gets more attempts.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const most = 1_000
	c, limits := &clock{noon}, ratelimit.Limits{"address": {Attempts: 2, Window: time.Minute}, "customer": {Attempts: 2, Window: time.Minute}}
	l, err := ratelimit.NewMemory(limits, ratelimit.MemoryOptions{Now: c.now, MaxTracked: most})
	require.NoError(t, err)
	require.NoError(t, l.Take(t.Context(), 2, of("address", "blocked")))
	taken := 0
	for i := range testsize.Of(100_000, 1_000_000) {
		if l.Take(t.Context(), 1, of("address", fmt.Sprint(i))) == nil {
			taken++
		}
	}
	require.LessOrEqual(t, l.Tracked(), most+ratelimit.MaxSubjects+len(limits))
	require.LessOrEqual(t, taken, most+2, "those that are not tracked share one bucket")
	require.ErrorIs(t, l.Take(t.Context(), 1, of("address", "blocked")), ratelimit.ErrTooManyAttempts, "nobody is forgotten too early")
	require.NoError(t, l.Take(t.Context(), 1, of("customer", "new")), "each limit has a shared bucket of its own")
	require.NoError(t, l.Return(t.Context(), 1, of("customer", "new")))
	for range 50 {
		require.NoError(t, l.Take(t.Context(), 2, of("customer", "valid")), "what succeeds does not count there either")
		require.NoError(t, l.Return(t.Context(), 2, of("customer", "valid")))
	}
	c.pass(time.Minute)
	require.NoError(t, l.Take(t.Context(), 2, of("address", "late")))
	require.LessOrEqual(t, l.Tracked(), 3, "those with all attempts are forgotten")
	require.NoError(t, l.Take(t.Context(), 2, of("address", "blocked")))
}
