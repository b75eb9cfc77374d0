package couponkit_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// A replay sees the newest paid orders, the oldest first, over several pages.
func TestReplayOfTheLastOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithUsers(directoryFunc(func(id string) (couponkit.User, error) { return couponkit.User{ID: id}, nil })))
	d := percentOff(50)
	d.MaxUsesPerUser = coupon.Clear[int]()
	w.create(t, d)
	const orders = 130
	for i := range orders {
		w.pass(time.Minute)
		r := w.request("PERCENT")
		if i >= 100 {
			r.Codes = nil
		}
		r.Key, r.Customer = fmt.Sprint("key-", i), eligibility.Customer{ID: fmt.Sprint("customer-", i%60)}
		c := w.checkout(t, r)
		if i%2 == 0 {
			require.NoError(t, w.fake.Pay(c.Session.ID))
		}
	}
	w.deliver(t)
	w.pass(time.Minute)

	tried, err := coupon.New(coupon.Draft{Name: "New", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "3"}, Code: "NEW", MaxUses: coupon.Set(20)},
		coupon.Creation{ID: coupon.IDPrefix + "new", At: w.now.AddDate(-1, 0, 0)})
	require.NoError(t, err)
	run := func(orders int, keep bool) replay.Report {
		r, err := w.Replay(t.Context(), orders, slices.Values([]*coupon.Coupon{&tried}), replay.Options{Keep: keep})
		require.NoError(t, err)
		return r
	}
	all := run(1_000, false)
	require.Equal(t, int64(65), all.Carts)
	require.Equal(t, int64(20), all.Coupons[0].Uses)
	require.Equal(t, all.From.Add(19*2*time.Minute), all.Coupons[0].RanOutAt, "the oldest orders come first")
	require.Equal(t, int64(50), all.Currencies[0].Loses.Carts)

	kept := run(1_000, true)
	require.Equal(t, int64(0), kept.Currencies[0].Loses.Carts)
	require.Equal(t, int64(15), kept.Currencies[0].Wins.Carts)
	require.Equal(t, int64(50), kept.Currencies[0].Kept)

	last := run(103, false)
	require.Equal(t, int64(51), last.Carts)
	require.Equal(t, all.Until, last.Until)
	require.Equal(t, int64(1), run(2, false).Carts)

	for _, orders := range []int{0, -1, couponkit.MaxReplayOrders + 1} {
		_, err := w.Replay(t.Context(), orders, slices.Values([]*coupon.Coupon(nil)), replay.Options{})
		require.ErrorIs(t, err, validation.ErrInvalid)
	}
}
