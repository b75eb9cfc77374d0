package storetest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/storetest"
)

// TestBuyers: a store that loses answers passes, for the buyers repeat their calls. A store that
// acknowledges a payment and does not keep it, or sells one use too many, is noticed.
func TestBuyers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil  func(s *faulty)
		notice string
	}{
		"sound": {func(*faulty) {}, ""},
		"answers are lost": {func(s *faulty) {
			var calls atomic.Int64
			lost := func() error {
				if calls.Add(1)%3 == 0 {
					return errors.New("the answer is lost")
				}
				return nil
			}
			reserve, apply := s.reserve, s.apply
			s.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				made, err := reserve(ctx, r)
				return made, errors.Join(err, lost())
			}
			s.apply = func(ctx context.Context, e store.Settlement) (store.Settled, error) {
				settled, err := apply(ctx, e)
				return settled, errors.Join(err, lost())
			}
		}, ""},
		"a payment is not kept": {func(s *faulty) {
			apply := s.apply
			var once atomic.Bool
			s.apply = func(ctx context.Context, e store.Settlement) (store.Settled, error) {
				if once.CompareAndSwap(false, true) {
					return store.Settled{}, nil
				}
				return apply(ctx, e)
			}
		}, "paid orders"},
		"one use too many": {func(s *faulty) {
			reserve := s.reserve
			s.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				for i, u := range r.Uses {
					for j, c := range u.Claims {
						if c.Counter == eligibility.CouponUses(u.CouponID) {
							r.Uses[i].Claims[j].Limit++
						}
					}
				}
				return reserve(ctx, r)
			}
		}, "the uses of the coupon"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFaulty()
			test.spoil(s)
			b, err := storetest.NewBuyers(t.Context(), s, 30)
			require.NoError(t, err)
			b.Start(t.Context(), 4, time.Second)
			require.NoError(t, b.Await(t.Context(), 10))
			b.Move(s)
			err = b.Check(t.Context(), s)
			if test.notice == "" {
				require.NoError(t, err)
				require.Equal(t, 30, b.Acknowledged())
			} else {
				require.ErrorContains(t, err, test.notice)
			}
		})
	}
}

// TestBuyersGiveUp: buyers end with the context, and say which order has failed.
func TestBuyersGiveUp(t *testing.T) {
	t.Parallel()
	s := newFaulty()
	s.reserve = func(context.Context, store.Reservation) (store.Reserved, error) {
		return store.Reserved{}, errors.New("down")
	}
	b, err := storetest.NewBuyers(t.Context(), s, 1)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	b.Start(ctx, 1, time.Second)
	require.ErrorIs(t, b.Await(ctx, 1), context.DeadlineExceeded)
	require.ErrorContains(t, b.Check(t.Context(), s), "ord_000001: down")
}
