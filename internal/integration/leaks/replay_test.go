package leaks_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
)

// TestAReplayLeavesNothing: whole replays, and some that end within a round or by a panic of the caller or of a worker.
func TestAReplayLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	broken := errors.New("broken")
	at := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	read := func(i int) (replay.Event, error) {
		if i < 0 {
			panic(broken)
		}
		return replay.Event{At: at.Add(time.Duration(i) * time.Second), Cart: pricing.Cart{Currency: pricing.EUR()}}, nil
	}
	for _, end := range []int{0, 1, 2_048, 5_000} {
		for _, fault := range []string{"", "error", "panic", "panic of a worker"} {
			func() {
				defer func() { _ = recover() }()
				_, _ = replay.Run(func(yield func(int, error) bool) {
					for i := range end {
						if !yield(i, nil) {
							return
						}
					}
					switch fault {
					case "error":
						yield(0, broken)
					case "panic":
						panic(broken)
					case "panic of a worker":
						yield(-1, nil)
					}
				}, read, slices.Values([]*coupon.Coupon(nil)), replay.Options{Workers: 3})
			}()
		}
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
