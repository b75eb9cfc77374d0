package couponkit_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// TestTheJournalNamesWhoCalls: every entry that a call writes names its actor, and calls without
// an actor name nobody.
func TestTheJournalNamesWhoCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	as := func(actor string) context.Context { return couponkit.WithActor(t.Context(), actor) }
	points := tenOff()
	points.Code, points.Distribution, points.PointsRequired = "POINTS", coupon.PointsRedeemable, 10

	c, err := w.Create(as("creator"), tenOff())
	require.NoError(t, err)
	_, err = w.Update(as("editor"), c.ID, coupon.Patch{Name: coupon.Set("Other")})
	require.NoError(t, err)
	_, err = w.SetActive(as("switcher"), c.ID, false)
	require.NoError(t, err)
	_, err = w.SetActive(t.Context(), c.ID, true)
	require.NoError(t, err)
	paid, err := w.Checkout(as("clerk"), couponkit.CheckoutRequest{Cart: phones(), Codes: []string{"TEN"}, Customer: ann})
	require.NoError(t, err)
	require.NoError(t, w.fake.Pay(paid.Session.ID))
	require.NoError(t, w.fake.Deliver(t.Context(), w.fake.Events(w.Webhook(nil))))
	exchange, err := w.Create(as("creator"), points)
	require.NoError(t, err)
	bought, err := w.ExchangePoints(as("clerk"), couponkit.ExchangeRequest{Coupon: exchange.ID, Customer: ann})
	require.NoError(t, err)
	require.NoError(t, w.CancelExchange(as("support"), ann.ID, bought.ExchangeID))
	given, err := w.Checkout(as("clerk"), couponkit.CheckoutRequest{Cart: phones(), Customer: bob})
	require.NoError(t, err)
	_, err = w.CancelCheckout(as("support"), couponkit.OrderRequest{OrderID: given.Order.ID, AnyCustomer: true})
	require.NoError(t, err)
	require.NoError(t, w.Delete(as("remover"), c.ID))

	entries, err := w.Journal(t.Context(), 0, 100)
	require.NoError(t, err)
	by := map[string][]string{}
	for _, e := range entries {
		if kind := string(e.Kind); !slices.Contains(by[kind], e.By) {
			by[kind] = append(by[kind], e.By)
		}
	}
	want := map[string][]string{
		"coupon_created": {"creator"}, "coupon_changed": {"editor", "switcher", "", "remover"},
		"coupon_mirrored": {"creator", "editor", "switcher", ""}, "coupon_deleted": {"remover"},
		"order_opened": {"clerk"}, "order_changed": {"clerk"}, "order_paid": {""}, "order_cancelled": {"support"},
		"points_reserved": {"clerk"}, "points_changed": {"clerk", "support"}, "points_given_back": {"support"},
	}
	if diff := cmp.Diff(want, by); diff != "" {
		t.Errorf("who is named (-want +got):\n%s", diff)
	}
}

// TestAnActorThatCannotBeKept: a name that no store keeps refuses the call, before anything is
// stored.
func TestAnActorThatCannotBeKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, actor := range []string{strings.Repeat("a", redemption.MaxIDLength+1), "a\x00"} {
		_, err := w.Create(couponkit.WithActor(t.Context(), actor), tenOff())
		var invalid *validation.Error
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, "by", invalid.Fields[0].Path)
	}
	page, err := w.List(t.Context(), store.CouponList{})
	require.NoError(t, err)
	require.Empty(t, page.Items)
}
