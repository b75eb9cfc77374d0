package couponkit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

// TestAClockThatNoStoreKeeps: a clock whose times cannot be stored is refused at once.
func TestAClockThatNoStoreKeeps(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{
		{},
		time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9_999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7_200)),
	} {
		_, err := couponkit.New(memstore.New(), couponkit.WithClock(func() time.Time { return at }))
		require.ErrorIs(t, err, validation.ErrInvalid, at.String())
		require.ErrorContains(t, err, "clock", at.String())
	}
}

// TestIDsThatAreNone: whichever ID is invalid, nothing is written, and no request is at fault.
func TestIDsThatAreNone(t *testing.T) {
	t.Parallel()
	var broken, made string
	w := newWorld(t, couponkit.WithIDs(func() func(string) string {
		n := 0
		return func(prefix string) string {
			if prefix == broken {
				return made
			}
			n++
			return fmt.Sprintf("%s%04d", prefix, n)
		}
	}()))
	w.create(t, tenOff())
	d := tenOff()
	d.Code, d.Distribution, d.PointsRequired = "POINTS", coupon.PointsRedeemable, 30
	w.create(t, d)
	fresh := tenOff()
	fresh.Code = "NEW"
	calls := map[string]func(context.Context) error{
		"Create": func(ctx context.Context) error {
			_, err := w.Create(ctx, fresh)
			return err
		},
		"Reserve": func(ctx context.Context) error {
			_, err := w.Reserve(ctx, couponkit.ReserveRequest{QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Codes: only("TEN"), Customer: bob}})
			return err
		},
		"Checkout": func(ctx context.Context) error {
			_, err := w.Checkout(ctx, w.request("TEN"))
			return err
		},
		"PaymentLink": func(ctx context.Context) error {
			_, err := w.PaymentLink(ctx, couponkit.PaymentLinkRequest{CheckoutRequest: w.request("TEN"), Mode: couponkit.SubscriptionLink})
			return err
		},
		"ExchangePoints": func(ctx context.Context) error {
			_, err := w.ExchangePoints(ctx, couponkit.ExchangeRequest{Coupon: "POINTS", Customer: ann})
			return err
		},
	}
	entries := func() int {
		all, err := w.store.Journal(t.Context(), 0, store.MaxJournalLimit)
		require.NoError(t, err)
		return len(all)
	}
	before := entries()
	for prefix, names := range map[string][]string{
		"cpn_": {"Create"}, "key_": {"Checkout", "PaymentLink", "ExchangePoints"}, "ord_": {"Checkout", "PaymentLink"},
		"use_": {"Checkout", "Reserve", "ExchangePoints"},
	} {
		for _, id := range []string{"", prefix, "other", prefix + strings.Repeat("x", coupon.MaxIDLength), prefix + "\x00", prefix + "\xff"} {
			broken, made = prefix, id
			for _, name := range names {
				err := calls[name](t.Context())
				require.ErrorContains(t, err, "WithIDs", "%s with the ID %q", name, id)
				require.NotErrorIs(t, err, validation.ErrInvalid, name)
			}
		}
	}
	require.Equal(t, before, entries())
	require.Empty(t, w.fake.Sessions())
	broken = ""
	require.NoError(t, calls["ExchangePoints"](t.Context()))
}
