package stripemock_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v86"
	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

const key = "sk_test_stripemock"

var stub = sync.OnceValues(func() (http.Handler, error) {
	spec, err := server.LoadSpec(embedded.OpenAPISpec, "")
	if err != nil {
		return nil, err
	}
	fixtures, err := server.LoadFixtures(embedded.OpenAPIFixtures, "")
	if err != nil {
		return nil, err
	}
	const strict, verbose = true, false
	stub, err := server.NewStubServer(fixtures, spec, strict, verbose)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(stub.HandleRequest), nil
})

// verdict is what stripe-mock said to a request.
type verdict struct {
	method, path string
	status       int
	body         string
}

// checker is stripe-mock, with a record of what it refuses.
type checker struct {
	http.Handler

	mu      sync.Mutex
	refused []verdict
}

func (c *checker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := httptest.NewRecorder()
	c.Handler.ServeHTTP(seen, r)
	if seen.Code >= http.StatusBadRequest {
		c.mu.Lock()
		c.refused = append(c.refused, verdict{r.Method, r.URL.Path, seen.Code, seen.Body.String()})
		c.mu.Unlock()
	}
	maps.Copy(w.Header(), seen.Header())
	w.WriteHeader(seen.Code)
	_, _ = w.Write(seen.Body.Bytes())
}

// world is the adapter on a stateful account behind stripe-mock.
type world struct {
	*testing.T
	account   *stripefake.Account
	processor *stripeprocessor.Processor
	checker   *checker
	now       time.Time
}

func newWorld(t *testing.T, change ...func(*stripeprocessor.Options)) *world {
	t.Helper()
	handler, err := stub()
	require.NoError(t, err)
	w := &world{T: t, checker: &checker{Handler: handler}, now: time.Now().Truncate(time.Second)}
	clock := func() time.Time { return w.now }
	w.account = stripefake.New(stripefake.Options{Key: key, Now: clock, Validator: w.checker})
	listener := httptest.NewServer(w.account)
	t.Cleanup(listener.Close)
	options := stripeprocessor.Options{
		BaseURL: listener.URL, HTTPClient: listener.Client(), Clock: clock, RequestsPerSecond: -1,
		Retry: stripeprocessor.Retry{BaseDelay: time.Microsecond},
	}
	for _, f := range change {
		f(&options)
	}
	w.processor, err = stripeprocessor.New(key, options)
	require.NoError(t, err)
	return w
}

func (w *world) nothingRefused() {
	w.Helper()
	for _, v := range w.checker.refused {
		w.Errorf("stripe-mock refuses %s %s with %d: %s", v.method, v.path, v.status, v.body)
	}
}

// TestVersionsPair: stripe-go speaks the version that stripe-mock describes.
func TestVersionsPair(t *testing.T) {
	t.Parallel()
	handler, err := stub()
	require.NoError(t, err)
	for version, want := range map[string]int{stripe.APIVersion: http.StatusOK, "2020-08-27": http.StatusBadRequest} {
		status, body := ask(t, handler, version, http.MethodGet, "/v1/coupons/abc", "")
		if status != want {
			t.Errorf("version %s: status %d: %s", version, status, body)
		}
	}
}

func ask(t *testing.T, handler http.Handler, version, method, path, form string) (status int, body string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(form))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Stripe-Version", version)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	seen := httptest.NewRecorder()
	handler.ServeHTTP(seen, r)
	text, err := io.ReadAll(seen.Body)
	require.NoError(t, err)
	return seen.Code, string(text)
}

// TestTheCheckIsReal: what the adapter must not send is refused.
func TestTheCheckIsReal(t *testing.T) {
	t.Parallel()
	handler, err := stub()
	require.NoError(t, err)
	for name, request := range map[string]struct{ path, form string }{
		"the old coupon parameter":   {"/v1/promotion_codes", "coupon=abc&code=TEN"},
		"no promotion":               {"/v1/promotion_codes", "code=TEN"},
		"an unknown parameter":       {"/v1/coupons", "percent_off=10&colour=red"},
		"half a cent":                {"/v1/coupons", "amount_off=10.5&currency=eur"},
		"a frozen field":             {"/v1/coupons/abc", "max_redemptions=3"},
		"an unknown mode":            {"/v1/checkout/sessions", "mode=gift"},
		"an edit of the code's text": {"/v1/promotion_codes/promo_1", "code=OTHER"},
	} {
		if _, err := url.ParseQuery(request.form); err != nil {
			t.Fatal(err)
		}
		if status, body := ask(t, handler, stripe.APIVersion, http.MethodPost, request.path, request.form); status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", name, status, body)
		}
	}
}

// TestEveryCall: every operation that the adapter has passes stripe-mock as it is
// sent.
func TestEveryCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *stripeprocessor.Options) {
		o.MirrorExpiry, o.AutomaticTax, o.TaxBehavior = true, true, "exclusive"
	})
	w.mirrorCalls()
	w.sessionCalls()
	w.nothingRefused()

	seen := map[string]bool{}
	for _, c := range w.account.Calls() {
		seen[c.Op] = true
	}
	var got []string
	for op := range seen {
		got = append(got, op)
	}
	slices.Sort(got)
	want := []string{
		"coupons.create", "coupons.delete", "coupons.list", "coupons.retrieve", "coupons.update",
		"promotion_codes.create", "promotion_codes.list", "promotion_codes.retrieve", "promotion_codes.update",
		"sessions.create", "sessions.expire", "sessions.list", "sessions.retrieve",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations that were called (-want +got):\n%s", diff)
	}
}

func (w *world) mirrorCalls() {
	w.Helper()
	amount, percent := w.coupon("amount", pricing.FixedAmount, "19.99"), w.coupon("percent", pricing.Percentage, "12.5")
	amount.Limits.MaxUses, amount.ExpiresAt = 5, w.now.Add(time.Hour)
	percent.Name = strings.Repeat("A long name ", 10)
	for _, c := range []coupon.Coupon{amount, percent} {
		for _, change := range []func(*coupon.Coupon){
			func(*coupon.Coupon) {},
			func(c *coupon.Coupon) { c.Name = "Renamed" },
			func(c *coupon.Coupon) { c.State = coupon.Inactive },
			func(c *coupon.Coupon) { c.State = coupon.Active },
			func(c *coupon.Coupon) { c.Limits.MaxUses = 9 },
		} {
			change(&c)
			var err error
			c.Mirror, err = w.processor.UpdateMirror(w.Context(), c)
			require.NoError(w, err)
			c.Revision++
		}
		status, err := w.processor.VerifyMirror(w.Context(), c)
		require.NoError(w, err)
		require.Equal(w, processor.MirrorValid, status)
		again := c
		again.Mirror = coupon.Mirror{} // reads what has the derived IDs of lost calls
		_, err = w.processor.EnsureMirror(w.Context(), again)
		require.NoError(w, err)
	}
	for ref, err := range w.processor.Mirrors(w.Context()) {
		require.NoError(w, err)
		require.NoError(w, w.processor.RemoveMirror(w.Context(), coupon.Coupon{ID: ref.CouponID, Mirror: ref.Mirror}))
	}
}

func (w *world) coupon(id string, kind pricing.DiscountType, value string) coupon.Coupon {
	w.Helper()
	d := coupon.Draft{Code: "CODE-" + id, Name: "Sale", DiscountType: kind, Percent: value}
	if kind == pricing.FixedAmount {
		d.Percent, d.Amount = "", coupon.Amounts{"": value}
	}
	c, err := coupon.New(d, coupon.Creation{ID: coupon.IDPrefix + id, At: w.now})
	require.NoError(w, err)
	return c
}

func (w *world) sessionCalls() {
	w.Helper()
	payment := w.request(processor.Payment)
	subscription := w.request(processor.Subscription)
	subscription.Lines[0].Recurs, subscription.FirstPeriodDiscount = pricing.Monthly, 500
	subscription.Lines[0].Kind, subscription.Total = pricing.Plan, subscription.Total-500
	for _, r := range []processor.SessionRequest{payment, subscription} {
		s, err := w.processor.CreateSession(w.Context(), r)
		require.NoError(w, err)
		_, err = w.processor.ExpireSession(w.Context(), s.ID)
		require.NoError(w, err)
		r.Key, r.ExpiresAt = "another", time.Time{} // is looked for in the list first
		s, err = w.processor.CreateSession(w.Context(), r)
		require.NoError(w, err)
		require.NoError(w, w.account.PayLater(s.ID))
		_, err = w.processor.Session(w.Context(), s.ID) // reads the payment too
		require.NoError(w, err)
		require.NoError(w, w.processor.EndSession(w.Context(), s.ID))
		r.Key, r.OrderedAt, r.ExpiresAt = "late", w.now.Add(-time.Hour), w.now // is looked for between two instants
		_, err = w.processor.CreateSession(w.Context(), r)
		require.ErrorIs(w, err, stripeprocessor.ErrInvalid)
		require.ErrorContains(w, err, "expiresAt")
	}
}

func (w *world) request(mode processor.Mode) processor.SessionRequest {
	snapshot := w.coupon("a", pricing.FixedAmount, "5").Snapshot()
	return processor.SessionRequest{
		Key: mode.String(), OrderID: "ord_1", Mode: mode, Currency: pricing.EUR(), Total: 3*833 + 1 + 490, Coupons: []coupon.Snapshot{snapshot},
		Lines: []processor.SessionLine{
			{LineID: "1", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 1, UnitAmount: 834},
			{LineID: "2", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 2, UnitAmount: 833},
			{LineID: "S", Kind: pricing.Shipping, ItemID: "dhl", Name: "Shipping", Quantity: 1, UnitAmount: 490},
		},
		CustomerEmail: "ann@example.org", SuccessURL: "https://shop.example/thanks", CancelURL: "https://shop.example/cart",
		ExpiresAt: w.now.Add(time.Hour), Metadata: map[string]string{"couponCode": "TEN", "discountAmount": "500"},
	}
}
