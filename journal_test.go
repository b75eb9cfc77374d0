package couponkit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// TestTheBytesOfTheJournal: what the journal tells of coupons, codes, orders, refunds and points is the
// same text on every version of Go.
func TestTheBytesOfTheJournal(t *testing.T) {
	t.Parallel()
	made := 0
	w := newWorld(t, couponkit.WithIDs(func(prefix string) string {
		made++
		return fmt.Sprint(prefix, made)
	}))
	c := w.create(t, tenOff())
	_, err := w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Ten <&> \u2028 off"), MinQuantity: coupon.Set(2)})
	require.NoError(t, err)
	_, err = w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "spring"}, []coupon.CodeDraft{{Code: "SPRING-1", MaxUses: coupon.Set(1)}})
	require.NoError(t, err)
	_, err = w.UpdateCode(t.Context(), "SPRING-1", coupon.CodePatch{Active: coupon.Set(false)})
	require.NoError(t, err)
	first := w.request("TEN")
	first.Key = "first"
	paid := w.checkout(t, first)
	require.NoError(t, w.fake.Pay(paid.Session.ID))
	w.deliver(t)
	_, err = w.Refund(t.Context(), couponkit.RefundRequest{
		OrderID: paid.Order.ID, Key: "one", Returns: pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}},
	})
	require.NoError(t, err)
	w.deliver(t)
	points := percentOff(5)
	points.Distribution, points.PointsRequired = coupon.PointsRedeemable, 10
	w.create(t, points)
	_, err = w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: "PERCENT", Customer: ann})
	require.NoError(t, err)
	w.pass(time.Hour)
	_, err = w.Sweep(t.Context(), 0)
	require.NoError(t, err)

	entries, err := w.store.Journal(t.Context(), 0, 100)
	require.NoError(t, err)
	var lines bytes.Buffer
	for _, e := range entries {
		text, err := json.Marshal(e)
		require.NoError(t, err)
		fmt.Fprintf(&lines, "%s\n", text)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "journal.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(golden), lines.String())
}
