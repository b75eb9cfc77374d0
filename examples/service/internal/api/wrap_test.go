package api_test

import (
	"bytes"
	"database/sql"
	"net/http"
	"net/http/httptest"
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

func newAPIOn(t *testing.T, coupons *memstore.Store, payments *fakeprocessor.Processor) *api.API {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(1)
	s, err := shop.Open(t.Context(), db, shop.Options{PasswordCost: 4})
	require.NoError(t, err)
	service, err := couponkit.New(coupons, payments)
	require.NoError(t, err)
	a, err := api.New(api.Options{Service: service, Orders: coupons, Shop: s, Webhook: payments.Handler})
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
