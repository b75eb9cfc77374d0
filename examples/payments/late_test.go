package main

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/examples/internal/provider"
	"github.com/couponkit/couponkit/internal/killtest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// The provider creates the payment as late as couponkit allows, right after the shop was told that there
// is none, and the shop records that answer later. The order keeps its use, and the payment is ended.
func TestAnAnswerThatIsRecordedLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, nil)
	s, ctx := w.Start().(victim), t.Context()
	_, err := s.coupons.Create(ctx, w.Coupon())
	require.NoError(t, err)
	s.pay = &provider.Payments{Client: provider.Client{HTTP: &http.Client{Transport: unreachable{}}}}
	_, err = s.checkout(ctx, "1", "ann", []string{"ONCE1"})
	require.ErrorIs(t, err, errUnreachable)
	require.ErrorIs(t, s.cancel(ctx, "1"), errUnreachable)

	client := provider.Payments{Client: provider.Client{URL: "https://provider.example", HTTP: &http.Client{Transport: w.Provider.(outside)}}}
	w.Wait(couponkit.DefaultCreateTime - time.Second)
	var due []couponkit.Due
	for d, err := range s.coupons.Due(ctx, couponkit.DueOptions{OrderID: "1"}) {
		require.NoError(t, err)
		due = append(due, d)
	}
	none, err := client.Void(ctx, "1")
	require.NoError(t, err)
	require.Empty(t, none.ID)
	_, err = client.Client.Create(ctx, "1", 24_90, "EUR")
	require.NoError(t, err)
	w.Wait(time.Minute)
	o, err := s.coupons.Record(ctx, due[0].Answer(none))
	require.NoError(t, err)
	require.Equal(t, redemption.OrderEnding, o.Order.State)

	s.pay = &client
	require.NoError(t, s.runDue(ctx, "1"))
	order, err := w.Store.Order(ctx, store.OrderKey{ID: "1"})
	require.NoError(t, err)
	require.Equal(t, redemption.OrderCancelled, order.Order.State)
	require.Equal(t, killtest.Voided, w.Provider.Payments()[0].State)
	s.Close()
}

var errUnreachable = errors.New("the provider cannot be reached")

type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) { return nil, errUnreachable }
