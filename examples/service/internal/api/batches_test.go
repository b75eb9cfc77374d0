package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// TestLongWorkOnABatch: a request that runs out of time tells how far it has come, so that the same request goes on. Work
// without any progress is a failure.
func TestLongWorkOnABatch(t *testing.T) {
	t.Parallel()
	service, c := withBatch(t, memstore.New(), 3)
	a := &API{Options: Options{Service: service, BatchTime: time.Millisecond}}
	run := func(ctx context.Context, change func() error) (*httptest.ResponseRecorder, error) {
		r := httptest.NewRequestWithContext(ctx, http.MethodPatch, "/", nil)
		r.SetPathValue("id", c.ID)
		w := httptest.NewRecorder()
		return w, a.inPart(w, r, "spring", http.StatusOK, func(ctx context.Context) (coupon.IssuedBatch, error) {
			require.NoError(t, change())
			<-ctx.Done()
			return coupon.IssuedBatch{}, ctx.Err()
		})
	}
	switched := func(active bool) func() error {
		return func() error {
			_, err := service.SetBatchActive(context.WithoutCancel(t.Context()), c.ID, "spring", active)
			return err
		}
	}
	w, err := run(t.Context(), switched(false))
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, w.Code)
	var b coupon.IssuedBatch
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &b))
	require.Equal(t, int64(3), b.Inactive)

	_, err = run(t.Context(), switched(false)) // nothing changes
	require.ErrorIs(t, err, context.DeadlineExceeded)

	hungUp, hangUp := context.WithCancel(t.Context())
	_, err = run(hungUp, func() error { hangUp(); return switched(true)() })
	require.ErrorIs(t, err, context.Canceled)
}

// withBatch returns a service with a coupon that has the batch "spring".
func withBatch(t *testing.T, s store.Store, count int64) (*couponkit.Service, coupon.Coupon) {
	t.Helper()
	service, err := couponkit.New(s)
	require.NoError(t, err)
	c, err := service.Create(t.Context(), coupon.Draft{
		Name: "Campaign", Code: "CAMPAIGN", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "5"},
	})
	require.NoError(t, err)
	_, err = service.CreateCodes(t.Context(), c.ID, coupon.BatchDraft{Batch: coupon.Batch{ID: "spring"}, Count: count}, nil)
	require.NoError(t, err)
	return service, c
}

// brokenPages fails to read all pages of codes but the first.
type brokenPages struct{ store.Store }

func (s brokenPages) ListCodes(ctx context.Context, list store.CodeList) (store.CodePage, error) {
	if list.After != "" {
		return store.CodePage{}, errors.New("the database has gone")
	}
	return s.Store.ListCodes(ctx, list)
}

// TestADownloadThatBreaksOff: a client is not told that a part of the codes is the whole file.
func TestADownloadThatBreaksOff(t *testing.T) {
	t.Parallel()
	service, c := withBatch(t, brokenPages{memstore.New()}, coupon.MaxCodes+1)
	a, err := New(Options{Service: service, Shop: &shop.DB{}, Webhook: func(func(context.Context, processor.Event) error) http.Handler { return nil }})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/{id}/{batch}", func(w http.ResponseWriter, r *http.Request) { a.serve(call{handle: (*API).downloadCodes}, w, r) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/"+c.ID+"/spring", http.NoBody)
	require.NoError(t, err)
	response, err := server.Client().Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = io.ReadAll(response.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
