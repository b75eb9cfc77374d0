package stripeprocessor_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/validation"
)

const (
	testKey    = "sk_test_stripefake"
	liveKey    = "sk_live_stripefake"
	testSecret = "whsec_stripefake"
)

// clock is a clock that only tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)} }

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

// world is a processor and the account that it works on.
type world struct {
	*testing.T
	clock     *clock
	account   *stripefake.Account
	server    *httptest.Server
	processor *stripeprocessor.Processor
}

// newWorld makes a processor on an empty account. Its attempts follow each other
// without a pause that a test would notice.
func newWorld(t *testing.T, change ...func(*stripeprocessor.Options, *stripefake.Options)) *world {
	t.Helper()
	w := &world{T: t, clock: newClock()}
	fake := stripefake.Options{Key: testKey, Now: w.clock.Now, WebhookSecret: testSecret}
	options := stripeprocessor.Options{
		WebhookSecrets: []string{testSecret}, RequestsPerSecond: -1, Clock: w.clock.Now,
		Retry: stripeprocessor.Retry{BaseDelay: time.Microsecond, MaxDelay: time.Millisecond},
	}
	for _, f := range change {
		f(&options, &fake)
	}
	key := testKey
	if options.Environment == stripeprocessor.Live {
		key, fake.Key = liveKey, liveKey
	}
	w.account = stripefake.New(fake)
	w.server = httptest.NewServer(w.account)
	t.Cleanup(w.server.Close)
	options.BaseURL = w.server.URL
	options.HTTPClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}, Timeout: 20 * time.Second}
	t.Cleanup(options.HTTPClient.CloseIdleConnections)
	var err error
	w.processor, err = stripeprocessor.New(key, options)
	require.NoError(t, err)
	return w
}

// newCoupon makes a coupon of 10.00 EUR off.
func newCoupon(tb testing.TB, id, code string, change ...func(*coupon.Draft)) coupon.Coupon {
	tb.Helper()
	d := coupon.Draft{
		Code: code, Name: "Ten off", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"},
	}
	for _, f := range change {
		f(&d)
	}
	c, err := coupon.New(d, coupon.Creation{ID: coupon.IDPrefix + id, At: newClock().Now()})
	require.NoError(tb, err)
	return c
}

func percentage(value string) func(*coupon.Draft) {
	return func(d *coupon.Draft) {
		d.DiscountType, d.Percent, d.Amount = pricing.Percentage, value, nil
	}
}

// edited returns the coupon one revision on.
func edited(c coupon.Coupon, change func(*coupon.Coupon)) coupon.Coupon {
	change(&c)
	c.Revision++
	return c
}

func (w *world) mirrored(c coupon.Coupon) coupon.Coupon {
	w.Helper()
	m, err := w.processor.EnsureMirror(w.Context(), c)
	require.NoError(w, err)
	c.Mirror = m
	return c
}

// request is a session of 24.90 EUR: 3 x 10.00 less 10.00, and 4.90 shipping.
func (w *world) request(key string) processor.SessionRequest {
	w.Helper()
	snapshot := newCoupon(w, "a", "TEN").Snapshot()
	return processor.SessionRequest{
		Key: key, OrderID: "ord_1", Mode: processor.Payment, Currency: pricing.EUR(), Total: 2490, Coupons: []coupon.Snapshot{snapshot},
		Lines: []processor.SessionLine{
			{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 2, UnitAmount: 667},
			{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 1, UnitAmount: 666},
			{LineID: "S", Kind: pricing.Shipping, ItemID: "dhl", Name: "Shipping", Quantity: 1, UnitAmount: 490},
		},
		SuccessURL: "https://shop.example/thanks", CancelURL: "https://shop.example/cart",
		ExpiresAt: w.clock.Now().Add(time.Hour),
		Metadata: map[string]string{
			processor.MetadataCouponCode: "TEN", processor.MetadataCouponID: "cpn_a", processor.MetadataOrderID: "ord_1",
			processor.MetadataDiscountAmount: "1000",
		},
	}
}

// subscription is a session of a plan of 9.99 a month with 3.33 off the first, and a
// device of 50.00.
func (w *world) subscription(key string) processor.SessionRequest {
	w.Helper()
	r := w.request(key)
	r.Mode, r.FirstPeriodDiscount, r.Total = processor.Subscription, 333, 999+5000-333
	r.Lines = []processor.SessionLine{
		{LineID: "P", Kind: pricing.Plan, ItemID: "gold", Name: "Gold", Quantity: 1, UnitAmount: 999, Recurs: pricing.Monthly},
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 1, UnitAmount: 5000},
	}
	return r
}

func currencyOf(tb testing.TB, code string) pricing.Currency {
	tb.Helper()
	c, err := pricing.ParseCurrency(code)
	require.NoError(tb, err)
	return c
}

// count returns how often an operation was called.
func (w *world) count(op string) int {
	n := 0
	for _, call := range w.account.Calls() {
		if call.Op == op {
			n++
		}
	}
	return n
}

// requireField checks that an error is a *validation.Error that names a field.
func requireField(tb testing.TB, err error, field string) {
	tb.Helper()
	var faults *validation.Error
	require.ErrorAs(tb, err, &faults)
	for _, f := range faults.Fields {
		if f.Path == field && f.Code != "" && f.Message != "" {
			return
		}
	}
	tb.Errorf("no fault of %q in: %v", field, err)
}

// webhook starts an endpoint that hands events to a function, and returns its
// address.
func (w *world) webhook(handle func(context.Context, processor.Event) error) string {
	w.Helper()
	if handle == nil {
		handle = func(context.Context, processor.Event) error { return nil }
	}
	server := httptest.NewServer(w.processor.Handler(handle))
	w.Cleanup(server.Close)
	return server.URL
}

// anotherProcess makes a further process of the host on the account, which was perhaps set up
// otherwise.
func (w *world) anotherProcess(change ...func(*stripeprocessor.Options)) *stripeprocessor.Processor {
	w.Helper()
	options := stripeprocessor.Options{
		BaseURL: w.server.URL, Clock: w.clock.Now, RequestsPerSecond: -1, HTTPClient: w.server.Client(),
		Retry: stripeprocessor.Retry{BaseDelay: time.Microsecond, MaxDelay: time.Millisecond},
	}
	for _, f := range change {
		f(&options)
	}
	p, err := stripeprocessor.New(testKey, options)
	require.NoError(w, err)
	return p
}

// inclusive is set up otherwise, so that its parameters do not fit the keys of others.
func inclusive(o *stripeprocessor.Options) { o.TaxBehavior = "inclusive" }

// through sends the requests through a transport.
func through(next http.RoundTripper) func(*stripeprocessor.Options) {
	return func(o *stripeprocessor.Options) { o.HTTPClient = &http.Client{Transport: next} }
}

// newWorldOn makes another processor on the same account, with every permission: the
// process after a crash.
func newWorldOn(t *testing.T, w *world) *stripeprocessor.Processor {
	t.Helper()
	w.account.Allow()
	return w.anotherProcess()
}
