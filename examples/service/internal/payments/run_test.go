package payments_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain requires that goroutines that deliver webhooks end with their context.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRunEndsWithItsContext: a delivery to a shop that does not answer, all who wait for
// something to deliver, and the customer who waits for the shop, end with the context, and none
// of them has failed.
func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	delivered := make(chan struct{})
	first := true
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		delivered <- struct{}{}
		if first {
			first = false
			return
		}
		<-r.Context().Done()
	}))
	defer shop.Close()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	w := newPage(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.simulator.Run(ctx, client, shop.URL, time.Hour, func(err error) { t.Error(err) })
	}()
	sent := make(chan *httptest.ResponseRecorder)
	pay := func() {
		w.sessions++
		session := w.open(t, true, "Phone")
		go func() { sent <- w.post(t, session, "application/x-www-form-urlencoded", "action=pay") }()
		<-delivered
	}
	pay()
	require.Equal(t, http.StatusSeeOther, (<-sent).Code)
	pay()
	select {
	case <-ended:
		t.Fatal("it has ended by itself")
	case <-sent:
		t.Fatal("the customer has not waited for the shop")
	default:
	}
	end()
	<-ended
	require.Equal(t, http.StatusSeeOther, (<-sent).Code)
}

// TestTheStyleSheetIsServedAndNotListed: nobody needs to know what else there is.
func TestTheStyleSheetIsServedAndNotListed(t *testing.T) {
	t.Parallel()
	w := newPage(t)
	for address, status := range map[string]int{
		"/simulator/static/pay.css": http.StatusOK, "/simulator/static/": http.StatusNotFound, "/simulator/static/pay.css/": http.StatusNotFound,
		"/simulator/static/none.css": http.StatusNotFound,
	} {
		answer := httptest.NewRecorder()
		w.mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody))
		if answer.Code != status {
			t.Errorf("%s: status %d, want %d", address, answer.Code, status)
		}
	}
}
