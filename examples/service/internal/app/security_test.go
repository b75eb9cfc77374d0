package app_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/ratelimit"
)

// guarded are the calls that need a sign-in; those of the administration need an
// administrator.
func guarded() []string {
	var calls []string
	for _, pattern := range api.Patterns() {
		switch method, path, _ := strings.Cut(pattern, " "); {
		case path == "/session", path == "/login", path == "/catalog", path == "/payment/quote", path == "/payment/offers", path == "/payment/return", path == "/payment/webhook",
			path == "/healthz", path == "/readyz", path == "/metrics", path == "/openapi.json", path == "/docs":
		default:
			calls = append(calls, method+" "+path)
		}
	}
	return calls
}

// TestWhoMayCall: every call but the public ones needs a sign-in, the
// administration an administrator, and everything that changes something the
// session's token.
func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nobody, ann, forgetful := w.browser(t), w.as(t, "ann"), w.as(t, "admin")
	forgetful.csrf = ""
	guessing := w.as(t, "admin")
	guessing.csrf = ann.csrf // somebody else's
	calls := guarded()
	require.Len(t, calls, 38, "a new call: is it guarded?")
	for _, pattern := range calls {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.NewReplacer("{id}", "cpn_x", "{codeOrId}", "SUMMER10", "{batch}", "spring", "{code}", "SUMMER10", "{couponId}", "POINTS25").Replace(path)
		nobody.do(method, path, nil).refused(http.StatusUnauthorized, "user_required")
		if strings.HasPrefix(path, "/admin/") {
			ann.do(method, path, nil).refused(http.StatusForbidden, "administrator_required")
		}
		if method != http.MethodGet {
			forgetful.do(method, path, nil).refused(http.StatusForbidden, "csrf_token_invalid")
			guessing.do(method, path, nil).refused(http.StatusForbidden, "csrf_token_invalid")
		}
	}
	w.as(t, "admin").get("/admin/coupon/all").is(http.StatusOK)
	require.NotEmpty(t, w.as(t, "admin").get("/session").text("csrfToken"))
}

// TestRequestsFromOtherSites: the browser tells where a request comes from.
func TestRequestsFromOtherSites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, header := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}},
		{"Sec-Fetch-Site": {"same-site"}},
		{"Origin": {"https://evil.example"}},
	} {
		b := w.as(t, "admin")
		b.header = header
		b.post("/admin/coupon/generate-code", nil).refused(http.StatusForbidden, "cross_origin")
		b.post("/login", object{"email": "ann@example.org", "password": "ann-demo-1"}).refused(http.StatusForbidden, "cross_origin")
		b.get("/session").is(http.StatusOK)
	}
	own := w.as(t, "admin")
	own.header = http.Header{"Origin": {w.URL}, "Sec-Fetch-Site": {"same-origin"}}
	own.post("/admin/coupon/generate-code", nil).is(http.StatusOK)
}

// TestTheSession: the cookie cannot be read by scripts, is sent to this site only,
// is another one after each sign-in, and means nothing after the sign-out.
func TestTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser(t)
	require.Nil(t, b.get("/session").value("user"))
	in := b.post("/login", object{"email": "Ann@Example.org", "password": "ann-demo-1"}).is(http.StatusOK)
	for _, attribute := range []string{"HttpOnly", "Secure", "SameSite=Lax", "Path=/"} {
		require.Contains(t, in.header.Get("Set-Cookie"), attribute)
	}
	require.Equal(t, "usr_ann", in.text("user.id"))
	require.Equal(t, "customer", in.text("user.role"))
	first := *b
	b.signIn("ann@example.org", "ann-demo-1")
	require.NotEqual(t, first.cookie, b.cookie)
	require.Nil(t, first.get("/session").value("user"), "the session before has ended")
	kept := *b
	b.post("/logout", nil).is(http.StatusNoContent)
	require.Nil(t, kept.get("/session").value("user"))
	kept.get("/points").refused(http.StatusUnauthorized, "user_required")

	old := w.as(t, "ben")
	w.clock.advance(13 * time.Hour)
	old.get("/points").refused(http.StatusUnauthorized, "user_required")
}

// TestTheSessionAmongOthers: a site beside this one can have cookies of its own sent here,
// by the same name and before that of the sign-in. They sign nobody out, and cost no more
// than a few look-ups.
func TestTheSessionAmongOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.as(t, "ann")
	own := ann.cookie
	ann.cookie = "couponkit_session=bogus; couponkit_session=; " + own
	require.Equal(t, "usr_ann", ann.get("/session").text("user.id"))
	ann.get("/points").is(http.StatusOK)
	ann.cookie = strings.Repeat("couponkit_session=bogus; ", 50) + own
	require.Equal(t, "usr_ann", ann.get("/session").text("user.id"), "the same one again is no other")
	var many strings.Builder
	for i := range 50 {
		fmt.Fprintf(&many, "couponkit_session=bogus-%d; ", i)
	}
	ann.cookie = many.String() + own
	require.Nil(t, ann.get("/session").value("user"))

	ann.cookie = "couponkit_session=bogus; " + own
	ann.post("/logout", nil).is(http.StatusNoContent)
	ann.cookie = own
	require.Nil(t, ann.get("/session").value("user"))

	ben := w.as(t, "ben")
	before := ben.cookie
	ben.cookie = "couponkit_session=bogus; " + before
	ben.signIn("ben@example.org", "ben-demo-1")
	ben.cookie = before
	require.Nil(t, ben.get("/session").value("user"), "the session before has ended")
}

// TestASiteOfHTTPS: where customers come by https, only this host can have set the cookie
// that is read, and browsers do not come by another way again.
func TestASiteOfHTTPS(t *testing.T) {
	t.Parallel()
	const policy = "Strict-Transport-Security"
	w := newWorld(t, func(c *app.Config) { c.PublicURL = "https://shop.example" })
	inside := httptest.NewServer(w.HTTP().Handler) // what ends TLS in front of it asks here
	t.Cleanup(inside.Close)
	w.URL = inside.URL
	ann := w.browser(t)
	in := ann.post("/login", object{"email": "ann@example.org", "password": "ann-demo-1"}).is(http.StatusOK)
	ann.csrf = in.text("csrfToken")
	cookie := in.header.Get("Set-Cookie")
	require.Regexp(t, "^__Host-couponkit_session=", cookie)
	require.Contains(t, cookie, "Secure")
	require.Contains(t, cookie, "Path=/;")
	require.NotContains(t, cookie, "Domain")
	require.Equal(t, "usr_ann", ann.get("/session").text("user.id"))
	require.Equal(t, "max-age=31536000", ann.get("/catalog").header.Get(policy))
	own := ann.cookie
	ann.cookie = strings.TrimPrefix(own, "__Host-")
	require.Nil(t, ann.get("/session").value("user"), "a cookie that another host can have set")
	ann.cookie = own
	out := ann.post("/logout", nil).is(http.StatusNoContent).header.Get("Set-Cookie")
	require.Regexp(t, "^__Host-couponkit_session=;.*Secure", out, "browsers ignore one that is not secure")

	require.Empty(t, newWorld(t, unseeded).browser(t).get("/catalog").header.Values(policy))
}

// TestSomebodyElsesOrder: an order is its customer's own, for administrators too.
func TestSomebodyElsesOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bought := w.as(t, "ann").checkout(object{"lines": []object{line("plan", "basic", 1)}}).is(http.StatusCreated)
	for _, name := range []string{"ben", "admin"} {
		w.as(t, name).get("/order/"+bought.text("orderId")).refused(http.StatusNotFound, "not_found")
	}
	w.as(t, "ann").get("/order/ord_none").refused(http.StatusNotFound, "not_found")
}

// TestTheWebhookIsSigned: spec 6, contract section 8.
func TestTheWebhookIsSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.Deliver = time.Hour })
	ann := w.as(t, "ann")
	bought := ann.checkout(object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "LASTONE"}).is(http.StatusCreated)
	fake := w.Simulator.Fake()
	require.NoError(t, fake.Pay(fake.Sessions()[0].ID)) // not by the page, so that nothing is delivered yet
	delivery := fake.Deliveries()[0]
	sender := w.browser(t)
	for name, signature := range map[string]string{
		"none": "", "nonsense": "v1=00", "another secret": fakeprocessor.Sign("whsec_guess", noon(), delivery.Payload),
	} {
		sender.header = http.Header{fakeprocessor.SignatureHeader: {signature}}
		sender.post("/payment/webhook", string(delivery.Payload)).refused(http.StatusBadRequest, "bad_request")
		require.Equal(t, "open", ann.get("/order/"+bought.text("orderId")).text("state"), name)
	}
	sender.header = http.Header{"Origin": {"https://gateway.example"}}
	sender.post("/payment/webhook", string(delivery.Payload)).refused(http.StatusBadRequest, "bad_request")
	sender.header.Set(fakeprocessor.SignatureHeader, delivery.Signature) // the signature counts, not where it comes from
	sender.post("/payment/webhook", strings.Replace(string(delivery.Payload), "599", "1", 1)).refused(http.StatusBadRequest, "bad_request")
	for range 3 { // delivered again and again, counted once
		sender.post("/payment/webhook", string(delivery.Payload)).is(http.StatusOK)
	}
	require.Equal(t, "paid", ann.get("/order/"+bought.text("orderId")).text("state"))
	require.Equal(t, 1, w.as(t, "admin").get("/admin/coupon/all?search=LASTONE").number("items.0.usedCount"))
	w.clock.advance(10 * time.Minute)
	sender.post("/payment/webhook", string(delivery.Payload)).refused(http.StatusBadRequest, "bad_request") // too old
}

// TestBoundsOfRequests: body, content type, method, path.
func TestBoundsOfRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	large := `{"couponCode":"` + strings.Repeat("A", 70_000) + `"}`
	w.as(t, "ann").post("/payment/quote", large).refused(http.StatusRequestEntityTooLarge, "too_large")
	admin.post("/admin/coupon", `{"name":"`+strings.Repeat("A", 9<<20)+`"}`).refused(http.StatusRequestEntityTooLarge, "too_large")
	w.browser(t).post("/payment/webhook", strings.Repeat("A", 2<<20)).refused(http.StatusRequestEntityTooLarge, "too_large")
	admin.header = http.Header{"Content-Type": {"text/plain"}}
	admin.post("/admin/coupon", `{}`).refused(http.StatusUnsupportedMediaType, "json_required")
	admin.header = http.Header{}
	admin.do("PUT", "/admin/coupon", "{}").refused(http.StatusMethodNotAllowed, "method_not_allowed")
	admin.get("/no/such/page").refused(http.StatusNotFound, "not_found")
	deep := strings.Repeat(`{"lines":[`, 5_000)
	w.as(t, "ann").post("/payment/quote", deep).refused(http.StatusUnprocessableEntity, "invalid_input")
}

// TestABodyThatDoesNotArriveWhole: it is the client's fault, who is not told to try
// again later, and no failure in the log.
func TestABodyThatDoesNotArriveWhole(t *testing.T) {
	t.Parallel()
	var log records
	w := newWorld(t, unseeded, func(c *app.Config) {
		c.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	for name, rest := range map[string]string{
		"cut off":       "Content-Length: 100\r\n\r\n{\"lines\":",
		"broken chunks": "Transfer-Encoding: chunked\r\n\r\nnonsense\r\n{}",
	} {
		host := strings.TrimPrefix(w.URL, "http://")
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
		require.NoError(t, err)
		_, err = fmt.Fprintf(connection, "POST /payment/quote HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s", host, rest)
		require.NoError(t, err)
		require.NoError(t, connection.(*net.TCPConn).CloseWrite())
		answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.NoError(t, connection.Close())
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, name)
		require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
		require.Empty(t, answer.Header.Get("Retry-After"))
	}
	require.Empty(t, log.String())
}

// TestNoConnectionIsHeldForEver: every part of a request and of an answer has a
// bound, so that slow clients do not use the connections up.
func TestNoConnectionIsHeldForEver(t *testing.T) {
	t.Parallel()
	server := newWorld(t).HTTP()
	for name, bound := range map[string]time.Duration{
		"header": server.ReadHeaderTimeout, "request": server.ReadTimeout, "answer": server.WriteTimeout, "pause": server.IdleTimeout,
	} {
		if bound <= 0 || bound > time.Minute {
			t.Errorf("the time for the %s is %s", name, bound)
		}
	}
	if server.MaxHeaderBytes <= 0 || server.MaxHeaderBytes > 1<<20 {
		t.Errorf("a header may have %d bytes", server.MaxHeaderBytes)
	}
}

// TestTheLog: one JSON record a request, which tells the route and never a code,
// a password, a session or an address that somebody sent.
func TestTheLog(t *testing.T) {
	t.Parallel()
	var log records
	w := newWorld(t, func(c *app.Config) { c.Logger = slog.New(slog.NewJSONHandler(&log, nil)) })
	ann := w.as(t, "ann")
	ann.get("/payment/apply-coupon/SECRETCODE").is(http.StatusNotFound)
	w.browser(t).post("/login", object{"email": "ann@example.org", "password": "wrong-secret"}).is(http.StatusUnauthorized)
	ann.pays(ann.checkout(object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "SUMMER10"}).is(http.StatusCreated))
	require.Eventually(t, func() bool { // the webhook is logged after it has paid the order
		return strings.Contains(log.String(), "POST /payment/webhook")
	}, time.Minute, 10*time.Millisecond)
	routes := map[string]bool{}
	for text := range strings.Lines(log.String()) {
		var record map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &record), text)
		if record["msg"] == "request" {
			route, _ := record["route"].(string)
			routes[route] = true
			require.Contains(t, record, "status")
			require.Contains(t, record, "took")
		}
	}
	for _, route := range []string{"GET /payment/apply-coupon/{codeOrId}", "POST /login", "POST /payment/cart-checkout", "POST /payment/webhook"} {
		require.True(t, routes[route], route)
	}
	_, session, _ := strings.Cut(ann.cookie, "=")
	for _, secret := range []string{"SECRETCODE", "wrong-secret", "ann-demo-1", session, ann.csrf, "ann@example.org"} {
		require.NotContains(t, log.String(), secret)
	}
}

// records are what was logged.
type records struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *records) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// TestCodesCannotBeGuessed: misses are limited by user and by address, and
// Retry-After tells when it is worth to go on; codes that exist cost nothing.
func TestCodesCannotBeGuessed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) {
		c.Limits.AttemptsPerUser = ratelimit.Limit{Attempts: 5, Window: 5 * time.Minute}
		c.Limits.AttemptsPerAddress = ratelimit.Limit{Attempts: 8, Window: 8 * time.Minute}
	})
	ann, ben, nobody := w.as(t, "ann"), w.as(t, "ben"), w.browser(t)
	for range 50 {
		ann.get("/payment/apply-coupon/SUMMER10").is(http.StatusOK)
	}
	body := func(code string) object {
		return object{"lines": []object{line("plan", "basic", 1)}, "couponCode": code}
	}
	totals := object{"subtotal": "9.99", "discount": "0", "shipping": "0", "total": "9.99"}
	guesses := []func(b *browser, code string) answer{ // all ways to ask for a code share one limit
		func(b *browser, code string) answer { return b.get("/payment/apply-coupon/" + code) },
		func(b *browser, code string) answer {
			return b.post("/payment/cart-checkout", with(body(code), object{"expected": totals}))
		},
		func(b *browser, code string) answer {
			return b.post("/payment/payment-link", with(body(code), object{"mode": "subscription"}))
		},
		func(b *browser, code string) answer { return b.post("/points/redeem/"+code, nil) },
	}
	for i, guess := range guesses {
		guess(ann, fmt.Sprint("GUESS-", i)).refused(http.StatusNotFound, "coupon_not_found")
	}
	ann.post("/payment/quote", body("GUESS-9")).is(http.StatusOK)
	for _, guess := range guesses {
		limited := guess(ann, "SUMMER10").refused(http.StatusTooManyRequests, "too_many_attempts")
		require.Equal(t, "60", limited.header.Get("Retry-After"))
	}
	for i := range 3 {
		ben.get(fmt.Sprint("/payment/apply-coupon/GUESS-", i)).refused(http.StatusNotFound, "coupon_not_found")
	}
	ben.get("/payment/apply-coupon/GUESS").refused(http.StatusTooManyRequests, "too_many_attempts") // the address
	nobody.post("/payment/quote", body("SUMMER10")).is(http.StatusOK)                               // which tells nothing of the code
	w.clock.advance(time.Minute)
	ben.get("/payment/apply-coupon/SUMMER10").is(http.StatusOK)
	ben.get("/payment/apply-coupon/GUESS").refused(http.StatusNotFound, "coupon_not_found")
	ben.get("/payment/apply-coupon/SUMMER10").refused(http.StatusTooManyRequests, "too_many_attempts")
}

// TestManyGuessesAtOnce: a crowd of requests does not slip through the limit.
func TestManyGuessesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.Limits.AttemptsPerUser = ratelimit.Limit{Attempts: 4, Window: 4 * time.Hour} })
	ann := w.as(t, "ann")
	const crowd = 40
	statuses := make(chan int, crowd)
	for i := range crowd {
		go func() { statuses <- ann.get(fmt.Sprint("/payment/apply-coupon/GUESS-", i)).status }()
	}
	found := map[int]int{}
	for range crowd {
		found[<-statuses]++
	}
	require.Equal(t, map[int]int{http.StatusNotFound: 4, http.StatusTooManyRequests: crowd - 4}, found)
}

// TestCheckoutsAreLimited: each opens a session at the processor, and keeps a place of the
// coupon. What opens none costs nothing: a refusal, and a checkout that is repeated.
func TestCheckoutsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) {
		c.Limits.CheckoutsPerUser = ratelimit.Limit{Attempts: 3, Window: 3 * time.Minute}
		c.Limits.CheckoutsPerAddress = ratelimit.Limit{Attempts: 4, Window: 4 * time.Minute}
	})
	ann, ben := w.as(t, "ann"), w.as(t, "ben")
	plan := object{"lines": []object{line("plan", "basic", 1)}}
	wrong := with(plan, object{"expected": object{"subtotal": "1", "discount": "0", "shipping": "0", "total": "1"}})
	link := object{"mode": "product", "amount": "80.00", "currency": "EUR"}
	for range 5 {
		ann.post("/payment/cart-checkout", wrong).refused(http.StatusUnprocessableEntity, "cart_totals_invalid")
		ann.withKey("again").checkout(plan).is(http.StatusCreated)
	}
	ann.post("/payment/payment-link", link).is(http.StatusCreated)
	w.Simulator.Fake().Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostAfter})
	ann.checkout(plan).refused(http.StatusServiceUnavailable, "processor_unavailable") // which may have opened one
	for _, limited := range []answer{ann.checkout(plan), ann.withKey("again").checkout(plan), ann.post("/payment/payment-link", link)} {
		require.Equal(t, "60", limited.refused(http.StatusTooManyRequests, "too_many_attempts").header.Get("Retry-After"))
	}
	ben.checkout(plan).is(http.StatusCreated)
	ben.checkout(plan).refused(http.StatusTooManyRequests, "too_many_attempts") // the address
	w.clock.advance(time.Minute)
	ben.checkout(plan).is(http.StatusCreated)
}

// TestPasswordsCannotBeGuessed: wrong passwords are limited by account and address;
// whether an account exists is not told.
func TestPasswordsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.Limits.LoginsPerUser = ratelimit.Limit{Attempts: 3, Window: 3 * time.Minute} })
	b := w.browser(t)
	for range 10 {
		b.signIn("ann@example.org", "ann-demo-1")
	}
	var answers []string
	for _, email := range []string{"ann@example.org", "nobody@example.org"} {
		for range 3 {
			a := w.browser(t).post("/login", object{"email": email, "password": "guess"})
			answers = append(answers, string(a.refused(http.StatusUnauthorized, "wrong_password").body))
		}
		w.browser(t).post("/login", object{"email": strings.ToUpper(email), "password": "ann-demo-1"}).
			refused(http.StatusTooManyRequests, "too_many_attempts")
	}
	for _, a := range answers {
		require.Equal(t, answers[0], a)
	}
	empty := w.browser(t).post("/login", object{}).refused(http.StatusUnprocessableEntity, "invalid_input")
	require.Equal(t, map[string]string{"email": "required", "password": "required"}, empty.fields())
	half := w.browser(t).post("/login", object{"email": 5, "user": "ann"}).refused(http.StatusUnprocessableEntity, "invalid_input")
	require.Equal(t, map[string]string{"email": "malformed", "user": "unknown", "password": "required"}, half.fields())
	w.browser(t).post("/login", object{"email": "ben@example.org", "password": strings.Repeat("x", 100)}).
		refused(http.StatusUnauthorized, "wrong_password")
}

// TestA401TellsHowToSignIn: RFC 9110, section 11.6.1. The scheme is one that no browser
// knows, or it would ask for a password in a dialog of its own.
func TestA401TellsHowToSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nobody, admin := w.browser(t), w.as(t, "admin")
	for _, a := range []answer{
		nobody.get("/points"), nobody.get("/admin/coupon/all"), nobody.get("/payment/apply-coupon/SUMMER10"),
		nobody.post("/login", object{"email": "ann@example.org", "password": "wrong"}),
	} {
		require.Equal(t, []string{`Session realm="couponkit"`}, a.is(http.StatusUnauthorized).header.Values("WWW-Authenticate"), a.of)
	}
	for _, a := range []answer{admin.get("/points"), admin.get("/admin/coupon/cpn_none"), admin.post("/login", object{})} {
		require.Empty(t, a.header.Values("WWW-Authenticate"), a.of)
	}
}

// TestWhatIsNoRequestYet: the server refuses a path that cannot be read before any
// handler sees it, as the description of the interface says.
func TestWhatIsNoRequestYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unseeded)
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.URL, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprint(connection, "GET /admin/coupon/%zz HTTP/1.1\r\nHost: service.example\r\n\r\n")
	require.NoError(t, err)
	refused, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	require.NoError(t, refused.Body.Close())
	require.NoError(t, connection.Close())
	require.Equal(t, http.StatusBadRequest, refused.StatusCode)
	require.Equal(t, "text/plain; charset=utf-8", refused.Header.Get("Content-Type"))
}

// TestSecurityHeaders: on the interface, on pages, and on refusals.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser(t)
	b.loose = true
	for _, path := range []string{"/catalog", "/docs", "/plans", "/nowhere", "/admin/coupon/all", "/simulator/pay/none"} {
		h := b.get(path).header
		policy := h.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'", path)
		require.NotContains(t, policy, "unsafe", path)
		require.Contains(t, policy, "frame-ancestors 'none'", path)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		require.Equal(t, "same-origin", h.Get("Referrer-Policy"), path)
	}
}

// TestBehindAProxy: the address is what the proxy has written, and not what the
// client says of itself.
func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) {
		c.BehindProxy = true
		c.Limits.AttemptsPerAddress = ratelimit.Limit{Attempts: 1, Window: 1 * time.Hour}
	})
	quote := object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "GUESS"}
	from := func(addresses ...string) answer {
		b := w.as(t, "ann")
		b.header = http.Header{"X-Forwarded-For": addresses}
		return b.post("/payment/quote", quote)
	}
	from("203.0.113.7").is(http.StatusOK)
	from("198.51.100.1, 203.0.113.7").refused(http.StatusTooManyRequests, "too_many_attempts")
	from("203.0.113.8").is(http.StatusOK)
	from("2001:db8::1").is(http.StatusOK)
	from("2001:db8::2").refused(http.StatusTooManyRequests, "too_many_attempts") // one customer's network
}

// TestAProxyThatNobodyNamed: without -behind-proxy what X-Forwarded-For says counts for
// nothing, and the operator is told once that all who come by a proxy are one.
func TestAProxyThatNobodyNamed(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{false, true} {
		var log records
		w := newWorld(t, func(c *app.Config) {
			c.BehindProxy = named
			c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
			c.Limits.AttemptsPerAddress = ratelimit.Limit{Attempts: 1, Window: 1 * time.Hour}
		})
		quote := object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "GUESS"}
		w.as(t, "ann").get("/payment/apply-coupon/SUMMER10").is(http.StatusOK)
		require.Empty(t, log.String())
		want := http.StatusOK
		for _, address := range []string{"203.0.113.7", "203.0.113.8"} {
			b := w.as(t, "ann")
			b.header = http.Header{"X-Forwarded-For": {address}}
			b.post("/payment/quote", quote).is(want)
			if !named {
				want = http.StatusTooManyRequests
			}
		}
		if named {
			require.Empty(t, log.String())
			continue
		}
		require.Equal(t, 1, strings.Count(log.String(), "behind-proxy"), log.String())
		require.NotContains(t, log.String(), "203.0.113")
	}
}
