package api_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store/memstore"
)

func newAPI(t *testing.T) *api.API {
	t.Helper()
	return newAPIOn(t, memstore.New(), fakeprocessor.New(fakeprocessor.Options{}))
}

func newAPIOn(t *testing.T, coupons *memstore.Store, payments *fakeprocessor.Processor, adjust ...func(*api.Options)) *api.API {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(1)
	s, err := shop.Open(t.Context(), db, shop.Options{PasswordCost: 4})
	require.NoError(t, err)
	service, err := couponkit.New(coupons, couponkit.WithProcessor(payments))
	require.NoError(t, err)
	options := api.Options{Service: service, Shop: s, Webhook: payments.Handler}
	for _, change := range adjust {
		change(&options)
	}
	a, err := api.New(options)
	require.NoError(t, err)
	return a
}

// TestWhatIsRequired: an interface without its parts is not made.
func TestWhatIsRequired(t *testing.T) {
	t.Parallel()
	_, err := api.New(api.Options{})
	require.Error(t, err)
}

// TestAPanicIsAnAnswer: the client gets a problem, and the process lives.
func TestAPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("mistake") })
	mux.HandleFunc("GET /abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	handler := newAPI(t).Wrap(mux)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/panic", nil))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, w.Body.String(), `"code":"internal"`)
	require.NotContains(t, w.Body.String(), "mistake")
	require.Panics(t, func() {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/abort", nil))
	})
}

// TestEveryRequestHasADeadline: a handler that waits for something is told to stop.
func TestEveryRequestHasADeadline(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	var bounded bool
	mux.HandleFunc("GET /", func(_ http.ResponseWriter, r *http.Request) { _, bounded = r.Context().Deadline() })
	newAPI(t).Wrap(mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	require.True(t, bounded)
}

// TestAClientThatHangsUpIsNoFailure: nobody is there to be told, and neither the metrics nor
// the log accuse the service. One for whom it was too slow is its failure.
func TestAClientThatHangsUpIsNoFailure(t *testing.T) {
	t.Parallel()
	hungUp, hangUp := context.WithCancel(t.Context())
	hangUp()
	tooSlow, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for _, row := range []struct {
		name    string
		ctx     context.Context
		status  int
		outcome string
		fails   bool
	}{
		{"hung up", hungUp, 499, "cancelled", false},
		{"too slow", tooSlow, http.StatusServiceUnavailable, "failed", true},
	} {
		var log bytes.Buffer
		a := newAPIOn(t, memstore.New(), fakeprocessor.New(fakeprocessor.Options{}), func(o *api.Options) {
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		mux := http.NewServeMux()
		a.Register(mux)
		handler := a.Wrap(mux)
		a.Metrics.Observe(row.ctx, couponkit.Attempt{Operation: couponkit.OpValidate, Err: fmt.Errorf("look up: %w", row.ctx.Err())})
		r := httptest.NewRequestWithContext(row.ctx, http.MethodGet, "/points", nil)
		r.AddCookie(&http.Cookie{Name: api.SessionCookie, Value: "x"})
		handler.ServeHTTP(httptest.NewRecorder(), r)
		metrics := httptest.NewRecorder()
		handler.ServeHTTP(metrics, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		require.Contains(t, metrics.Body.String(), fmt.Sprintf(`http_request_duration_seconds_count{route="GET /points",status="%d"} 1`, row.status), row.name)
		require.Contains(t, metrics.Body.String(), fmt.Sprintf(`couponkit_attempts_total{operation="validate",outcome=%q} 1`, row.outcome), row.name)
		require.Contains(t, log.String(), fmt.Sprintf("status=%d", row.status), row.name)
		require.Equal(t, row.fails, strings.Contains(log.String(), "level=ERROR"), "%s: %s", row.name, log.String())
	}
}

// TestAnEventThatCannotBeRecorded: the processor is asked to deliver again, and the
// customer's payment waits there until the store is back.
func TestAnEventThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	coupons, payments := memstore.New(), fakeprocessor.New(fakeprocessor.Options{})
	mux := http.NewServeMux()
	a := newAPIOn(t, coupons, payments)
	a.Register(mux)
	session, err := payments.CreateSession(t.Context(), processor.SessionRequest{
		Key: "ord_1", OrderID: "ord_1", Mode: processor.Payment, Currency: pricing.EUR(), Total: 500,
		Lines:     []processor.SessionLine{{LineID: "1", Kind: pricing.Device, ItemID: "case", Name: "Case", Quantity: 1, UnitAmount: 500}},
		ExpiresAt: time.Now().Add(time.Hour), Metadata: map[string]string{processor.MetadataOrderID: "ord_1"},
	})
	require.NoError(t, err)
	require.NoError(t, payments.Pay(session.ID))
	require.NoError(t, coupons.Close())

	delivery := payments.Deliveries()[0]
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/payment/webhook", bytes.NewReader(delivery.Payload))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(fakeprocessor.SignatureHeader, delivery.Signature)
	w := httptest.NewRecorder()
	a.Wrap(mux).ServeHTTP(w, r)
	require.GreaterOrEqual(t, w.Code, http.StatusInternalServerError)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.NotContains(t, w.Body.String(), "store", "what failed is for the log")
}
