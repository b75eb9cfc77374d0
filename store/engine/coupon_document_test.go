package engine_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/engine"
)

// TestTheDocumentOfACoupon: the stored bytes of a coupon with most terms are the same on every
// version of Go, and they are read again.
func TestTheDocumentOfACoupon(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	c, err := coupon.New(coupon.Draft{
		Code: "spring", Name: "Spring <&> \u2028 friends", DiscountType: pricing.Percentage, Percent: "12.5",
		AppliesTo: coupon.Specific, DeviceIDs: []string{"phone", "case"}, Categories: []string{"new"}, Group: "season",
		Distribution: coupon.UserSpecific, AllowedUserEmails: coupon.EmailList{"Ann@example.org", "*@example.com"},
		MaxUses: coupon.Set(1000), MinPurchase: coupon.Amounts{"": "50"}, MinQuantity: coupon.Set(2), FirstOrder: true,
		CustomerTags: coupon.CustomerTags{Any: []string{"member"}, None: []string{"staff"}},
		Budget:       coupon.NewAmounts(pricing.NewMoney(10_000_00, pricing.EUR())),
	}, coupon.Creation{ID: "cpn_1", At: noon})
	require.NoError(t, err)
	document, err := engine.EncodeCoupon(c)
	require.NoError(t, err)
	golden, err := os.ReadFile(filepath.Join("testdata", "coupon.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(golden), string(document)+"\n")
	var read coupon.Coupon
	require.NoError(t, engine.ReadCoupon(&read, "TEN", "active", 0, document))
	again, err := engine.EncodeCoupon(read)
	require.NoError(t, err)
	require.Equal(t, string(document), string(again))
}
