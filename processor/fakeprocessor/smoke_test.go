package fakeprocessor_test

import (
	"context"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

func TestSmoke(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := fakeprocessor.New(fakeprocessor.Options{Now: func() time.Time { return now }})
	c, err := coupon.New(coupon.Draft{Code: "ten", Name: "Ten", DiscountType: pricing.FixedAmount, DiscountValue: decimal.NewFromInt(10)},
		coupon.Creation{ID: "cpn_1", At: now})
	require.NoError(t, err)
	c.Mirror, err = p.EnsureMirror(t.Context(), c)
	require.NoError(t, err)
	st, err := p.VerifyMirror(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, processor.MirrorValid, st)
	c.Limits.MaxUses = 5
	c.Revision = 2
	c.Mirror, err = p.UpdateMirror(t.Context(), c)
	require.NoError(t, err)
	t.Log(p.Coupons(), p.PromotionCodes(), p.Calls())
	s, err := p.CreateSession(t.Context(), processor.SessionRequest{
		Key: "k", Mode: processor.Payment, Currency: pricing.EUR(), Total: 500,
		Lines:     []processor.SessionLine{{LineID: "A", Kind: pricing.Device, Quantity: 1, UnitAmount: 500}},
		ExpiresAt: now.Add(time.Hour), Metadata: map[string]string{"orderId": "o"},
	})
	require.NoError(t, err)
	require.NoError(t, p.Pay(s.ID))
	var got []processor.Event
	require.NoError(t, p.Deliver(t.Context(), fakeprocessor.Serve(p.Handler(func(_ context.Context, e processor.Event) error {
		got = append(got, e)
		return nil
	}))))
	t.Log(got)
	require.Len(t, got, 1)
	require.NoError(t, p.RemoveMirror(t.Context(), c))
	require.Empty(t, p.Coupons())
}
