package main

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/examples/payments/internal/provider"
	"github.com/couponkit/couponkit/redemption"
)

// The provider creates the payment as late as couponkit allows, right after the shop was told that there
// is none, and the shop records that answer later. The order keeps its use, and the payment is ended.
func TestAnAnswerThatIsRecordedLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.trouble = false
	require.True(t, w.start(1<<30))
	ctx := t.Context()
	_, err := w.shop.coupons.Create(ctx, w.coupon())
	require.NoError(t, err)
	w.shop.pay = &provider.Payments{Client: provider.Client{HTTP: &http.Client{Transport: unreachable{}}}}
	_, err = w.shop.checkout(ctx, call{ID: "1", Customer: "ann", Quantity: 3, Codes: []string{code(1)}})
	require.ErrorIs(t, err, errUnreachable)
	_, err = w.shop.cancel(ctx, call{ID: "1"})
	require.ErrorIs(t, err, errUnreachable)

	client := provider.Payments{Client: provider.Client{URL: "https://provider.example", HTTP: &http.Client{Transport: w.provider}}}
	w.wait(couponkit.DefaultCreateTime - time.Second)
	due, err := w.shop.coupons.Due(ctx, couponkit.DueOptions{OrderID: "1"})
	require.NoError(t, err)
	none, err := client.Void(ctx, "1")
	require.NoError(t, err)
	require.Empty(t, none.ID)
	_, err = client.Client.Create(ctx, "1", 24_90, "EUR")
	require.NoError(t, err)
	w.wait(time.Minute)
	require.NoError(t, w.shop.record(ctx, due[0].Answer(none)))
	require.Equal(t, redemption.OrderEnding, w.order("1").Order.State)

	w.shop.pay = &client
	require.NoError(t, w.shop.runDue(ctx, "1"))
	require.Equal(t, redemption.OrderCancelled, w.order("1").Order.State)
	require.Equal(t, provider.Voided, w.provider.Payments()[0].State)
	w.end()
}

var errUnreachable = errors.New("the provider cannot be reached")

type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) { return nil, errUnreachable }
