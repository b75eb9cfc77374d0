package memstore_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// BenchmarkReserveAndComplete is the life of a redemption, from the place that is kept
// to the payment. On one coupon all wait for its lock; on many they do not.
func BenchmarkReserveAndComplete(b *testing.B) {
	for _, coupons := range []int{1, 256} {
		for _, goroutines := range []int{1, 2, 4, 8, 16, 32, 64} {
			b.Run(fmt.Sprintf("coupons=%d/goroutines=%d", coupons, goroutines), func(b *testing.B) {
				s, all := stocked(b, coupons)
				var made atomic.Int64
				b.ReportAllocs()
				inParallel(b, goroutines, func() error {
					n := made.Add(1)
					name := fmt.Sprint(n)
					r := reservation(all[int(n)%coupons], "customer-"+name, name)
					if _, err := s.Reserve(b.Context(), r); err != nil {
						return err
					}
					_, err := s.Settle(b.Context(), payment(r, "cs_"+name, "rsv_new"+name))
					return err
				})
			})
		}
	}
}

func BenchmarkLookUp(b *testing.B) {
	for _, goroutines := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			s, all := stocked(b, 256)
			for i, c := range all {
				_, err := s.Reserve(b.Context(), reservation(c, "ann", fmt.Sprint(i)))
				require.NoError(b, err)
			}
			var made atomic.Int64
			b.ReportAllocs()
			inParallel(b, goroutines, func() error {
				c := all[int(made.Add(1))%len(all)]
				_, err := s.LookUp(b.Context(), store.LookUp{Code: c.Code, CustomerID: "ann", Email: "ann@example.org"})
				return err
			})
		})
	}
}

func stocked(b *testing.B, coupons int) (*memstore.Store, []coupon.Coupon) {
	b.Helper()
	s := memstore.New()
	all := make([]coupon.Coupon, coupons)
	for i := range all {
		all[i] = newCoupon(b, fmt.Sprint(i), coupon.Limits{MaxUses: 1 << 40, MaxUsesPerUser: 10})
		require.NoError(b, s.CreateCoupon(b.Context(), all[i]))
	}
	return s, all
}

// inParallel shares b.N calls among exactly so many goroutines.
func inParallel(b *testing.B, goroutines int, call func() error) {
	b.Helper()
	errs := make(chan error, goroutines)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	for range goroutines {
		go func() {
			var err error
			for err == nil && left.Add(-1) >= 0 {
				err = call()
			}
			errs <- err
		}()
	}
	for range goroutines {
		require.NoError(b, <-errs)
	}
}
