package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/ratelimit"
)

// A customer may fail three times in a minute, and all customers at one address together ten times.
func Example() {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	limiter, err := ratelimit.NewMemory(ratelimit.Limits{
		"customer": {Attempts: 3, Window: time.Minute},
		"address":  {Attempts: 10, Window: time.Minute},
	}, ratelimit.MemoryOptions{Now: func() time.Time { return now }})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	ann, here := ratelimit.Subject{Limit: "customer", ID: "ann"}, ratelimit.Subject{Limit: "address", ID: "203.0.113.7"}
	guess := func(code string) {
		var refused *ratelimit.TooManyAttemptsError
		switch err := limiter.Take(ctx, 1, ann, here); {
		case errors.As(err, &refused):
			fmt.Println(code, "try again after", refused.RetryAt.Sub(now))
			return
		case err != nil:
			fmt.Println(err)
			return
		}
		fmt.Println(code, code == "WELCOME")
		if code == "WELCOME" {
			_ = limiter.Return(ctx, 1, ann, here) // if that fails, the attempt counts
		}
	}
	for _, code := range []string{"A", "B", "WELCOME", "C", "D"} {
		guess(code)
	}
	// Output:
	// A false
	// B false
	// WELCOME true
	// C false
	// D try again after 20s
}
