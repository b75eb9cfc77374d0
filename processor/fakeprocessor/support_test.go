package fakeprocessor_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// noon is when the clocks of these tests start.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newFake(t *testing.T, options fakeprocessor.Options) (*fakeprocessor.Processor, *clock) {
	t.Helper()
	c := &clock{now: noon()}
	options.Now = c.Now
	return fakeprocessor.New(options), c
}

func newCoupon(t *testing.T, id, code string) coupon.Coupon {
	t.Helper()
	c, err := coupon.New(coupon.Draft{
		Code: code, Name: "Test " + code, DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"},
	}, coupon.Creation{ID: coupon.IDPrefix + id, At: noon()})
	require.NoError(t, err)
	return c
}

func mirrored(t *testing.T, p *fakeprocessor.Processor, c coupon.Coupon) coupon.Coupon {
	t.Helper()
	m, err := p.EnsureMirror(t.Context(), c)
	require.NoError(t, err)
	c.Mirror = m
	return c
}

// request is a session of 24.90 EUR that lives an hour.
func request(key string) processor.SessionRequest {
	return processor.SessionRequest{
		Key: key, OrderID: "order-1", Mode: processor.Payment, Currency: pricing.EUR(),
		Lines: []processor.SessionLine{
			{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 2, UnitAmount: 1000},
			{LineID: "S", Kind: pricing.Shipping, ItemID: "dhl", Name: "Shipping", Quantity: 1, UnitAmount: 490},
		},
		Total: 2490, ExpiresAt: noon().Add(time.Hour),
		Metadata: map[string]string{processor.MetadataOrderID: "order-1"},
	}
}

func created(t *testing.T, p *fakeprocessor.Processor, r processor.SessionRequest) processor.Session {
	t.Helper()
	s, err := p.CreateSession(t.Context(), r)
	require.NoError(t, err)
	return s
}

func currency(t *testing.T, code string) pricing.Currency {
	t.Helper()
	c, err := pricing.ParseCurrency(code)
	require.NoError(t, err)
	return c
}

// wantError checks that an error matches a sentinel.
func wantError(t *testing.T, err, want error) {
	t.Helper()
	require.ErrorIs(t, err, want)
}
