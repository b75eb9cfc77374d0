package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/couponkit/couponkit/examples/service/internal/app"
)

// world is a running service with a clock of its own, on an SQLite file unless the
// configuration says otherwise.
type world struct {
	*app.Server
	clock *clock
}

// noon is a Friday.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newWorld(t *testing.T, adjust ...func(*app.Config)) *world {
	t.Helper()
	w := &world{clock: &clock{now: noon()}}
	config := app.Config{
		Store: filepath.Join(t.TempDir(), "couponkit.db"), Seed: true, Now: w.clock.Now,
		PasswordCost: bcrypt.MinCost, Deliver: 20 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	for _, change := range adjust {
		change(&config)
	}
	var err error
	w.Server, err = app.Start(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close(context.WithoutCancel(t.Context()))) })
	return w
}

// testLog shows what the service logs beside the test that caused it.
type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// browser is somebody who uses the service. It keeps the cookie and repeats the
// CSRF token, as the pages do.
type browser struct {
	t      *testing.T
	world  *world
	cookie string
	csrf   string
	// header is added to every request.
	header http.Header
	// loose does not hold the answers to the OpenAPI document.
	loose bool
}

func (w *world) browser(t *testing.T) *browser {
	t.Helper()
	return &browser{t: t, world: w, header: http.Header{}}
}

// as signs a demo user in by the part of the address before the @.
func (w *world) as(t *testing.T, name string) *browser {
	t.Helper()
	b := w.browser(t)
	b.signIn(name+"@example.org", name+"-demo-1")
	return b
}

func (b *browser) signIn(email, password string) {
	b.t.Helper()
	a := b.post("/login", map[string]any{"email": email, "password": password})
	a.is(http.StatusOK)
	b.csrf = a.text("csrfToken")
}

// answer is what came back.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
	of     string
}

func (b *browser) get(path string) answer { b.t.Helper(); return b.do("GET", path, nil) }

func (b *browser) post(path string, body any) answer { b.t.Helper(); return b.do("POST", path, body) }

func (b *browser) patch(path string, body any) answer { b.t.Helper(); return b.do("PATCH", path, body) }

func (b *browser) delete(path string) answer { b.t.Helper(); return b.do("DELETE", path, nil) }

// do sends a request. A string is sent as it is, anything else as JSON. Every answer
// is held to the OpenAPI document; so is every request that was accepted.
func (b *browser) do(method, path string, body any) answer {
	b.t.Helper()
	var sent []byte
	switch body := body.(type) {
	case nil:
	case string:
		sent = []byte(body)
	default:
		var err error
		sent, err = json.Marshal(body)
		require.NoError(b.t, err)
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.world.URL+path, bytes.NewReader(sent))
	require.NoError(b.t, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if b.cookie != "" {
		r.Header.Set("Cookie", b.cookie)
	}
	if b.csrf != "" {
		r.Header.Set("X-CSRF-Token", b.csrf)
	}
	maps.Copy(r.Header, b.header)
	response, err := direct.Do(r)
	require.NoError(b.t, err)
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	for _, c := range response.Cookies() {
		b.cookie = c.Name + "=" + c.Value
	}
	a := answer{t: b.t, status: response.StatusCode, header: response.Header, body: received, of: method + " " + path}
	if !b.loose {
		holdToDocument(b.t, r, sent, response, received)
	}
	return a
}

// direct does not follow redirects: where one leads is what a test looks at.
var direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// is requires a status.
func (a answer) is(status int) answer {
	a.t.Helper()
	require.Equalf(a.t, status, a.status, "%s: %s", a.of, a.body)
	return a
}

// refused requires a problem of a status and code.
func (a answer) refused(status int, code string) answer {
	a.t.Helper()
	a.is(status)
	require.Equal(a.t, "application/problem+json", a.header.Get("Content-Type"))
	require.Equalf(a.t, code, a.text("code"), "%s: %s", a.of, a.body)
	return a
}

// value finds a value by a path such as "quote.lines.0.total".
func (a answer) value(path string) any {
	a.t.Helper()
	var v any
	require.NoErrorf(a.t, json.Unmarshal(a.body, &v), "%s: %s", a.of, a.body)
	for step := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i := int(step[0] - '0')
			require.Lessf(a.t, i, len(at), "%s in %s", path, a.body)
			v = at[i]
		default:
			require.Failf(a.t, "no such value", "%s in %s", path, a.body)
		}
	}
	return v
}

func (a answer) text(path string) string {
	a.t.Helper()
	text, is := a.value(path).(string)
	require.Truef(a.t, is, "%s is no text in %s", path, a.body)
	return text
}

func (a answer) number(path string) int {
	a.t.Helper()
	n, is := a.value(path).(float64)
	require.Truef(a.t, is, "%s is no number in %s", path, a.body)
	return int(n)
}

func (a answer) list(path string) []any {
	a.t.Helper()
	list, is := a.value(path).([]any)
	require.Truef(a.t, is, "%s is no list in %s", path, a.body)
	return list
}

// fields returns the faulty fields of a problem with their codes.
func (a answer) fields() map[string]string {
	a.t.Helper()
	found := map[string]string{}
	for _, f := range a.list("errors") {
		entry := f.(map[string]any)
		found[entry["field"].(string)] = entry["code"].(string)
	}
	return found
}

// path is the address without the service.
func (w *world) path(address string) string { return strings.TrimPrefix(address, w.URL) }

// onPaymentPage presses a button of the payment page.
func (b *browser) onPaymentPage(address, action string) answer {
	b.t.Helper()
	form := url.Values{"action": {action}}.Encode()
	loose := *b
	loose.loose = true
	loose.header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	return loose.do("POST", b.world.path(address), form)
}

// eventually waits for something that the webhook brings about.
func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	require.Eventually(t, reached, time.Minute, 5*time.Millisecond, what)
}

// pays finishes a payment and waits for the webhook.
func (b *browser) pays(checkout answer) {
	b.t.Helper()
	b.onPaymentPage(checkout.text("url"), "pay").is(http.StatusSeeOther)
	b.reaches(checkout.text("orderId"), "paid")
}

// reaches waits for the state of an order.
func (b *browser) reaches(orderID, state string) {
	b.t.Helper()
	eventually(b.t, "the order is "+state, func() bool { return b.get("/order/"+orderID).text("state") == state })
}

// withKey is the browser with an Idempotency-Key on its next requests.
func (b *browser) withKey(key string) *browser {
	keyed := *b
	keyed.header = b.header.Clone()
	keyed.header.Set("Idempotency-Key", key)
	return &keyed
}

// object is a JSON object.
type object = map[string]any

// line is a line of a cart.
func line(kind, id string, quantity int) object {
	return object{"kind": kind, "itemId": id, "quantity": quantity}
}

// checkout buys a cart for what it is quoted.
func (b *browser) checkout(cart object) answer {
	b.t.Helper()
	quoted := b.post("/payment/quote", cart).is(http.StatusOK)
	return b.post("/payment/cart-checkout", with(cart, object{"expected": expected(quoted)}))
}

func expected(quoted answer) object {
	totals := object{}
	for _, field := range []string{"subtotal", "discount", "shipping", "total"} {
		totals[field] = quoted.text("quote." + field)
	}
	return totals
}

// with is an object with more members.
func with(o object, more object) object {
	merged := object{}
	maps.Copy(merged, o)
	maps.Copy(merged, more)
	return merged
}

// creates makes a coupon and returns it.
func (b *browser) creates(draft object) answer {
	b.t.Helper()
	return b.post("/admin/coupon", with(object{"name": "Test", "discountType": "PERCENTAGE", "discountValue": "10"}, draft)).is(http.StatusCreated)
}
