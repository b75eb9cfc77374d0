package api_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/ratelimit"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// hostile is the whole HTTP interface, without a network, with what a fuzzer needs
// to attack it.
type hostile struct {
	handler  http.Handler
	coupons  *memstore.Store
	db       *sql.DB
	sessions map[string][2]string // cookie and CSRF token by name
	logged   *lockedBuffer
	changed  bool
}

const webhookSecret = "whsec_fuzz"

func fuzzNoon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// take returns what was written since the last time.
func (b *lockedBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.text.String()
	b.text.Reset()
	return text
}

func newHostile() (*hostile, error) {
	ctx := context.Background() // it outlives one input
	h := &hostile{coupons: memstore.New(), sessions: map[string][2]string{}, logged: &lockedBuffer{}}
	var err error
	if h.db, err = sql.Open("sqlite", ":memory:"); err != nil {
		return nil, err
	}
	h.db.SetMaxOpenConns(1)
	s, err := shop.Open(ctx, h.db, shop.Options{Now: fuzzNoon, PasswordCost: 4})
	if err != nil {
		return nil, err
	}
	if err := s.Seed(ctx, shop.DemoUsers(), shop.DemoItems()); err != nil {
		return nil, err
	}
	logger := slog.New(slog.NewTextHandler(h.logged, nil))
	payments := fakeprocessor.New(fakeprocessor.Options{Now: fuzzNoon, Secret: webhookSecret})
	service, err := couponkit.New(h.coupons, couponkit.WithProcessor(payments), couponkit.WithUsers(s), couponkit.WithPoints(s),
		couponkit.WithClock(fuzzNoon), couponkit.WithLogger(logger), couponkit.WithIDs(counting()))
	if err != nil {
		return nil, err
	}
	if err := stock(ctx, service); err != nil {
		return nil, err
	}
	catalog, err := s.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	free := ratelimit.Limit{Attempts: 1_000_000, Window: time.Second}
	limiter, err := ratelimit.NewMemory(api.Limits{
		AttemptsPerUser: free, AttemptsPerAddress: free, LoginsPerUser: free, LoginsPerAddress: free,
		CheckoutsPerUser: free, CheckoutsPerAddress: free,
	}.Named(), ratelimit.MemoryOptions{Now: fuzzNoon})
	if err != nil {
		return nil, err
	}
	calls, err := api.New(api.Options{
		Service: service, Shop: s, Catalog: catalog, Webhook: payments.Handler, BaseURL: "http://shop.example",
		Logger: logger, Now: fuzzNoon, Limiter: limiter,
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	calls.Register(mux)
	h.handler = calls.Wrap(mux)
	for _, name := range []string{"ann", "admin"} {
		user, err := s.UserByID(ctx, "usr_"+name)
		if err != nil {
			return nil, err
		}
		token, session, err := s.SignIn(ctx, user)
		if err != nil {
			return nil, err
		}
		h.sessions[name] = [2]string{token, session.CSRFToken}
	}
	return h, nil
}

// counting makes IDs that an input can name: cpn_1, ord_1 and so on.
func counting() func(string) string {
	made := map[string]int{}
	return func(prefix string) string {
		made[prefix]++
		return fmt.Sprint(prefix, made[prefix])
	}
}

// stock makes what there is before an attack: a coupon for everybody, one for points,
// and one for Ben alone.
func stock(ctx context.Context, service *couponkit.Service) error {
	for _, text := range []string{
		`{"code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10"}`,
		`{"code":"POINTS","name":"Points","discountType":"PERCENTAGE","discountValue":"5","distribution":"POINTS_REDEEMABLE","pointsRequired":100}`,
		`{"code":"BEN","name":"Ben's","discountType":"PERCENTAGE","discountValue":"5","distribution":"USER_SPECIFIC","allowedUserEmails":["ben@example.org"]}`,
	} {
		var draft coupon.Draft
		if err := json.Unmarshal([]byte(text), &draft); err != nil {
			return err
		}
		if _, err := service.Create(ctx, draft); err != nil {
			return err
		}
	}
	return nil
}

// callers are who may ask.
var callers = []string{"nobody", "ann", "admin"}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete, http.MethodPut, http.MethodHead}

// FuzzHTTP sends any request as anybody. The interface never fails and never panics;
// what it answers is a document of the promised form and of bounded length; nobody
// gets or changes what belongs to others; a refused request changes nothing; and no secret
// and no address of a customer is logged.
func FuzzHTTP(f *testing.F) {
	for _, seed := range []struct {
		who, method byte
		target      string
		body        string
		key         string
	}{
		{0, 0, "/session", "", ""},
		{0, 1, "/login", `{"email":"ann@example.org","password":"ann-demo-1"}`, ""},
		{0, 1, "/login", `{"email":"a\u0000@example.org","password":"\u0000"}`, ""},
		{2, 0, "/admin/coupon/all?page=1&pageSize=20&search=%25_%5C'%22&sort=code&order=asc", "", ""},
		{2, 1, "/admin/coupon", `{"code":"TEN","name":"<b>Ten</b>","discountType":"FIXED_AMOUNT","discountValue":"10"}`, ""},
		{2, 1, "/admin/coupon", `{"code":"U","name":"U","discountType":"PERCENTAGE","discountValue":1e-4,"distribution":"USER_SPECIFIC","allowedUserEmails":"ann@example.org,ben@example.org"}`, ""},
		{2, 1, "/admin/coupon/preview?units=3", `{"discountType":"TIERED","tierBasis":"QUANTITY","tiers":[{"from":"2","percent":"5"}],"schedule":{"timeZone":"UTC","hours":[]}}`, ""},
		{2, 2, "/admin/coupon/cpn_1", `{"revision":1,"name":null,"maxUses":1}`, ""},
		{2, 2, "/admin/coupon/cpn_1/status", `{"active":false}`, ""},
		{2, 3, "/admin/coupon/cpn_1", "", ""},
		{2, 0, "/admin/coupon/cpn_1/redemptions?after=AAAAAAAAAAA&pageSize=1", "", ""},
		{2, 0, "/admin/coupon/cpn_1/usage?days=30", "", ""},
		{2, 0, "/admin/catalog/search?kind=device&search=phone", "", ""},
		{1, 0, "/payment/apply-coupon/%00%ff..%2f", "", ""},
		{1, 1, "/payment/quote", `{"lines":[{"kind":"device","itemId":"case","quantity":9999}],"shippingOptionId":"standard","couponCode":"TEN"}`, ""},
		{1, 1, "/payment/cart-checkout", `{"lines":[{"kind":"accessory","itemId":"case","quantity":1}],"shippingOptionId":"pickup","expected":{"subtotal":"24.90","discount":"0","shipping":"0","total":"24.90"}}`, "k1"},
		{0, 1, "/payment/quote", `{"lines":[{"kind":"accessory","itemId":"case","quantity":1}],"codes":["TEN","BEN"],"email":"ben@example.org"}`, ""},
		{1, 1, "/payment/payment-link", `{"mode":"product","amount":"12.50","currency":"EUR"}`, ""},
		{1, 1, "/payment/payment-link", `{"mode":"subscription","lines":[{"kind":"plan","itemId":"basic","quantity":1}]}`, "a\x7f"},
		{0, 1, "/payment/webhook", `{"id":"evt_1","type":"checkout.session.completed","createdAt":"2026-11-20T12:00:00Z","session":{"id":"cs_1"}}`, ""},
		{1, 1, "/points/redeem/TEN", "", ""},
		{1, 3, "/points/reservation/rdm_1", "", ""},
		{1, 0, "/order/ord_1?x=1", "", ""},
		{1, 0, "/payment/return?key=k1", "", ""},
		{0, 0, "/docs", "", ""},
		{0, 0, "//evil.example/%2e%2e", "", ""},
	} {
		f.Add(seed.who, seed.method, seed.target, []byte(seed.body), seed.key, seed.target == "/payment/webhook")
	}
	var h *hostile
	f.Cleanup(func() {
		if h != nil {
			_ = h.db.Close()
		}
	})
	f.Fuzz(func(t *testing.T, who, method byte, target string, body []byte, key string, sign bool) {
		if h == nil || h.changed { // every input meets the same world
			if h != nil {
				_ = h.db.Close()
			}
			var err error
			if h, err = newHostile(); err != nil {
				t.Fatal(err)
			}
		}
		h.attack(t, callers[int(who)%len(callers)], methods[int(method)%len(methods)], target, body, key, sign)
	})
}

func (h *hostile) attack(t *testing.T, who, method, target string, body []byte, key string, sign bool) {
	t.Helper()
	address, err := url.ParseRequestURI(target)
	if err != nil || !strings.HasPrefix(target, "/") {
		return
	}
	r := httptest.NewRequestWithContext(t.Context(), method, "/", bytes.NewReader(body))
	r.URL, r.RequestURI = address, target
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header["Idempotency-Key"] = []string{key}
	}
	if sign {
		r.Header.Set(fakeprocessor.SignatureHeader, fakeprocessor.Sign(webhookSecret, fuzzNoon(), body))
	}
	if s, known := h.sessions[who]; known {
		r.AddCookie(&http.Cookie{Name: api.SessionCookie, Value: s[0]})
		r.Header.Set(api.CSRFHeader, s[1])
	}
	before := h.count(t)
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	h.changed = w.Code < http.StatusBadRequest && method != http.MethodGet && method != http.MethodHead
	what := fmt.Sprintf("%s as %s", method, who)
	checkForm(t, what, w)
	h.checkRights(t, what, who, address.Path, w, before)
	h.checkSecrets(t, what, who, target+string(body)+key, w.Body.String())
}

func (h *hostile) count(t *testing.T) int64 {
	t.Helper()
	page, err := h.coupons.ListCoupons(t.Context(), store.CouponList{PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	return page.Total
}

// checkForm: RFC 9457 for refusals, JSON for data, and nothing that fails.
func checkForm(t *testing.T, what string, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code >= http.StatusInternalServerError || w.Code < http.StatusOK {
		t.Fatalf("%s: status %d: %s", what, w.Code, w.Body)
	}
	const most = 1 << 20
	if w.Body.Len() > most {
		t.Errorf("%s: an answer of %d bytes", what, w.Body.Len())
	}
	content := w.Header().Get("Content-Type")
	if w.Code >= http.StatusBadRequest {
		var p struct {
			Status      int
			Code, Title string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || content != "application/problem+json" || p.Status != w.Code || p.Code == "" || p.Title == "" {
			t.Errorf("%s: %d is no problem document: %s %s", what, w.Code, content, w.Body)
		}
		return
	}
	if content == "application/json" && w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()) {
		t.Errorf("%s: no JSON: %s", what, w.Body)
	}
	if location := w.Header().Get("Location"); strings.HasPrefix(location, "//") || strings.Contains(location, "evil.example") && !strings.HasPrefix(location, "/") {
		t.Errorf("%s: leads to another site: %s", what, location)
	}
}

// checkRights: the administration is the administrators', carts and points are those
// of who is signed in, and a refusal changes nothing.
func (h *hostile) checkRights(t *testing.T, what, who, path string, w *httptest.ResponseRecorder, before int64) {
	t.Helper()
	done := w.Code < http.StatusMultipleChoices
	if done && strings.HasPrefix(path, "/admin/") && who != "admin" {
		t.Errorf("%s: %s answers %d", what, path, w.Code)
	}
	own := []string{"/points", "/order/", "/payment/apply-coupon/", "/payment/cart-checkout", "/payment/payment-link"}
	if done && who == "nobody" && slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
		t.Errorf("%s: %s answers %d", what, path, w.Code)
	}
	if after := h.count(t); after != before && (who != "admin" || !done) {
		t.Errorf("%s: %s answers %d and the number of coupons goes from %d to %d", what, path, w.Code, before, after)
	}
}

// checkSecrets: an answer holds no address of another customer, and the log holds
// none at all, unless whoever asks has named it, and no secret.
func (h *hostile) checkSecrets(t *testing.T, what, who, asked, answered string) {
	t.Helper()
	logged := h.logged.take()
	for name, s := range h.sessions {
		for _, secret := range s {
			if strings.Contains(logged, secret) && !strings.Contains(asked, secret) {
				t.Errorf("%s: the session of %s is in the log: %s", what, name, logged)
			}
		}
	}
	if strings.Contains(logged, webhookSecret) {
		t.Errorf("%s: the secret of the webhook is in the log: %s", what, logged)
	}
	for _, u := range shop.DemoUsers() {
		if strings.Contains(strings.ToLower(logged), u.Email) || strings.Contains(logged, u.Password) {
			t.Errorf("%s: %s is in the log: %s", what, u.Email, logged)
		}
		if who == "ann" && u.ID != "usr_ann" && strings.Contains(answered, u.Email) && !strings.Contains(asked, u.Email) {
			t.Errorf("%s: the answer holds %s: %s", what, u.Email, answered)
		}
	}
	if strings.Contains(logged, "panicked") {
		t.Errorf("%s: %s", what, logged)
	}
}
