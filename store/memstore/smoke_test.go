package memstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

var at = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func reservation(id, customer string, limit int64) store.Reservation {
	quote, _ := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000}}}, pricing.Discount{}, nil)
	return store.Reservation{
		Order: redemption.Order{
			ID: "ord_" + id, Key: id, CustomerID: customer, State: redemption.OrderOpen, Quote: quote, CreatedAt: at, Deadline: at.Add(time.Hour),
			Claims: []redemption.Claim{{Counter: redemption.CustomerOrders(customer), Amount: 1}},
		},
		Uses: []redemption.Use{{
			ID: "use_" + id, CouponID: "cpn_a", CustomerID: customer, OrderID: "ord_" + id, State: redemption.Reserved, Origin: redemption.FromCheckout, CreatedAt: at,
			Claims: []redemption.Claim{{Counter: redemption.CouponUses("cpn_a"), Amount: 1, Limit: limit}, {Counter: redemption.CustomerUses("cpn_a", customer), Amount: 1, Limit: 1}},
		}},
		Coupons: []store.CouponAt{{ID: "cpn_a", Revision: 1}},
	}
}

func TestAPurchase(t *testing.T) {
	s := memstore.New()
	ctx := t.Context()
	code, _ := coupon.ParseCode("TEN")
	percent, _ := pricing.ParsePercent("10")
	c := coupon.Coupon{ID: "cpn_a", Code: code, Name: "Ten", Discount: pricing.PercentOff(percent), Currency: pricing.EUR(), Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, State: coupon.Active, CreatedAt: at, UpdatedAt: at, Revision: 1, Limits: coupon.Limits{MaxUses: 2, MaxUsesPerUser: 1}}
	_, err := s.SaveCoupon(ctx, store.CouponChange{Kind: store.CreateCoupon, Coupon: c, At: at})
	require.NoError(t, err)
	_, err = s.Reserve(ctx, reservation("1", "ann", 2))
	require.NoError(t, err)
	again, err := s.Reserve(ctx, reservation("1", "ann", 2))
	require.NoError(t, err)
	require.True(t, again.Replayed)
	_, err = s.Reserve(ctx, reservation("2", "ann", 2))
	require.ErrorIs(t, err, store.ErrLimit)
	_, err = s.Reserve(ctx, reservation("3", "bob", 2))
	require.NoError(t, err)
	_, err = s.Reserve(ctx, reservation("4", "cid", 2))
	require.ErrorIs(t, err, store.ErrLimit)
	// a retry of ann's
	r := reservation("5", "ann", 2)
	r.Order.Replaces = "ord_1"
	_, err = s.Reserve(ctx, r)
	require.NoError(t, err)
	settled, err := s.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.Paid, At: at, OrderID: "ord_1", SessionID: "cs_1"}})
	require.NoError(t, err)
	require.Equal(t, redemption.OrderPaid, settled.Order.State)
	require.False(t, settled.Uses[0].OverLimit)
	newer, err := s.Order(ctx, store.OrderKey{ID: "ord_5"})
	require.NoError(t, err)
	require.Equal(t, redemption.OrderCancelled, newer.Order.State)
	counts, err := s.Counts(ctx, []string{redemption.CouponUses("cpn_a"), redemption.CustomerOrders("ann")})
	require.NoError(t, err)
	require.Equal(t, []redemption.Count{{Reserved: 1, Completed: 1}, {Completed: 1}}, counts)
	late, err := s.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.Paid, At: at, OrderID: "ord_5", SessionID: "cs_5"}})
	require.NoError(t, err)
	require.True(t, late.Uses[0].OverLimit)
	entries, err := s.Journal(ctx, 0, 100)
	require.NoError(t, err)
	for _, e := range entries {
		t.Log(e.Position, e.Kind, e.Subject, e.Version, string(e.Data))
	}
}
