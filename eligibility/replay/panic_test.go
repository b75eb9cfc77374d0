package replay_test

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

var errHost = errors.New("the host panics")

// ended runs f in a goroutine. It reports whether f has returned, and with what f has panicked.
func ended(f func()) (returned bool, cause any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { cause = recover() }()
		f()
		returned = true
	}()
	<-done
	return returned, cause
}

// counted yields so many items, and calls end in the goroutine of the caller.
func counted(items int, end func()) func(func(int, error) bool) {
	return func(yield func(int, error) bool) {
		for i := range items {
			if !yield(i, nil) {
				return
			}
		}
		end()
	}
}

func emptyCart(i int) replay.Event {
	return replay.Event{At: time.Date(2026, 11, 1, 9, 0, 0, i, time.UTC), Cart: pricing.Cart{Currency: pricing.EUR()}}
}

// A panic of read reaches the caller of Run, and the end of its goroutine is an error. No call of read is left.
func TestAPanicOfReadReachesTheCaller(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 3} {
		for _, at := range []int{0, 2_047, 2_048, 4_999} {
			for want, fail := range map[any]func(){errHost: func() { panic(errHost) }, nil: runtime.Goexit} {
				var running atomic.Int64
				returned, cause := ended(func() {
					_, err := replay.Run(counted(5_000, func() {}), func(i int) (replay.Event, error) {
						running.Add(1)
						defer running.Add(-1)
						if i == at {
							fail()
						}
						return emptyCart(i), nil
					}, slices.Values([]*coupon.Coupon(nil)), replay.Options{Workers: workers})
					require.ErrorContains(t, err, "read has ended its goroutine")
				})
				require.Equal(t, want == nil, returned, "%d workers, item %d", workers, at)
				require.Equal(t, want, cause)
				require.Zero(t, running.Load())
			}
		}
	}
}

// A panic of the caller, beside a round that is under way, leaves after that round.
func TestAPanicOfTheItemsWaitsForTheRound(t *testing.T) {
	t.Parallel()
	leaving := make(chan struct{})
	var read atomic.Int64
	returned, cause := ended(func() {
		_, _ = replay.Run(counted(2_048, func() {
			close(leaving)
			panic(errHost)
		}), func(i int) (replay.Event, error) {
			<-leaving
			read.Add(1)
			return emptyCart(i), nil
		}, slices.Values([]*coupon.Coupon(nil)), replay.Options{Workers: 3})
	})
	require.False(t, returned)
	require.Equal(t, any(errHost), cause)
	require.Equal(t, int64(2_048), read.Load())
}

// A nil read is named with all other faults. Nil sequences are empty.
func TestNilArgumentsOfAReplay(t *testing.T) {
	t.Parallel()
	_, err := replay.Run[int](nil, nil, nil, replay.Options{Workers: -1})
	var faults *validation.Error
	require.ErrorAs(t, err, &faults)
	paths := make([]string, len(faults.Fields))
	for i, f := range faults.Fields {
		paths[i] = f.Path
	}
	require.Equal(t, []string{"read", "workers"}, paths)
	report, err := replay.Run(nil, func(i int) (replay.Event, error) { return emptyCart(i), nil }, nil, replay.Options{})
	require.NoError(t, err)
	require.Zero(t, report.Carts)
}
