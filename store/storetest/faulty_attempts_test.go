package storetest_test

import (
	"context"
	"errors"
	"time"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// attempts replaces SaveAttempts.
func (f *faulty) attempts(save func(ctx context.Context, c store.AttemptChange) (time.Time, error)) {
	f.try = save
}

func attemptFaults() map[string]fault {
	return map[string]fault{
		"attempts are never refused": {func(f *faulty) {
			f.attempts(func(ctx context.Context, c store.AttemptChange) (time.Time, error) {
				_, err := f.Store.SaveAttempts(ctx, c)
				return time.Time{}, err
			})
		}, []string{agreement, "attempts are taken", "race for attempts"}},
		"attempts are not given back": {func(f *faulty) {
			f.attempts(func(ctx context.Context, c store.AttemptChange) (time.Time, error) {
				if c.Kind == store.ReturnAttempts {
					return time.Time{}, nil
				}
				return f.Store.SaveAttempts(ctx, c)
			})
		}, []string{"attempts are given back"}},
		"attempts are taken bucket by bucket": {func(f *faulty) {
			f.attempts(func(ctx context.Context, c store.AttemptChange) (retryAt time.Time, err error) {
				for _, b := range c.Buckets {
					one := c
					one.Buckets = []store.Bucket{b}
					later, failed := f.Store.SaveAttempts(ctx, one)
					if err = errors.Join(err, failed); later.After(retryAt) {
						retryAt = later
					}
				}
				return retryAt, err
			})
		}, []string{agreement, "attempts of several buckets"}},
		"attempts of the future count after the clock went back": {func(f *faulty) {
			f.attempts(func(ctx context.Context, c store.AttemptChange) (time.Time, error) {
				retryAt, err := f.Store.SaveAttempts(ctx, c)
				if !retryAt.IsZero() && retryAt.Sub(c.At) == time.Minute {
					retryAt = retryAt.Add(time.Hour)
				}
				return retryAt, err
			})
		}, []string{"attempts when the clock goes back"}},
		"attempts are forgotten too early": {func(f *faulty) {
			f.forget = func(ctx context.Context, at time.Time) (int, error) {
				return f.Store.ForgetAttempts(ctx, at.Add(time.Hour))
			}
		}, []string{"attempts are forgotten"}},
		"invalid attempts are taken": {func(f *faulty) {
			f.attempts(func(ctx context.Context, c store.AttemptChange) (time.Time, error) {
				retryAt, err := f.Store.SaveAttempts(ctx, c)
				if errors.Is(err, validation.ErrInvalid) {
					err = nil
				}
				return retryAt, err
			})
		}, []string{"invalid changes of attempts"}},
	}
}
