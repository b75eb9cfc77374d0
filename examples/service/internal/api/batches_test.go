package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/memstore"
)

// TestLongWorkOnABatch: a request that runs out of time tells how far it has come, so that the same request goes on. Work
// without any progress is a failure.
func TestLongWorkOnABatch(t *testing.T) {
	t.Parallel()
	service, err := couponkit.New(memstore.New())
	require.NoError(t, err)
	c, err := service.Create(t.Context(), coupon.Draft{
		Name: "Campaign", Code: "CAMPAIGN", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "5"},
	})
	require.NoError(t, err)
	draft := coupon.BatchDraft{Batch: coupon.Batch{ID: "spring"}, Count: 3}
	_, err = service.CreateCodes(t.Context(), c.ID, draft, nil)
	require.NoError(t, err)
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
