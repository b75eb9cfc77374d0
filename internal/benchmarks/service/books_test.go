package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain requires that what was started has ended.
func TestMain(m *testing.M) {
	status := m.Run()
	client.CloseIdleConnections()
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// buy is one checkout as checkout.lua plays it, up to the payment.
func buy(t *testing.T, c *customer, body string) error {
	t.Helper()
	var checkout struct{ OrderID, URL string }
	if err := c.call(t.Context(), http.MethodPost, "/payment/cart-checkout", jsonText(body), &checkout); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, checkout.URL, strings.NewReader(url.Values{"action": {"pay"}}.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	return nil
}

// jsonText is JSON already.
type jsonText string

func (j jsonText) MarshalJSON() ([]byte, error) { return []byte(j), nil }

// TestTheBooks: the check passes a service that has kept its books, and tells of each
// difference: with what customers saw, what the processor was paid, and what stands in
// the tables.
func TestTheBooks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "load.db")
	service, err := build(t.Context(), t.TempDir())
	require.NoError(t, err)
	ctx := context.WithoutCancel(t.Context()) // it is stopped after the test
	running, err := start(ctx, exec.CommandContext(ctx, service, "-addr", "127.0.0.1:0", "-store", file, "-crowd", "2", "-behind-proxy", "-log", "error"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, running.stop()) })
	admin, err := signIn(t.Context(), running.url, running.admin, "203.0.113.1")
	require.NoError(t, err)
	crowd, err := signInCrowd(t.Context(), running.url, running.crowd, 2)
	require.NoError(t, err)

	c := cell{connections: len(crowd)}
	c.measured, err = createCoupon(t.Context(), admin, "LOAD", 10, 1_000)
	require.NoError(t, err)
	c.scarce, err = createCoupon(t.Context(), admin, "SCARCE", 20, 2)
	require.NoError(t, err)
	for i := range 4 {
		require.NoError(t, buy(t, crowd[i%2], checkoutBody("LOAD", "9.90", "94.00")))
	}
	for i := range 3 {
		if err := buy(t, crowd[i%2], checkoutBody("SCARCE", "19.80", "84.10")); i < 2 {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "usage_limit_reached")
		}
	}
	c.checkout = result{Done: 6, Scarce: 2, Refused: 1}

	b := bench{settings: settings{scarce: 2}}
	check := func(c cell) (books, error) { return b.check(t.Context(), admin, []cell{c}) }
	k, err := check(c)
	require.NoError(t, err)
	require.Equal(t, books{paid: 6, completed: 6}, k)
	require.NoError(t, checkDatabase(t.Context(), "sqlite", file, k))
	require.ErrorContains(t, checkDatabase(t.Context(), "sqlite", file, books{paid: 6, completed: 7}), "6, and not 7")

	for name, change := range map[string]func(*cell){
		"an order that somebody saw paid was lost": func(c *cell) { c.checkout.Done = 7 },
		"redemptions that nobody has paid":         func(c *cell) { c.checkout.Done = 3 },
		"nobody was refused":                       func(c *cell) { c.checkout.Refused = 0 },
	} {
		other := c
		change(&other)
		_, err := check(other)
		require.Error(t, err, name)
	}
	b.settings.scarce = 3
	_, err = check(c)
	require.ErrorContains(t, err, "the coupon with 3 uses has 2 redemptions")
}

// TestEachDifferenceIsTold: the books of a service that has not kept them.
func TestEachDifferenceIsTold(t *testing.T) {
	t.Parallel()
	b := bench{settings: settings{scarce: 2}}
	c := cell{connections: 1, checkout: result{Done: 5, Scarce: 2, Refused: 1}}
	texts := func(prefix string, n int64) map[string]bool {
		found := map[string]bool{}
		for i := range n {
			found[fmt.Sprint(prefix, i)] = true
		}
		return found
	}
	good := func(n int64) use {
		return use{used: n, completed: n, sessions: texts("s", n), orders: texts("o", n)}
	}
	require.Empty(t, b.differences(c, good(3), good(2)))
	for name, change := range map[string]func(measured, scarce *use){
		"a use was counted twice":         func(m, _ *use) { m.used++ },
		"a use was not counted":           func(m, _ *use) { m.used-- },
		"one session was redeemed twice":  func(m, _ *use) { delete(m.sessions, "s0") },
		"one order was redeemed twice":    func(m, _ *use) { delete(m.orders, "o0") },
		"a reservation is counted and no": func(_, s *use) { s.reserved++ },
		"the limit was passed":            func(_, s *use) { *s = good(3) },
		"the limit was not reached":       func(_, s *use) { *s = good(1) },
		"a payment over the limit":        func(_, s *use) { s.overLimit = 1 },
		"a redemption was lost":           func(m, _ *use) { *m = good(2) },
		"redemptions that nobody paid":    func(m, _ *use) { *m = good(5) },
	} {
		measured, scarce := good(3), good(2)
		change(&measured, &scarce)
		require.NotEmpty(t, b.differences(c, measured, scarce), name)
	}
}

// TestSettings: what makes no sense is refused before anything is built.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-store", "oracle"}, {"-connections", "many"}, {"-connections", "0"}, {"-connections", "257"}, {"-for", "1ms"}, {"-scarce", "0"}, {"-rounds", "0"}, {"-nonsense"},
	} {
		_, err := readSettings(args, io.Discard)
		require.Error(t, err, args)
	}
	s, err := readSettings([]string{"-connections", "1,64,8"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []int{1, 64, 8}, s.connections)
	require.Equal(t, []string{"sqlite", "postgres"}, s.stores)
}
