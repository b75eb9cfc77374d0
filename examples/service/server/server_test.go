package server

import (
	"bytes"
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// output is what a program has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// startTime is patience: to hash the demo's passwords takes long under the race
// detector on a busy machine.
const startTime = 3 * time.Minute

// TestTheProgramStartsAndStops: it says where to look and who can sign in, serves,
// and ends when it is told to.
func TestTheProgramStartsAndStops(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"memory", filepath.Join(t.TempDir(), "deep", "coupon kit.db")} {
		ctx, stop := context.WithCancel(t.Context())
		var out output
		ended := make(chan error, 1)
		go func() {
			ended <- Run(ctx, []string{"-addr", "127.0.0.1:0", "-store", store, "-log", "error"}, Program{Out: &out})
		}()
		address := regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+) `)
		require.Eventually(t, func() bool { return address.MatchString(out.String()) }, startTime, 10*time.Millisecond)
		require.Eventually(t, func() bool { return strings.Contains(out.String(), "cleo@example.org") }, startTime, 10*time.Millisecond)
		for _, u := range shop.DemoUsers() {
			require.Contains(t, out.String(), u.Email)
			require.Contains(t, out.String(), u.Password)
		}
		base := address.FindStringSubmatch(out.String())[1]
		answer, err := http.Get(base + "/readyz") //nolint:noctx // a client of a moment
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode)

		stop()
		require.NoError(t, <-ended)
		require.Contains(t, out.String(), "stopped")
		_, err = http.Get(base + "/readyz") //nolint:noctx,bodyclose // nobody answers
		require.Error(t, err)
	}
}

// TestTheEnvironmentSwitchesToStripe: with Stripe's key and secret in the environment
// the demo's coupons are made at Stripe.
func TestTheEnvironmentSwitchesToStripe(t *testing.T) {
	t.Parallel()
	account := stripefake.New(stripefake.Options{Key: "sk_test_switch", WebhookSecret: "whsec_switch"})
	stripe := httptest.NewServer(account)
	t.Cleanup(stripe.Close)
	environment := map[string]string{"STRIPE_SECRET_KEY": "sk_test_switch", "STRIPE_WEBHOOK_SECRET": "whsec_switch", "STRIPE_API_URL": stripe.URL}
	ctx, stop := context.WithCancel(t.Context())
	var out output
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, []string{"-addr", "127.0.0.1:0", "-store", "memory", "-log", "error", "-seed"},
			Program{Getenv: func(name string) string { return environment[name] }, Out: &out})
	}()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "processor: Stripe") }, startTime, 10*time.Millisecond)
	require.NotContains(t, out.String(), "switch")
	require.NotEmpty(t, account.PromotionCodes())
	stop()
	require.NoError(t, <-ended)
}

// TestDefaults: without arguments the service listens where people look for it, keeps
// an SQLite file, and seeds the demo.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := readConfig(nil, Program{}.orDefaults())
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8080", c.Addr)
	require.Equal(t, "couponkit.db", filepath.Base(c.Store))
	require.True(t, c.Seed)
	require.False(t, c.InsecureCookies || c.BehindProxy)
	require.Empty(t, c.StripeKey)
	require.Equal(t, []time.Duration{app.DefaultSweep, app.DefaultReconcile}, []time.Duration{c.Sweep, c.Reconcile})
	c, err = readConfig([]string{"-sweep", "90s", "-reconcile", "1h"}, Program{}.orDefaults())
	require.NoError(t, err)
	require.Equal(t, []time.Duration{90 * time.Second, time.Hour}, []time.Duration{c.Sweep, c.Reconcile})
}

// TestTheCrowd: the demo has as many more customers as it is told to.
func TestTheCrowd(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, Run(t.Context(), []string{"-crowd", "-1"}, Program{}), "crowd")
	require.Empty(t, shop.DemoCrowd(0))
	crowd := shop.DemoCrowd(3)
	require.Len(t, crowd, 3)
	require.Equal(t, "crowd-3@example.org", crowd[2].Email)
}

// TestArguments: what makes no sense is refused before anything is opened.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"extra"}, {"-nonsense"}, {"-log", "loud"}} {
		require.Error(t, Run(t.Context(), args, Program{}))
	}
	err := Run(t.Context(), []string{"-help"}, Program{})
	require.ErrorIs(t, err, flag.ErrHelp)
	half := func(name string) string {
		if name == "STRIPE_SECRET_KEY" {
			return "sk_test_123"
		}
		return ""
	}
	err = Run(t.Context(), []string{"-addr", "127.0.0.1:0", "-store", "memory", "-seed=false"}, Program{Getenv: half})
	require.ErrorContains(t, err, "stripe")
	require.NotContains(t, err.Error(), "sk_test")
}

// TestTheCallersStore: a program that gives the store has no flag for it.
func TestTheCallersStore(t *testing.T) {
	t.Parallel()
	program := Program{Store: "memory"}.orDefaults()
	c, err := readConfig(nil, program)
	require.NoError(t, err)
	require.Equal(t, "memory", c.Store)
	require.ErrorIs(t, Run(t.Context(), []string{"-store", "other.db"}, program), ErrUsage)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	err = Run(t.Context(), []string{"-seed=false"}, Program{Store: filepath.Join(file, "shop.db")})
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrUsage, "the arguments are valid")
}

// TestNothingIsIgnored: a setting that could not take effect is refused, lest somebody
// believes that it has.
func TestNothingIsIgnored(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args        []string
		environment map[string]string
	}{
		"a crowd without a demo":        {args: []string{"-crowd", "3", "-seed=false"}},
		"a limit for users below 0":     {args: []string{"-attempts-per-user", "-1"}},
		"a limit for addresses below 0": {args: []string{"-attempts-per-address", "-1"}},
		"a limit of a user's checkouts": {args: []string{"-checkouts-per-user", "-1"}},
		"one of those of an address":    {args: []string{"-checkouts-per-address", "-1"}},
		"a sweep that never ends":       {args: []string{"-sweep", "0"}},
		"a sweep without a pause":       {args: []string{"-sweep", "1ns"}},
		"a reconcile of the past":       {args: []string{"-reconcile", "-5m"}},
		"a reconcile without a pause":   {args: []string{"-reconcile", "1us"}},
		"an end before its signal":      {args: []string{"-drain", "-1s"}},
		"an end that never comes":       {args: []string{"-drain", "1000h"}},
		"a crowd beyond all memory":     {args: []string{"-crowd", "9000000000000000000"}},
		"a limit that limits nothing":   {args: []string{"-attempts-per-user", "9000000000000000000"}},
		"another one for addresses":     {args: []string{"-checkouts-per-address", "1000001"}},
		"a public URL without a scheme": {args: []string{"-public-url", "shop.example"}},
		"a public URL of another one":   {args: []string{"-public-url", "javascript://shop.example/"}},
		"a public URL without a host":   {args: []string{"-public-url", "https:///shop"}},
		"a public URL that is none":     {args: []string{"-public-url", "https://shop.example:port"}},
		"a public URL with a user":      {args: []string{"-public-url", "https://shop:secret@shop.example"}},
		"a public URL with a query":     {args: []string{"-public-url", "https://shop.example/?a=b"}},
		"a public URL with a fragment":  {args: []string{"-public-url", "https://shop.example/#a"}},
		"a public URL with a path":      {args: []string{"-public-url", "https://shop.example/secret"}},
		"Stripe's address alone":        {environment: map[string]string{"STRIPE_API_URL": "http://127.0.0.1:1"}},
	} {
		_, err := readConfig(test.args, Program{Getenv: func(name string) string { return test.environment[name] }}.orDefaults())
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "secret", name)
	}
	for _, public := range []string{"http://127.0.0.1:8080", "https://shop.example", "https://shop.example/"} {
		_, err := readConfig([]string{"-public-url", public, "-seed=false"}, Program{}.orDefaults())
		require.NoError(t, err, public)
	}
}

// TestNoKnownPasswordIsMadeUnasked: beside Stripe, or where customers come by https, the
// demo's administrators are made for who asks for them, and for nobody else.
func TestNoKnownPasswordIsMadeUnasked(t *testing.T) {
	t.Parallel()
	stripe := map[string]string{"STRIPE_SECRET_KEY": "sk_live_secret", "STRIPE_WEBHOOK_SECRET": "whsec_secret"}
	for name, test := range map[string]struct {
		args        []string
		environment map[string]string
	}{
		"Stripe":            {environment: stripe},
		"https":             {args: []string{"-public-url", "https://shop.example"}},
		"https in capitals": {args: []string{"-public-url", "HTTPS://shop.example"}},
		"with a crowd":      {args: []string{"-crowd", "3"}, environment: stripe},
	} {
		read := func(more ...string) (app.Config, error) {
			return readConfig(append(test.args, more...), Program{Getenv: func(name string) string { return test.environment[name] }}.orDefaults())
		}
		_, err := read()
		require.ErrorContains(t, err, "-seed=false", name)
		require.NotContains(t, err.Error(), "secret", name)
		for _, asked := range []string{"-seed", "-seed=true"} {
			c, err := read(asked)
			require.NoError(t, err, name)
			require.True(t, c.Seed, name)
		}
		if c, err := read("-seed=false"); name != "with a crowd" {
			require.NoError(t, err, name)
			require.False(t, c.Seed, name)
		}
	}
	c, err := readConfig([]string{"-public-url", "http://shop.example"}, Program{}.orDefaults())
	require.NoError(t, err)
	require.True(t, c.Seed)
}

// TestNoPasswordIsPrinted: a database address may hold one.
func TestNoPasswordIsPrinted(t *testing.T) {
	t.Parallel()
	for _, store := range []string{
		"postgres://shop:secret@db/coupons", "postgresql://db/coupons?user=shop&password=secret&sslmode=disable",
		"postgres://shop:secret@db/coupons?sslpassword=secret", "postgres://db/coupons?sslkey=k&PassWord=secret&%zz",
		"postgres://db/coupons?password=%73ecret", "postgres://db/coupons?p%61ssword=secret",
	} {
		name := storeName(store)
		require.NotContains(t, name, "ecret", store)
		require.Contains(t, name, "db/coupons", store)
	}
	require.Equal(t, "memory", storeName("memory"))
}

// The shop's time zone is an IANA name. The zone of the machine has none.
func TestTheTimeZoneIsRead(t *testing.T) {
	t.Parallel()
	c, err := readConfig([]string{"-time-zone", "Europe/Berlin"}, Program{}.orDefaults())
	require.NoError(t, err)
	require.Equal(t, "Europe/Berlin", c.Location.String())
	for _, name := range []string{"", "Local", "Mars/Olympus"} {
		_, err := readConfig([]string{"-time-zone", name}, Program{}.orDefaults())
		require.Error(t, err, name)
	}
}
