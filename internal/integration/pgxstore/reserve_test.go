package pgxstore_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
)

// BenchmarkReserve is the reservation of an order with one use of one hot coupon, with 64 clients.
// What it allocates is that of the whole process.
func BenchmarkReserve(b *testing.B) {
	const clients = 64
	pool := postgrestest.NewPool(b, shared.NewCopy(b))
	s := newStore(b, pool, pgxstore.Options{})
	c := create(b, s, newCoupon(b, "HOT", coupon.Limits{MaxUses: 1 << 40, MaxUsesPerUser: 1}))
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000},
	}}, pricing.Terms{ID: c.ID, Discount: c.Discount, Eligible: []bool{true}})
	require.NoError(b, err)
	reserve := func(from, reservations int64) {
		var n atomic.Int64
		var group errgroup.Group
		requests := make([]store.Reservation, reservations)
		for i := range requests {
			requests[i] = checkout(c, q, fmt.Sprint("customer-", from+int64(i)), "k")
			requests[i].Order.Coupons = []coupon.Snapshot{c.Snapshot()}
		}
		b.ResetTimer()
		for range clients {
			group.Go(func() error {
				for i := n.Add(1) - 1; i < reservations; i = n.Add(1) - 1 {
					if _, err := s.Reserve(b.Context(), requests[i]); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(b, group.Wait())
	}
	reserve(0, 2_000) // statements are prepared first
	b.ReportAllocs()
	reserve(2_000, int64(b.N))
}
