package eligibility_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// A quote records what a refund needs of a coupon whose refunds are rebilled.
func TestQuotesRecordThresholds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: "book", ItemID: "b", Quantity: 5, UnitPrice: 1_000}}}
	for policy, want := range map[pricing.RefundPolicy]pricing.RefundTerms{
		pricing.Keep:   {Policy: pricing.Keep},
		pricing.Rebill: {Policy: pricing.Rebill, MinPurchase: 2_000, MinQuantity: 2},
	} {
		c, err := coupon.New(coupon.Draft{
			Code: "TEN", Name: "Ten", DiscountType: pricing.Percentage, Percent: "10",
			MinPurchase: coupon.Amounts{"": "20"}, MinQuantity: coupon.Set(2), RefundPolicy: policy,
		}, coupon.Creation{ID: "cpn_1", At: at})
		require.NoError(t, err)
		r, err := eligibility.Evaluate(&c, cart, eligibility.Question{At: at, Customer: eligibility.Customer{ID: "u"}})
		require.NoError(t, err)
		require.NoError(t, r.Decision.Err())
		require.Equal(t, want, r.Quote.Coupons[0].Refund)
	}
}
