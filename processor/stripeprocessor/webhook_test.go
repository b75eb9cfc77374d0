package stripeprocessor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v86"
	"github.com/stripe/stripe-go/v86/webhook"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// event is a payload of Stripe's shape, changed as a test likes.
func (w *world) event(change ...func(map[string]any)) []byte {
	w.Helper()
	body := map[string]any{
		"id": "evt_1", "object": "event", "type": "checkout.session.completed", "api_version": stripe.APIVersion,
		"created": w.clock.Now().Unix(), "livemode": false,
		"data": map[string]any{"object": map[string]any{
			"id": "cs_1", "object": "checkout.session", "mode": "payment", "status": "complete", "payment_status": "paid",
			"currency": "eur", "amount_total": 2490, "payment_intent": nil, "metadata": map[string]string{"orderId": "ord_1"},
		}},
	}
	for _, f := range change {
		f(body)
	}
	payload, err := json.Marshal(body)
	require.NoError(w, err)
	return payload
}

func sessionOf(body map[string]any) map[string]any {
	data, _ := body["data"].(map[string]any)
	session, _ := data["object"].(map[string]any)
	return session
}

// signed is the header that stripe-go's own generator makes.
func signed(payload []byte, secret string, at time.Time) string {
	return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: payload, Secret: secret, Timestamp: at}).Header
}

// post sends a delivery over HTTP and returns status and body of the answer.
func (w *world) post(address string, payload []byte, header string) (status int, body string) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, address, bytes.NewReader(payload))
	require.NoError(w, err)
	if header != "" {
		request.Header.Set(stripeprocessor.SignatureHeader, header)
	}
	response, err := w.server.Client().Do(request)
	require.NoError(w, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(w, err)
	return response.StatusCode, string(text)
}

// TestSignatures over HTTP: raw bytes, several secrets, five minutes both ways, and an
// answer that tells nothing.
func TestSignatures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) {
		o.WebhookSecrets = []string{"whsec_new", "whsec_old"}
	})
	payload, now := w.event(), w.clock.Now()
	good := signed(payload, "whsec_new", now)
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, payload, "", " "))
	tests := map[string]struct {
		payload []byte
		header  string
		status  int
	}{
		"new secret":            {payload, good, http.StatusOK},
		"old secret":            {payload, signed(payload, "whsec_old", now), http.StatusOK},
		"other secret":          {payload, signed(payload, "whsec_other", now), http.StatusBadRequest},
		"empty secret":          {payload, signed(payload, "", now), http.StatusBadRequest},
		"two signatures":        {payload, good + ",v1=00ff", http.StatusOK},
		"second is right":       {payload, strings.Replace(good, ",v1=", ",v1=00ff,v1=", 1), http.StatusOK},
		"only v0":               {payload, strings.Replace(good, "v1=", "v0=", 1), http.StatusBadRequest},
		"sixteenth is right":    {payload, strings.Replace(good, ",v1=", strings.Repeat(",v1=00ff", 15)+",v1=", 1), http.StatusOK},
		"seventeenth is right":  {payload, strings.Replace(good, ",v1=", strings.Repeat(",v1=00ff", 16)+",v1=", 1), http.StatusBadRequest},
		"endless header":        {payload, good + strings.Repeat(",v0=00ff", 600), http.StatusBadRequest},
		"no header":             {payload, "", http.StatusBadRequest},
		"nonsense":              {payload, "t,v1", http.StatusBadRequest},
		"no time":               {payload, good[strings.Index(good, "v1="):], http.StatusBadRequest},
		"two times":             {payload, "t=1," + good, http.StatusBadRequest},
		"299 s old":             {payload, signed(payload, "whsec_new", now.Add(-299*time.Second)), http.StatusOK},
		"301 s old":             {payload, signed(payload, "whsec_new", now.Add(-301*time.Second)), http.StatusBadRequest},
		"299 s ahead":           {payload, signed(payload, "whsec_new", now.Add(299*time.Second)), http.StatusOK},
		"301 s ahead":           {payload, signed(payload, "whsec_new", now.Add(301*time.Second)), http.StatusBadRequest},
		"a day ahead":           {payload, signed(payload, "whsec_new", now.Add(24*time.Hour)), http.StatusBadRequest},
		"one byte changed":      {bytes.Replace(payload, []byte("2490"), []byte("2491"), 1), good, http.StatusBadRequest},
		"indented":              {indented.Bytes(), good, http.StatusBadRequest},
		"signed, but no JSON":   {[]byte("{"), signed([]byte("{"), "whsec_new", now), http.StatusBadRequest},
		"signed, wrong session": {w.event(withoutSession), signed(w.event(withoutSession), "whsec_new", now), http.StatusBadRequest},
	}
	var handled atomic.Int64
	address := w.webhook(func(context.Context, processor.Event) error { handled.Add(1); return nil })
	accepted := int64(0)
	for name, test := range tests {
		before := handled.Load()
		status, body := w.post(address, test.payload, test.header)
		if status != test.status {
			t.Errorf("%s: status %d, want %d", name, status, test.status)
		}
		if status == http.StatusOK {
			accepted++
		} else if handled.Load() != before {
			t.Errorf("%s: the event was handled", name)
		}
		if body != "" && strings.TrimSpace(body) != http.StatusText(status) {
			t.Errorf("%s: the answer tells %q", name, body)
		}
	}
	if handled.Load() != accepted {
		t.Errorf("%d events were handled, %d accepted", handled.Load(), accepted)
	}
	_, err := w.processor.ParseEvent(payload, "t=1,v1=00")
	require.ErrorIs(t, err, processor.ErrSignature)
	_, err = newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) { o.WebhookSecrets = nil }).processor.ParseEvent(payload, good)
	require.ErrorIs(t, err, processor.ErrSignature, "without a secret nothing is accepted")
}

func withoutSession(body map[string]any) { body["data"] = map[string]any{"object": map[string]any{}} }

// TestHandlerBounds: method, size, and what a failing store answers.
func TestHandlerBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var failure atomic.Pointer[error]
	address := w.webhook(func(ctx context.Context, _ processor.Event) error {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 5*time.Second {
			t.Error("the context does not end within five seconds")
		}
		if err := failure.Load(); err != nil {
			return *err
		}
		return nil
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	response, err := w.server.Client().Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)

	huge := bytes.Repeat([]byte{' '}, 1<<20+1)
	status, _ := w.post(address, huge, signed(huge, testSecret, w.clock.Now()))
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	padded := append(w.event(), bytes.Repeat([]byte{' '}, 1<<20-len(w.event()))...)
	status, _ = w.post(address, padded, signed(padded, testSecret, w.clock.Now()))
	require.Equal(t, http.StatusOK, status, "exactly one MiB")

	down := errors.New("store is down")
	failure.Store(&down)
	payload := w.event()
	status, body := w.post(address, payload, signed(payload, testSecret, w.clock.Now()))
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NotContains(t, body, "store")
	failure.Store(nil)
	status, _ = w.post(address, payload, signed(payload, testSecret, w.clock.Now()))
	require.Equal(t, http.StatusOK, status)
}

// TestOrigin: release train, environment and account.
func TestOrigin(t *testing.T) {
	t.Parallel()
	set := func(key string, value any) func(map[string]any) {
		return func(body map[string]any) { body[key] = value }
	}
	trainOf := strings.Split(stripe.APIVersion, ".")[1]
	tests := map[string]struct {
		options func(*stripeprocessor.Options)
		change  func(map[string]any)
		ok      bool
		names   []string
	}{
		"same version":     {nil, set("api_version", stripe.APIVersion), true, nil},
		"same train":       {nil, set("api_version", "2030-01-01."+trainOf), true, nil},
		"other train":      {nil, set("api_version", "2025-03-31.basil"), false, []string{"2025-03-31.basil", stripe.APIVersion}},
		"before trains":    {nil, set("api_version", "2024-06-20"), false, []string{"2024-06-20", stripe.APIVersion}},
		"any version":      {func(o *stripeprocessor.Options) { o.AnyAPIVersion = true }, set("api_version", "2024-06-20"), true, nil},
		"live event":       {nil, set("livemode", true), false, []string{"livemode"}},
		"live expected":    {func(o *stripeprocessor.Options) { o.Environment = stripeprocessor.Live }, set("livemode", false), false, []string{"livemode"}},
		"live and live":    {func(o *stripeprocessor.Options) { o.Environment = stripeprocessor.Live }, set("livemode", true), true, nil},
		"other account":    {nil, set("account", "acct_2"), false, []string{"acct_2"}},
		"account":          {func(o *stripeprocessor.Options) { o.Account = "acct_2" }, set("account", "acct_2"), true, nil},
		"account expected": {func(o *stripeprocessor.Options) { o.Account = "acct_2" }, set("created", 1), false, []string{"acct_2"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) {
				if test.options != nil {
					test.options(o)
				}
			})
			payload := w.event(test.change)
			_, err := w.processor.ParseEvent(payload, signed(payload, testSecret, w.clock.Now()))
			if test.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, stripeprocessor.ErrWrongOrigin)
			require.ErrorIs(t, err, processor.ErrRejected)
			for _, n := range test.names {
				require.ErrorContains(t, err, n)
			}
			status, _ := w.post(w.webhook(nil), payload, signed(payload, testSecret, w.clock.Now()))
			require.Equal(t, http.StatusBadRequest, status)
		})
	}
}

// TestEventMapping is total: every type of Stripe's that stripe-go knows, and those
// that it does not.
func TestEventMapping(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mapped := map[string]processor.EventType{
		"checkout.session.completed":               processor.Completed,
		"checkout.session.async_payment_succeeded": processor.PaymentSucceeded,
		"checkout.session.async_payment_failed":    processor.PaymentFailed,
		"checkout.session.expired":                 processor.Expired,
	}
	for _, name := range []string{
		"checkout.session.completed", "checkout.session.async_payment_succeeded", "checkout.session.async_payment_failed",
		"checkout.session.expired", "coupon.created", "coupon.updated", "coupon.deleted", "promotion_code.created",
		"promotion_code.updated", "invoice.paid", "payment_intent.succeeded", "charge.refunded", "something.new", "",
	} {
		for _, payment := range []string{"paid", "unpaid", "no_payment_required", ""} {
			payload := w.event(func(body map[string]any) {
				body["type"] = name
				sessionOf(body)["payment_status"] = payment
			})
			e, err := w.processor.ParseEvent(payload, signed(payload, testSecret, w.clock.Now()))
			require.NoError(t, err, name)
			want := processor.Event{ID: "evt_1", CreatedAt: w.clock.Now()}
			if kind, ok := mapped[name]; ok {
				want.Type, want.SessionID, want.Currency, want.Total = kind, "cs_1", currencyOf(t, "EUR"), 2490
				want.Metadata = map[string]string{"orderId": "ord_1"}
				want.PaymentStatus = map[string]processor.PaymentStatus{
					"paid": processor.Paid, "no_payment_required": processor.NoPaymentRequired,
				}[payment]
				if want.PaymentStatus == 0 {
					want.PaymentStatus = processor.Unpaid
				}
			}
			if diff := cmp.Diff(want, e); diff != "" {
				t.Errorf("%q, %q (-want +got):\n%s", name, payment, diff)
			}
		}
	}
}

// TestEventsOfOthers: sessions that only save a card, amounts in currencies that are
// not ours, and notifications of the second API are no error.
func TestEventsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]struct {
		change func(map[string]any)
		want   processor.EventType
	}{
		"setup":      {func(b map[string]any) { sessionOf(b)["mode"] = "setup" }, processor.Ignored},
		"their app":  {func(b map[string]any) { marked(b, "staging") }, processor.Ignored},
		"our app":    {func(b map[string]any) { marked(b, "couponkit") }, processor.Completed},
		"currency":   {func(b map[string]any) { sessionOf(b)["currency"] = "xyz" }, processor.Completed},
		"second API": {func(b map[string]any) { b["object"], b["data"] = "v2.core.event", nil }, processor.Ignored},
	} {
		payload := w.event(test.change)
		e, err := w.processor.ParseEvent(payload, signed(payload, testSecret, w.clock.Now()))
		require.NoError(t, err, name)
		if e.Type != test.want || name == "currency" && (e.Total != 0 || !e.Currency.IsZero()) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// marked lets the session of an event be that of an application.
func marked(body map[string]any, app string) {
	sessionOf(body)["metadata"] = map[string]any{"couponkitApp": app, "orderId": "ord_1"}
}

// TestAmountsOfEvents are ours, not Stripe's.
func TestAmountsOfEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for currency, test := range map[string]struct{ amount, want int64 }{
		"isk": {50_000, 500}, "ugx": {100, 1}, "mga": {500, 50_000}, "jpy": {500, 500}, "kwd": {1230, 1230}, "eur": {1999, 1999},
	} {
		payload := w.event(func(b map[string]any) {
			sessionOf(b)["currency"], sessionOf(b)["amount_total"] = currency, test.amount
		})
		e, err := w.processor.ParseEvent(payload, signed(payload, testSecret, w.clock.Now()))
		require.NoError(t, err)
		if e.Total != test.want {
			t.Errorf("%d %s became %d, want %d", test.amount, currency, e.Total, test.want)
		}
	}
}

// TestHandlerRemovesSessionCoupons after the event was stored, and not before.
func TestHandlerRemovesSessionCoupons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := w.processor.CreateSession(t.Context(), w.subscription("key"))
	require.NoError(t, err)
	require.NoError(t, w.account.Pay(s.ID))
	var mu sync.Mutex
	stored := false
	address := w.webhook(func(context.Context, processor.Event) error {
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, w.account.Coupons(), 1)
		if !stored {
			stored = true
			return errors.New("not yet")
		}
		return nil
	})
	refused, err := w.account.Deliver(t.Context(), w.server.Client(), address)
	require.NoError(t, err)
	require.Equal(t, 1, refused)
	require.Len(t, w.account.Coupons(), 1)
	refused, err = w.account.Deliver(t.Context(), w.server.Client(), address)
	require.NoError(t, err)
	require.Zero(t, refused)
	require.Empty(t, w.account.Coupons())
}

func FuzzParseEvent(f *testing.F) {
	p, err := stripeprocessor.New(testKey, stripeprocessor.Options{
		WebhookSecrets: []string{testSecret}, Clock: newClock().Now,
	})
	require.NoError(f, err)
	f.Add([]byte(`{"id":"evt_1","object":"event","type":"checkout.session.completed","api_version":"` + stripe.APIVersion +
		`","data":{"object":{"id":"cs_1","currency":"eur","amount_total":1,"payment_status":"paid"}}}`))
	f.Add([]byte(`{"object":"event","type":"coupon.deleted","api_version":"` + stripe.APIVersion + `","data":{"object":{"id":"x"}}}`))
	f.Add([]byte(`{"object":"event","data":null}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"object":"event","data":{"object":7}}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		e, err := p.ParseEvent(payload, signed(payload, testSecret, newClock().Now()))
		if err != nil {
			if !errors.Is(err, processor.ErrRejected) {
				t.Fatalf("a signed delivery is refused with %v", err)
			}
			return
		}
		if (e.Type != processor.Ignored) != (e.SessionID != "") {
			t.Fatalf("event %+v", e)
		}
	})
}

func FuzzSignatureHeader(f *testing.F) {
	for _, seed := range []string{
		"t=1495999758,v1=00ff", "t=1,v1=00,v1=11,v0=22", "", "t=,v1=", "t=1", "v1=00", "t=99999999999999999999,v1=00", "t=-1,v1=00", ",,,",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		ours := stripeprocessor.ParseSignature(header)
		_, err := webhook.ConstructEventWithOptions([]byte("{}"), header, testSecret, webhook.ConstructEventOptions{IgnoreTolerance: true})
		// What we can read stripe-go can read too: it gets as far as the signature itself.
		if ours && (errors.Is(err, webhook.ErrInvalidHeader) || errors.Is(err, webhook.ErrNotSigned)) {
			t.Fatalf("%q is read here and not by stripe-go: %v", header, err)
		}
	})
}
