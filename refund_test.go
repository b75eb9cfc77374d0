package couponkit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// bought is a paid order of three phones at 10.00 with 10.00 off, and shipping of 4.90.
func (w *world) bought(t *testing.T) redemption.Order {
	t.Helper()
	c := w.checkout(t, w.request("TEN"))
	w.pay(t, c)
	return w.order(t, c.Order.ID)
}

func (w *world) refund(t *testing.T, o redemption.Order, key string, now pricing.Returns) couponkit.RefundResult {
	t.Helper()
	result, err := w.Refund(t.Context(), couponkit.RefundRequest{OrderID: o.ID, Key: key, Returns: now})
	require.NoError(t, err)
	return result
}

var (
	onePhone = pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}}
	theRest  = pricing.Returns{All: true}
)

// A refund is recorded once, told to the observer, and gives the use back when the coupon says so.
func TestRefund(t *testing.T) {
	t.Parallel()
	for restore, used := range map[coupon.Restore][2]int64{
		coupon.RestoreFull: {1, 0}, coupon.RestoreAlways: {0, 0}, coupon.RestoreNever: {1, 1},
	} {
		w := newWorld(t)
		d := tenOff()
		d.MaxUses, d.RestoreOnRefund = coupon.Set(1), restore
		d.Budget = coupon.NewAmounts(pricing.NewMoney(10_00, pricing.EUR()))
		c := w.create(t, d)
		o := w.bought(t)
		first := w.refund(t, o, "one", onePhone)
		require.Equal(t, int64(6_67), first.Refund.Result.Amount)
		require.Equal(t, redemption.OrderPartlyRefunded, first.Order.State)
		require.False(t, first.Replayed)
		require.Equal(t, used[0], w.get(t, c.ID).UsedCount, restore)
		last := w.attempts[len(w.attempts)-1]
		require.Equal(t, []any{couponkit.OpRefund, o.ID, ann.ID, c.ID}, []any{last.Operation, last.OrderID, last.CustomerID, last.CouponID})
		again := w.refund(t, o, "one", onePhone)
		require.True(t, again.Replayed)
		require.Equal(t, first.Refund, again.Refund)
		rest := w.refund(t, o, "two", theRest)
		require.Equal(t, redemption.OrderRefunded, rest.Order.State)
		require.Equal(t, o.Quote.Total, rest.Order.Refunded().Amount)
		require.Equal(t, used[1], w.get(t, c.ID).UsedCount, restore)
		_, err := w.Checkout(t.Context(), w.request("TEN"))
		require.Equal(t, used[1] == 0, err == nil, "%s: %v", restore, err)
	}
}

func TestRefundRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	o := w.bought(t)
	before := w.refund(t, o, "one", onePhone).Order
	for name, c := range map[string]struct {
		request couponkit.RefundRequest
		want    error
		field   string
	}{
		"nothing given":       {couponkit.RefundRequest{}, validation.ErrInvalid, "orderId"},
		"no key":              {couponkit.RefundRequest{OrderID: o.ID, Returns: theRest}, validation.ErrInvalid, "key"},
		"an unknown order":    {couponkit.RefundRequest{OrderID: "ord_none", Key: "a", Returns: theRest}, store.ErrNotFound, ""},
		"an impossible order": {couponkit.RefundRequest{OrderID: "\x00", Key: "a", Returns: theRest}, store.ErrNotFound, ""},
		"another request":     {couponkit.RefundRequest{OrderID: o.ID, Key: "one", Returns: theRest}, store.ErrKeyReused, ""},
		"more than is left": {couponkit.RefundRequest{OrderID: o.ID, Key: "a", Returns: pricing.Returns{
			Lines: []pricing.LineReturn{{Line: 1, Quantity: 1}, {Line: 0, Quantity: 3}},
		}}, validation.ErrInvalid, "returns[1].quantity"},
		"a line that does not exist": {couponkit.RefundRequest{OrderID: o.ID, Key: "a", Returns: pricing.Returns{
			Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}, {Line: 2, Quantity: 1}},
		}}, validation.ErrInvalid, "returns[1].line"},
	} {
		_, err := w.Refund(t.Context(), c.request)
		require.ErrorIs(t, err, c.want, name)
		require.ErrorContains(t, err, c.field, name)
		require.Equal(t, before, w.order(t, o.ID), name)
		require.Equal(t, int64(6_67), w.backAt(t, o), name)
	}
	open := w.checkout(t, func() couponkit.CheckoutRequest { r := w.request(""); r.Customer = bob; return r }())
	_, err := w.Refund(t.Context(), couponkit.RefundRequest{OrderID: open.Order.ID, Key: "a", Returns: theRest})
	require.ErrorIs(t, err, redemption.ErrIllegal)
}

// Points come back once, with the use that they have bought.
func TestRefundGivesPointsBackOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := forPoints()
	d.RestoreOnRefund = coupon.RestoreAlways
	c := w.create(t, d)
	before := w.ledger.Balance(ann.ID)
	w.exchange(t, c)
	o := w.bought(t)
	w.wantBalance(t, before-60)
	require.Equal(t, redemption.PointsRefunded, w.refund(t, o, "one", onePhone).Uses[0].PointsState)
	w.wantBalance(t, before)
	w.refund(t, o, "two", theRest)
	w.refund(t, o, "two", theRest)
	w.wantBalance(t, before)
	_, err := w.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, coupon.ErrPointsNotRedeemed)
}

// A threshold that the rest misses is rebilled by the terms of the checkout, not by today's.
func TestRefundsUseTheTermsOfTheCheckout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.RefundPolicy, d.MinQuantity = pricing.Rebill, coupon.Set(3)
	c := w.create(t, d)
	o := w.bought(t)
	_, err := w.Update(t.Context(), c.ID, coupon.Patch{MinQuantity: coupon.Clear[int]()})
	require.NoError(t, err)
	require.Zero(t, w.refund(t, o, "one", onePhone).Refund.Result.Amount)
	require.Equal(t, o.Quote.Total, w.refund(t, o, "two", theRest).Refund.Result.Amount)
}

// A refunded order was still the customer's first one, and the payment of it that comes again
// changes nothing.
func TestARefundedOrderStaysAnOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	d := firstOrders()
	w.create(t, d)
	o := w.bought(t)
	w.refund(t, o, "one", theRest)
	_, err := w.Checkout(t.Context(), w.request("FIRST"))
	require.ErrorIs(t, err, coupon.ErrNotFirstOrder)
	_, err = w.Sweep(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, redemption.OrderRefunded, w.order(t, o.ID).State)
}

// A refunded order was paid: it cannot be cancelled, and a refresh changes nothing.
func TestARefundedOrderWasPaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	o := w.bought(t)
	for _, returned := range []pricing.Returns{onePhone, theRest} {
		before := w.refund(t, o, fmt.Sprint("all ", returned.All), returned).Order
		_, err := w.CancelCheckout(t.Context(), couponkit.OrderRequest{OrderID: o.ID, AnyCustomer: true})
		require.ErrorIs(t, err, couponkit.ErrOrderPaid)
		got, err := w.Refresh(t.Context(), couponkit.OrderRequest{OrderID: o.ID, AnyCustomer: true})
		require.NoError(t, err)
		require.Equal(t, []any{before.State, couponkit.FlagNone, false}, []any{got.Order.State, got.Flag, got.Changed})
		require.Equal(t, before.State, w.order(t, o.ID).State)
	}
}
