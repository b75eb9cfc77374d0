package browsertest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/examples/service/internal/browsertest"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// The demo's users.
const (
	ada  = "usr_admin"
	ann  = "usr_ann"
	ben  = "usr_ben"
	cleo = "usr_cleo"
)

// browser is shared: each tab has a profile of its own.
var browser *browsertest.Browser

// TestMain requires that neither the services nor the browser leave a goroutine.
func TestMain(m *testing.M) {
	status, err := suite(m)
	if err == nil {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = max(status, 1)
	}
	os.Exit(status)
}

// worldsAtOnce is how many tests run beside each other. They mostly wait, for the
// browser to draw and for the service to answer.
const worldsAtOnce = 4

// suite runs the tests with what they share, and frees it.
func suite(m *testing.M) (status int, err error) {
	ctx := context.Background()
	if dsn := os.Getenv(postgresVariable); dsn != "" {
		if err := os.Setenv(postgrestest.DSNVariable, dsn); err != nil {
			return 1, err
		}
	}
	if scratch, err = os.MkdirTemp("", "couponkit-browsertest-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	browser, err = browsertest.Start(ctx)
	if err != nil && !errors.Is(err, browsertest.ErrNoBrowser) {
		return 1, err
	}
	if browser != nil {
		defer browser.Close()
	}
	if err := flag.Set("test.parallel", strconv.Itoa(worldsAtOnce)); err != nil { // unless the command line says otherwise
		return 1, err
	}
	status = m.Run()
	return status, postgres.Close()
}

// world is a service that was just seeded.
type world struct {
	*app.Server
	t *testing.T
}

func newWorld(t *testing.T, s kind, adjust ...func(*app.Config)) *world {
	t.Helper()
	if browser == nil {
		t.Skip(browsertest.ErrNoBrowser)
	}
	config := app.Config{
		Store: s.fresh(t), Seed: true, PasswordCost: bcrypt.MinCost,
		Logger: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	for _, change := range adjust {
		change(&config)
	}
	server, err := app.Start(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return &world{Server: server, t: t}
}

// testLog shows what the service logs beside the test that caused it.
type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// page is a tab that ends the test when something does not happen.
type page struct {
	*browsertest.Tab
	t *testing.T
}

// visitor opens a tab in which nobody is signed in. When the test ends the tab must
// have seen no exception and no violation of the content security policy.
func (w *world) visitor() page {
	w.t.Helper()
	tab, err := browser.Open(w.URL)
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		for _, complaint := range tab.Complaints() {
			w.t.Errorf("the page complains: %s", complaint)
		}
		tab.Close()
	})
	p := page{tab, w.t}
	p.must(tab.Dark(false))
	return p
}

// as opens a tab in which a user is signed in.
func (w *world) as(userID string) page {
	w.t.Helper()
	p := w.visitor()
	w.becomes(p, userID)
	return p
}

// becomes lets a tab be that of a user from its next request on.
func (w *world) becomes(p page, userID string) {
	w.t.Helper()
	user, err := w.Shop.UserByID(w.t.Context(), userID)
	require.NoError(w.t, err)
	token, _, err := w.Shop.SignIn(w.t.Context(), user)
	require.NoError(w.t, err)
	p.must(p.SetCookie(api.SessionCookie, token))
}

func (p page) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p page) visit(path string)           { p.t.Helper(); p.must(p.Go(path)) }
func (p page) click(selector string)       { p.t.Helper(); p.must(p.Click(selector)) }
func (p page) fill(selector, text string)  { p.t.Helper(); p.must(p.Type(selector, text)) }
func (p page) see(selector, text string)   { p.t.Helper(); p.must(p.WaitText(selector, text)) }
func (p page) visible(selector string)     { p.t.Helper(); p.must(p.WaitVisible(selector)) }
func (p page) gone(selector string)        { p.t.Helper(); p.must(p.WaitGone(selector)) }
func (p page) hold(expression string)      { p.t.Helper(); p.must(p.Wait(expression)) }
func (p page) press(keys string)           { p.t.Helper(); p.must(p.Press(keys)) }
func (p page) eval(text string, value any) { p.t.Helper(); p.must(p.Eval(text, value)) }

// cancelExchanges gives a customer the exchanged points back.
func (w *world) cancelExchanges(userID string) {
	w.t.Helper()
	held, err := w.Service.Exchanges(w.t.Context(), userID)
	require.NoError(w.t, err)
	for _, each := range held {
		require.NoError(w.t, w.Service.CancelExchange(w.t.Context(), userID, each.ExchangeID))
	}
}

// coupon returns the coupon of a code as the service knows it.
func (w *world) coupon(code string) coupon.Coupon {
	w.t.Helper()
	list, err := w.Service.List(w.t.Context(), store.CouponList{Search: code, PageSize: store.MaxPageSize})
	require.NoError(w.t, err)
	for _, c := range list.Items {
		if c.Code.String() == code {
			c, err = w.Service.Get(w.t.Context(), c.ID) // with the whole allow-list
			require.NoError(w.t, err)
			return c
		}
	}
	w.t.Fatalf("there is no coupon %s", code)
	return coupon.Coupon{}
}

// uses returns how often a coupon was used, is reserved, and how many redemptions of
// it are completed.
type uses struct{ Used, Reserved, Completed int64 }

func (w *world) uses(code string) uses {
	w.t.Helper()
	c := w.coupon(code)
	list, err := w.Service.Uses(w.t.Context(), store.UseList{CouponID: c.ID, State: redemption.Completed})
	require.NoError(w.t, err)
	return uses{c.UsedCount, c.ReservedCount, int64(len(list.Items))}
}

func (w *world) expectUses(code string, want uses) {
	w.t.Helper()
	if got := w.uses(code); got != want {
		w.t.Errorf("%s: got %+v, want %+v", code, got, want)
	}
}

func (w *world) points(userID string) int64 {
	w.t.Helper()
	balance, err := w.Shop.Balance(w.t.Context(), userID)
	require.NoError(w.t, err)
	return balance
}
