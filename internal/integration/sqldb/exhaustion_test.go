package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// use reserves and completes once; it reports whether there was a place.
func use(ctx context.Context, s store.Store, c coupon.Coupon, customer, name string) (bool, error) {
	kept, err := s.Reserve(ctx, checkoutOf(c, customer, name))
	if errors.Is(err, coupon.ErrUsageLimitReached) || errors.Is(err, coupon.ErrUserUsageLimitReached) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = s.Settle(ctx, settlementOf(redemption.SessionCompleted, kept.Redemption, "cs_"+name))
	return true, err
}

// useUp makes so many attempts by 64 goroutines and returns how many succeeded.
func useUp(ctx context.Context, s store.Store, c coupon.Coupon, name string, attempts int) (int64, error) {
	var next, kept atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for {
				i := int(next.Add(1))
				if i > attempts || failed.Load() != nil {
					return
				}
				ok, err := use(ctx, s, c, customer(i), fmt.Sprintf("%s-%06d", name, i))
				if err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				if ok {
					kept.Add(1)
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return kept.Load(), *err
	}
	return kept.Load(), nil
}

func TestExactlyTheAllowedUsesSucceed(t *testing.T) {
	t.Parallel()
	for name, driver := range sqlitedriver.ByName() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSQLite(t, driver, sqlstore.Options{})
			exhaust(t, s, inFull(3000), inFull(900))
		})
	}
}

func TestExactlyTheAllowedUsesSucceedOnMariaDB(t *testing.T) {
	t.Parallel()
	exhaust(t, newMariaDB(t), inFull(1500), inFull(450))
}

// inFull is the number, or under the race detector a third.
func inFull(n int) int {
	if underRace {
		return n / 3
	}
	return n
}

func exhaust(t *testing.T, s store.Store, attempts, allowed int) {
	t.Helper()
	c := limitedCoupon("HOT", int64(allowed), 1)
	require.NoError(t, s.CreateCoupon(t.Context(), c))
	kept, err := useUp(t.Context(), s, c, "a", attempts)
	require.NoError(t, err)
	require.EqualValues(t, allowed, kept)
	c, err = s.Coupon(t.Context(), c.ID)
	require.NoError(t, err)
	require.EqualValues(t, allowed, c.UsedCount)
	require.Zero(t, c.ReservedCount)
}
