package patience_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/patience"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPatienceEnds: a program that runs has as much patience as it said. No real time
// passes.
func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 20 * time.Second
		begun := time.Now()
		ctx, end := patience.WithTimeout(t.Context(), limit)
		defer end()
		<-ctx.Done()
		if took := time.Since(begun); took != limit {
			t.Errorf("it took %s, want %s", took, limit)
		}
		if !errors.Is(context.Cause(ctx), patience.ErrOver) {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
	})
}

// TestPatienceIsGivenUp: the end of the parent and the function end it early, and
// leave no goroutine.
func TestPatienceIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		ctx, end := patience.WithTimeout(parent, time.Minute)
		cancel()
		<-ctx.Done()
		end()
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the parent has ended: %v", err)
		}
		ctx, end = patience.WithTimeout(t.Context(), time.Minute)
		end()
		end()
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("it was ended: %v", err)
		}
	})
}
