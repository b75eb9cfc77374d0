package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// TestTheProgramSells buys from the program over HTTP, and returns a unit.
func TestTheProgramSells(t *testing.T) {
	dsn, account := shared.Need(t).NewDatabase(t), stripefake.New(stripefake.Options{WebhookSecret: "whsec_sells"})
	api := httptest.NewServer(account)
	t.Cleanup(api.Close)
	address := freeAddress(t)
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), programVariable+"=1", "DATABASE_URL="+dsn, "ADDRESS="+address,
		"STRIPE_API_URL="+api.URL, "STRIPE_SECRET_KEY=sk_test_sells", "STRIPE_WEBHOOK_SECRET=whsec_sells")
	program.Stderr = os.Stderr
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	post := func(path string, form url.Values) (status int, text string) {
		response, err := http.PostForm("http://"+address+path, form) //nolint:noctx // the program is killed at the end
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, strings.TrimSpace(string(body))
	}

	order := url.Values{"id": {"1001"}, "customer": {"ann"}}
	require.Eventually(t, func() bool { status, _ := post("/orders", order); return status == http.StatusOK }, time.Minute, 10*time.Millisecond)
	status, page := post("/orders", order)
	require.Equal(t, http.StatusOK, status, "a form that is sent twice is one order")
	sessions := account.Sessions()
	require.Len(t, sessions, 1)
	require.True(t, strings.HasSuffix(page, sessions[0].ID), page)
	require.NoError(t, account.Pay(sessions[0].ID))
	for range 2 { // Stripe delivers at least once
		for _, e := range account.Events() {
			status, err := account.Send(t.Context(), http.DefaultClient, "http://"+address+"/stripe", e)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
		}
	}
	status, _ = post("/orders", order)
	require.Equal(t, http.StatusConflict, status, "it is paid")
	for range 2 {
		status, _ = post("/refund", url.Values{"id": {"1001"}, "key": {"back-1"}})
		require.Equal(t, http.StatusOK, status)
	}
	require.Len(t, account.Refunds(), 1)
	require.Equal(t, int64(10_00), account.Refunds()[0].Amount)
	status, refused := post("/orders", url.Values{"id": {"1002"}, "customer": {"ann"}, "code": {"NOSUCH"}})
	require.Equal(t, http.StatusUnprocessableEntity, status, refused)

	var rows string
	pool := postgrestest.NewPool(t, dsn)
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT o.state || ' ' || (SELECT count(*) FROM shipments) || ' ' || c.cents
		FROM orders o JOIN credit_notes c ON c.order_id = o.id`).Scan(&rows))
	require.Equal(t, fmt.Sprint("partly_refunded 1 ", 10_00), rows)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}
