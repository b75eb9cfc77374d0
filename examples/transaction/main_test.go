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

	"github.com/couponkit/couponkit/examples/internal/provider"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// TestTheProgramSells buys tickets from the program over HTTP, and returns one of them.
func TestTheProgramSells(t *testing.T) {
	dsn, inMemory := shared.Need(t).NewDatabase(t), provider.New("https://pay.example/")
	payments := httptest.NewServer(inMemory)
	t.Cleanup(payments.Close)
	address := freeAddress(t)
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), programVariable+"=1", "DATABASE_URL="+dsn, "PROVIDER_URL="+payments.URL, "ADDRESS="+address)
	program.Stderr = os.Stderr
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
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
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	order := url.Values{"id": {"1001"}, "customer": {"ann"}}
	require.Eventually(t, func() bool { status, _ := post("/orders", order); return status == http.StatusOK }, time.Minute, 10*time.Millisecond)
	status, page := post("/orders", order)
	require.Equal(t, http.StatusOK, status, "a form that is sent twice is one order")
	require.Equal(t, inMemory.Payments()[0].URL, page)
	require.NoError(t, inMemory.Pay("pay-1"))
	for range 2 {
		status, _ = post("/webhook", url.Values{"payment": {"pay-1"}})
		require.Equal(t, http.StatusOK, status)
	}
	status, _ = post("/orders", order)
	require.Equal(t, http.StatusConflict, status, "it is paid")
	for range 2 {
		status, _ = post("/refund", url.Values{"id": {"1001"}, "key": {"back-1"}})
		require.Equal(t, http.StatusOK, status)
	}
	require.Equal(t, int64(10_00), inMemory.Payments()[0].Refunded())
	status, refused := post("/orders", url.Values{"id": {"1002"}, "customer": {"ann"}, "code": {"NOSUCH"}})
	require.Equal(t, http.StatusUnprocessableEntity, status, refused)

	var rows string
	pool := postgrestest.NewPool(t, dsn)
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT o.state || ' ' || (SELECT count(*) FROM tickets) || ' ' || c.cents
		FROM orders o JOIN credit_notes c ON c.order_id = o.id`).Scan(&rows))
	require.Equal(t, fmt.Sprint("partly_refunded 2 ", 10_00), rows)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}
