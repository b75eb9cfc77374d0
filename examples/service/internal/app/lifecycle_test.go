package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// TestARestart: what is in the store survives; what the simulated processor has
// forgotten is repaired (mirrors) or released (sessions that nobody can pay any
// more).
func TestARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "couponkit.db")
	at := func(c *app.Config) { c.Store = file }
	before := newWorld(t, at)
	ann := before.as(t, "ann")
	cart := object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "SUMMER10"}
	paid := ann.checkout(cart).is(http.StatusCreated)
	ann.pays(paid)
	open := ann.checkout(with(cart, object{"couponCode": "LASTONE"})).is(http.StatusCreated)
	before.as(t, "admin").creates(object{"code": "MINE"})
	require.NoError(t, before.Close(context.WithoutCancel(t.Context())))

	after := newWorld(t, at, func(c *app.Config) { c.Sweep = 20 * time.Millisecond })
	again := *ann // the same cookie
	again.world = after
	require.Equal(t, "paid", again.get("/order/"+paid.text("orderId")).text("state"))
	again.get("/payment/apply-coupon/MINE").is(http.StatusOK) // its mirror is back
	second := again.checkout(cart).is(http.StatusCreated)
	require.NotEqual(t, paid.text("sessionId"), second.text("sessionId"))
	again.pays(second)
	admin := after.as(t, "admin")
	require.Equal(t, 2, admin.get("/admin/coupon/all?search=SUMMER10").number("items.0.usedCount"))

	page := again
	page.loose = true
	gone := strings.TrimPrefix(open.text("url"), before.URL)
	require.Contains(t, string(page.get(gone).is(http.StatusNotFound).body), "No such payment")
	after.clock.advance(2 * time.Hour)
	again.reaches(open.text("orderId"), "cancelled")
	again.get("/payment/apply-coupon/LASTONE").is(http.StatusOK)
}

// TestSeedingOnce: an empty store gets the demo; somebody's own users or coupons do
// not.
func TestSeedingOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "couponkit.db")
	at := func(c *app.Config) { c.Store = file }
	first := newWorld(t, at)
	admin := first.as(t, "admin")
	total := admin.get("/admin/coupon/all").number("total")
	require.Positive(t, total)
	admin.delete("/admin/coupon/" + admin.get("/admin/coupon/all").text("items.0.id")).is(http.StatusNoContent)
	require.NoError(t, first.Close(context.WithoutCancel(t.Context())))
	require.Equal(t, total-1, newWorld(t, at).as(t, "admin").get("/admin/coupon/all").number("total"), "what was deleted stays so")
}

// TestEveryKindIsSeeded: the demo has a coupon of every discount, scope and
// distribution.
func TestEveryKindIsSeeded(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, item := range newWorld(t).as(t, "admin").get("/admin/coupon/all?pageSize=100").list("items") {
		for _, field := range []string{"discountType", "appliesTo", "distribution"} {
			seen[item.(map[string]any)[field].(string)] = true
		}
	}
	for _, kind := range []string{"PERCENTAGE", "FIXED_AMOUNT", "ALL", "SUBSCRIPTION", "PRODUCT", "SPECIFIC", "GENERAL", "POINTS_REDEEMABLE", "USER_SPECIFIC"} {
		require.True(t, seen[kind], kind)
	}
}

// TestACrowdSignsIn: more customers of the demo are real ones.
func TestACrowdSignsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.Crowd = 2 })
	for _, u := range shop.DemoCrowd(2) {
		b := w.browser(t)
		b.signIn(u.Email, u.Password)
		b.get("/payment/apply-coupon/SUMMER10").is(http.StatusOK)
		b.get("/admin/coupon/all").refused(http.StatusForbidden, "administrator_required")
	}
	w.browser(t).post("/login", object{"email": "crowd-3@example.org", "password": "crowd-demo-1"}).refused(http.StatusUnauthorized, "wrong_password")
}

// TestTheProcessorsMetrics: an operator sees how many sessions were paid.
func TestTheProcessorsMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.as(t, "ann")
	plan := object{"lines": []object{line("plan", "basic", 1)}}
	for _, end := range []string{"pay", "expire", "later", ""} {
		bought := ann.checkout(plan).is(http.StatusCreated)
		if end != "" {
			ann.onPaymentPage(bought.text("url"), end).is(http.StatusSeeOther)
		}
	}
	metrics := string(ann.get("/metrics").is(http.StatusOK).body)
	for _, state := range []string{"open", "paid", "unpaid", "expired"} {
		require.Contains(t, metrics, fmt.Sprintf("simulator_sessions{state=%q} 1\n", state))
	}
}

// TestOperations: health, readiness and metrics.
func TestOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser(t)
	require.Equal(t, "ok", b.get("/healthz").is(http.StatusOK).text("status"))
	require.Equal(t, "ready", b.get("/readyz").is(http.StatusOK).text("status"))
	w.as(t, "ann").get("/payment/apply-coupon/NEVER").is(http.StatusNotFound)
	metrics := string(b.get("/metrics").is(http.StatusOK).body)
	for _, series := range []string{
		`couponkit_attempts_total{operation="validate",outcome="coupon_not_found"} 1`,
		`http_request_duration_seconds_count{route="GET /payment/apply-coupon/{codeOrId}",status="404"} 1`,
		"go_goroutines",
	} {
		require.Contains(t, metrics, series)
	}
	require.NotContains(t, metrics, "NEVER", "no code that somebody typed")
}

// TestAStoreThatIsDownIs503: contract section 8.
func TestAStoreThatIsDownIs503(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.as(t, "ann")
	require.NoError(t, w.BreakStore())
	for _, path := range []string{"/payment/apply-coupon/SUMMER10", "/points", "/readyz"} {
		require.NotEmpty(t, ann.get(path).refused(http.StatusServiceUnavailable, "unavailable").header.Get("Retry-After"))
	}
	ann.get("/healthz").is(http.StatusOK)
}

// TestNothingStartsHalf: a service that cannot start frees what it has opened.
func TestNothingStartsHalf(t *testing.T) {
	t.Parallel()
	running := newWorld(t)
	for name, config := range map[string]app.Config{
		"the address is taken": {Addr: strings.TrimPrefix(running.URL, "http://")},
		"half of Stripe":       {StripeKey: "sk_test_x"},
		"no database":          {Store: "postgres://127.0.0.1:1/none?connect_timeout=1"},
		"no file":              {Store: "/dev/null/couponkit.db"},
		"no origin":            {PublicURL: "::"},
		"another database":     {Store: "mysql://shop:secret@127.0.0.1/coupons"},
	} {
		_, err := app.Start(t.Context(), config)
		require.Error(t, err, name)
	}
}

// TestAShutdownWaits: a request that is under way when the service is stopped gets
// its answer, and what it did is kept.
func TestAShutdownWaits(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "couponkit.db")
	at := func(c *app.Config) { c.Store = file }
	w := newWorld(t, at)
	admin := w.as(t, "admin")
	reached := make(chan struct{})
	w.Simulator.Fake().Inject(fakeprocessor.Fault{
		Op: fakeprocessor.EnsureMirror, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) { close(reached) },
	})
	w.Simulator.Fake().Inject(fakeprocessor.Fault{
		Op: fakeprocessor.EnsureMirror, Kind: fakeprocessor.Delay, Latency: 300 * time.Millisecond,
	})
	created := make(chan answer, 1)
	go func() {
		created <- admin.post("/admin/coupon", object{"code": "LATE", "name": "Late", "discountType": "PERCENTAGE", "discountValue": 5})
	}()
	<-reached
	require.NoError(t, w.Close(context.WithoutCancel(t.Context())))
	(<-created).is(http.StatusCreated)
	newWorld(t, at).as(t, "ann").get("/payment/apply-coupon/LATE").is(http.StatusOK)
}

// TestAShutdownIsToldBefore: who spreads requests over several services hears that this one
// is not ready any more while it still takes them, and it waits for that once.
func TestAShutdownIsToldBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.Drain = time.Hour })
	ann := w.as(t, "ann")
	ann.get("/readyz").is(http.StatusOK)
	patience, enough := context.WithCancel(context.WithoutCancel(t.Context()))
	defer enough()
	ended := make(chan error, 1)
	go func() { ended <- w.Close(patience) }()
	eventually(t, "it is not ready", func() bool { return ann.get("/readyz").status != http.StatusOK })
	ann.get("/readyz").refused(http.StatusServiceUnavailable, "unavailable")
	ann.get("/healthz").is(http.StatusOK)
	ann.get("/payment/apply-coupon/SUMMER10").is(http.StatusOK)
	select {
	case err := <-ended:
		require.Fail(t, "it has not waited", "%v", err)
	default:
	}
	enough()
	require.NoError(t, <-ended)
	require.NoError(t, w.Close(context.WithoutCancel(t.Context())), "a second time there is nobody to tell")
}

// TestAShutdownGoesOnAfterItWasTold: when the time is over, whoever has heard of it.
func TestAShutdownGoesOnAfterItWasTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.Drain = 50 * time.Millisecond })
	began := time.Now()
	require.NoError(t, w.Close(context.WithoutCancel(t.Context())))
	require.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
}

// TestAShutdownWaitsForNoOneForEver: a client whose request does not come to an end is cut
// off, and that is no failure of the service.
func TestAShutdownWaitsForNoOneForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.URL, "http://"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "POST /login HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	answers := bufio.NewReader(conn)
	status, err := answers.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, status, "100 Continue", "the request waits for its body")

	ending, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 100*time.Millisecond)
	defer cancel()
	require.NoError(t, w.Close(ending))
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = io.ReadAll(answers)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the client is not cut off")
}

// TestWorkInTheBackground: mirrors that were changed at the processor are put right.
func TestWorkInTheBackground(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.Reconcile = 20 * time.Millisecond })
	c, err := w.Service.Get(t.Context(), w.as(t, "admin").creates(object{"code": "STEADY"}).text("id"))
	require.NoError(t, err)
	require.NoError(t, w.Simulator.Fake().TamperDeactivate(c.Mirror))
	ann := w.as(t, "ann")
	eventually(t, "the mirror is back", func() bool { return ann.get("/payment/apply-coupon/STEADY").status == http.StatusOK })
}

// TestNoRunInTheBackgroundLastsForEver: a processor that does not answer costs a run
// its time, and the next one does the work.
func TestNoRunInTheBackgroundLastsForEver(t *testing.T) {
	t.Parallel()
	const soon = 50 * time.Millisecond
	silent := func(w *world, op fakeprocessor.Op) (asked chan struct{}) {
		asked = make(chan struct{})
		w.Simulator.Fake().Inject(fakeprocessor.Fault{Op: op, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) { close(asked) }})
		w.Simulator.Fake().Inject(fakeprocessor.Fault{Op: op, Kind: fakeprocessor.Delay, Latency: time.Hour})
		return asked
	}
	t.Run("sweep", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(c *app.Config) { c.Sweep, c.SweepTime, c.Deliver = soon, 10*soon, time.Hour })
		ann := w.as(t, "ann")
		open := ann.checkout(object{"lines": []object{line("plan", "basic", 1)}}).is(http.StatusCreated)
		asked := silent(w, fakeprocessor.GetSession)
		w.clock.advance(2 * time.Hour)
		<-asked
		ann.reaches(open.text("orderId"), "cancelled")
	})
	t.Run("reconcile", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(c *app.Config) { c.Reconcile, c.ReconcileTime = soon, 10*soon })
		c, err := w.Service.Get(t.Context(), w.as(t, "admin").creates(object{"code": "STEADY"}).text("id"))
		require.NoError(t, err)
		ann := w.as(t, "ann")
		<-silent(w, fakeprocessor.Mirrors)
		require.NoError(t, w.Simulator.Fake().TamperDeactivate(c.Mirror))
		eventually(t, "the mirror is back", func() bool { return ann.get("/payment/apply-coupon/STEADY").status == http.StatusOK })
	})
}

// TestAFailureSignsNobodyOut: an administrator gets the page while the service cannot
// tell who they are. It asks the interface, which says what is the matter.
func TestAFailureSignsNobodyOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	admin.loose = true
	require.NoError(t, w.Shop.Close()) // its sign-ins cannot be read any more
	admin.get("/admin/coupon/all").refused(http.StatusServiceUnavailable, "unavailable")
	admin.get("/admin/coupons").is(http.StatusOK)
}

// TestWhereItIsReached: a service that listens on every address of its machine is
// reached by a name for which browsers keep a sign-in.
func TestWhereItIsReached(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		listening net.TCPAddr
		want      string
	}{
		{net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "127.0.0.1:8080"},
		{net.TCPAddr{IP: net.IPv6loopback, Port: 8080}, "[::1]:8080"},
		{net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}, "192.0.2.1:80"},
		{net.TCPAddr{IP: net.IPv4zero, Port: 8080}, "localhost:8080"},
		{net.TCPAddr{IP: net.IPv6zero, Port: 8080}, "localhost:8080"},
	} {
		require.Equal(t, row.want, app.Reached(&row.listening), row.listening.String())
	}
}
