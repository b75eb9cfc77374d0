package offers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
)

// The index and the loop find the same coupon.
func TestTheSameAnswers(t *testing.T) {
	t.Parallel()
	shop := newShop(2)
	coupons := shop.coupons(3_000)
	x := build(t, coupons)
	var s offers.Search
	var r eligibility.SetResult
	for range 50 {
		q := offers.Query{Cart: shop.cart(1 + shop.IntN(50)), Question: shop.question()}
		best, discount := loop(coupons, q.Cart, q.Question, &r)
		got, found, err := s.Best(x, q)
		require.NoError(t, err)
		require.Equal(t, best != nil, found)
		require.Same(t, best, got.Coupon)
		require.Equal(t, discount, got.Discount)
	}
}
