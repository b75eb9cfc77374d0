package stripeprocessor_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/store/memstore"
)

// TestAnAddressThatStripeDoesNotTake is left out, and the log says so. Repeated calls return the
// same session, also when no new session could be made any more. Nothing is left behind.
func TestAnAddressThatStripeDoesNotTake(t *testing.T) {
	t.Parallel()
	for _, email := range []string{"ann@localhost", "ann@b\u00fccher.example"} {
		for _, subscribed := range []bool{false, true} {
			t.Run(fmt.Sprint(email, " ", subscribed), func(t *testing.T) {
				t.Parallel()
				var log bytes.Buffer
				w := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) {
					o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				})
				r := w.request("key")
				if subscribed {
					r = w.subscription("key")
				}
				r.CustomerEmail, r.ExpiresAt = email, w.clock.Now().Add(time.Hour)
				made, err := w.processor.CreateSession(t.Context(), r)
				require.NoError(t, err)
				require.Contains(t, log.String(), "without it")
				require.NotContains(t, log.String(), email)
				require.Empty(t, w.account.Sessions()[0].CustomerEmail)
				for range 6 {
					again, err := w.processor.CreateSession(t.Context(), r)
					require.NoError(t, err)
					require.Equal(t, made.ID, again.ID)
				}
				w.clock.Advance(45 * time.Minute)
				late, err := w.processor.CreateSession(t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, made.ID, late.ID)
				require.Len(t, w.account.Sessions(), 1)
				require.LessOrEqual(t, len(w.account.Coupons()), 1, "coupons for the first period")
			})
		}
	}
}

// TestAMinimumThatOnlyStripeKnows is the rejection below_minimum_charge, whose minimum is unknown.
func TestAMinimumThatOnlyStripeKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *stripeprocessor.Options, s *stripefake.Options) {
		o.SettlementCurrency = currencyOf(t, "EUR")
		s.MinimumCharge = map[string]int64{"sek": 300, "php": 1000}
	})
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(w.processor), couponkit.WithClock(w.clock.Now))
	require.NoError(t, err)
	for code, price := range map[string]int64{"SEK": 200, "PHP": 500} {
		currency := currencyOf(t, code)
		_, err = service.Checkout(t.Context(), couponkit.CheckoutRequest{
			Customer: eligibility.Customer{ID: "ann"}, SuccessURL: "https://shop.example/thanks",
			Cart: pricing.Cart{Currency: currency, Lines: []pricing.Line{{ID: "A", Kind: pricing.Device, ItemID: "cable", Quantity: 1, UnitPrice: price}}},
		})
		require.ErrorIs(t, err, coupon.ErrBelowMinimumCharge, code)
		var refused *coupon.Rejection
		require.ErrorAs(t, err, &refused)
		require.Equal(t, coupon.Params{Total: coupon.Amount{Money: pricing.NewMoney(price, currency)}}, refused.Headline().Params)
	}
}
