package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// TestTheShopSells runs the program within the test, where the race detector sees it, and ends it
// as an operator does. What is then left to do, another life does.
func TestTheShopSells(t *testing.T) {
	w := newWorld(t, "")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, arguments(), writer, w.now, func(pool *pgxpool.Pool) pgxstore.Beginner { return pool })
	}()
	(&program{w: w, out: bufio.NewReader(reader)}).listens()
	w.customersBuy(4)
	for !t.Failed() && w.calls.Load() < 150 {
		time.Sleep(time.Millisecond)
	}
	w.leave()
	w.answers()
	stop()
	require.NoError(t, <-ended)
	require.Empty(t, w.violations(t.Context()))
	w.settle()
	require.Empty(t, w.violations(t.Context()))
	require.Empty(t, w.differences(t.Context()))
	require.NoError(t, storetest.Check(t.Context(), w.store))
	t.Log(w.summary())
}

// answers asks the running shop what it says to whom.
func (w *world) answers() {
	w.t.Helper()
	ask := func(language, body string) (int, string) {
		request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, *w.address.Load()+"/orders", strings.NewReader(body))
		require.NoError(w.t, err)
		request.Header.Set("Accept-Language", language)
		answer, err := w.client.Do(request)
		require.NoError(w.t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(w.t, err)
		require.NoError(w.t, answer.Body.Close())
		return answer.StatusCode, strings.TrimSpace(string(text))
	}
	const good = `{"id":"a-1","customer":"ann","item":"phone","quantity":1,"code":%q}`
	for _, refused := range []struct {
		language, body string
		status         int
		text           string
	}{
		{"de", fmt.Sprintf(good, "NOSUCH"), http.StatusUnprocessableEntity, "Diesen Code gibt es nicht."},
		{"en-GB", fmt.Sprintf(good, "NOSUCH"), http.StatusUnprocessableEntity, "This code does not exist."},
		{"en", `{"id":"a-2","customer":"ann","item":"phone","quantity":-1}`, http.StatusBadRequest, "quantity"},
		{"en", `{"id":"a-\u0000","customer":"ann","item":"phone","quantity":1}`, http.StatusBadRequest, "send an order"},
		{"en", `{"customer":"ann","item":"phone","quantity":1}`, http.StatusBadRequest, "send an order"},
		{"en", `[`, http.StatusBadRequest, "send an order"},
		{"en", strings.Repeat(" ", 1<<13), http.StatusBadRequest, "send an order"},
		{"en", `{"id":"a-1","customer":"bob","item":"phone","quantity":1}`, http.StatusConflict, "another order ID"},
	} {
		status, text := ask(refused.language, refused.body)
		require.Equal(w.t, refused.status, status, "%s: %s", refused.body, text)
		require.Contains(w.t, text, refused.text)
	}
	for range 2 { // the same order has the same page
		status, page := ask("en", fmt.Sprintf(good, "SUMMER10"))
		require.Equal(w.t, http.StatusOK, status, page)
		session, known := w.account.Session(path.Base(page))
		require.True(w.t, known)
		require.EqualValues(w.t, 22_90, session.AmountTotal)
	}
}
