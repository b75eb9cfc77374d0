package payments_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/service/internal/payments"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/memstore"
)

// A refund returns the money at the simulated processor, and one in its dashboard reaches the order.
func TestRefundsOfTheSimulator(t *testing.T) {
	t.Parallel()
	simulator := payments.NewSimulator("http://shop.example", time.Now)
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(simulator))
	require.NoError(t, err)
	checkout, err := service.Checkout(t.Context(), couponkit.CheckoutRequest{
		Key: "a", Customer: eligibility.Customer{ID: "ann"},
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: "book", ItemID: "atlas", Quantity: 2, UnitPrice: 10_00}}},
	})
	require.NoError(t, err)
	inner := simulator.Fake().Sessions()[0].ID
	var last couponkit.Outcome
	deliver := func() {
		handler := simulator.Webhook(service.Webhook(func(_ context.Context, o couponkit.Outcome) error { last = o; return nil }))
		require.NoError(t, simulator.Fake().Deliver(t.Context(), fakeprocessor.Serve(handler)))
	}
	require.NoError(t, simulator.Fake().Pay(inner))
	deliver()
	result, err := service.Refund(t.Context(), couponkit.RefundRequest{
		OrderID: checkout.Order.ID, Key: "one", Returns: pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}},
	})
	require.NoError(t, err)
	require.Equal(t, redemption.RepaymentSucceeded, result.Refund.Repayment.State)
	_, err = simulator.Fake().RefundByStaff(inner, 5_00)
	require.NoError(t, err)
	deliver()
	require.Equal(t, couponkit.FlagExternalRefund, last.Flag)
	require.Equal(t, int64(15_00), last.Order.Returned())
}

// A session is found by its order under the ID that the shop knows.
func TestFindSessionOfTheSimulator(t *testing.T) {
	t.Parallel()
	simulator := payments.NewSimulator("http://shop.example", time.Now)
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(simulator))
	require.NoError(t, err)
	began := time.Now()
	checkout, err := service.Checkout(t.Context(), couponkit.CheckoutRequest{
		Key: "a", Customer: eligibility.Customer{ID: "ann"},
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: "book", ItemID: "atlas", Quantity: 1, UnitPrice: 10_00}}},
	})
	require.NoError(t, err)
	want, err := simulator.Session(t.Context(), checkout.Order.SessionID)
	require.NoError(t, err)
	found, err := simulator.FindSession(t.Context(), checkout.Order.ID, began)
	require.NoError(t, err)
	require.Equal(t, want, found)
	_, err = simulator.FindSession(t.Context(), "another", began)
	require.ErrorIs(t, err, processor.ErrNotFound)
}
