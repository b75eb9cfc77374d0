package stripeprocessor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// elaborate are drafts whose discounts Stripe cannot express.
func elaborate(t *testing.T) map[string]coupon.Draft {
	t.Helper()
	return map[string]coupon.Draft{
		"CAP":      {DiscountType: pricing.Percentage, Percent: "50", MaxDiscount: coupon.Amounts{"": "2"}},
		"UNITS":    {DiscountType: pricing.Percentage, Percent: "50", MaxUnits: 2},
		"LANE":     {DiscountType: pricing.Percentage, Percent: "50", Lane: pricing.ItemLane},
		"MONEY":    {DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "5", "USD": "5"}},
		"ÄÖÜ":      {DiscountType: pricing.FixedAmountPerUnit, Amount: coupon.Amounts{"": "2"}}, // Stripe takes no such code
		"PRICE":    {DiscountType: pricing.FixedUnitPrice, Amount: coupon.Amounts{"": "5"}},
		"CHEAPEST": {DiscountType: pricing.CheapestUnits, Percent: "100", Units: 1},
		"BUYGET":   {DiscountType: pricing.BuyXGetY, Percent: "100", BuyQuantity: 2, GetQuantity: 1},
		"TIERS":    {DiscountType: pricing.Tiered, TierBasis: pricing.ByQuantity, Tiers: []coupon.TierDraft{{From: "2", Percent: "15"}}},
	}
}

// TestDiscountsThatStripeCannotExpress: such a coupon has nothing at Stripe, not even for a moment,
// and the session that it discounts is charged exactly.
func TestDiscountsThatStripeCannotExpress(t *testing.T) {
	t.Parallel()
	for code, d := range elaborate(t) {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			d.Code, d.Name, d.MaxUses = code, "Sale", coupon.Set(5)
			c, err := s.service.Create(t.Context(), d)
			require.NoError(t, err)
			require.True(t, c.Active())
			require.Equal(t, coupon.Mirror{Revision: 1, Unsupported: true}, c.Mirror)
			c, err = s.service.Update(t.Context(), c.ID, coupon.Patch{MaxUses: coupon.Set(9)})
			require.NoError(t, err)
			require.Equal(t, coupon.Mirror{Revision: 2, Unsupported: true}, c.Mirror)
			status, err := s.processor.VerifyMirror(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, processor.MirrorUnsupported, status)
			require.Empty(t, s.account.Calls(), "Stripe is asked about a coupon that it cannot have")

			checkout := s.checkout(code, "ann", "cart-1", phones(3),
				pricing.Line{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90})
			require.Less(t, checkout.Order.Quote.Total, int64(3*8_99+4_90))
			session, ok := s.account.Session(checkout.Session.ID)
			require.True(t, ok)
			require.Equal(t, checkout.Order.Quote.Total, session.AmountTotal)
			require.Empty(t, s.account.Coupons())
			require.Empty(t, s.account.PromotionCodes())
			drifts, err := s.service.Reconcile(t.Context(), couponkit.ReconcileOptions{})
			require.NoError(t, err)
			require.Empty(t, drifts)
			require.NoError(t, s.service.Delete(t.Context(), c.ID))
		})
	}
}

// TestSubscriptionWithADiscountThatStripeCannotExpress: the first period's discount is a coupon of
// the session, as for every coupon, and renewals are not discounted.
func TestSubscriptionWithADiscountThatStripeCannotExpress(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	d := elaborate(t)["CAP"]
	d.Code, d.Name = "CAP", "Sale"
	_, err := s.service.Create(t.Context(), d)
	require.NoError(t, err)
	checkout := s.checkout("CAP", "ann", "cart-1",
		pricing.Line{ID: "1", Kind: pricing.Plan, ItemID: "gold", Quantity: 2, UnitPrice: 9_99, Recurs: pricing.Monthly}, phones(1))
	require.EqualValues(t, 2*9_99+8_99-2_00, checkout.Order.Quote.Total)
	session, ok := s.account.Session(checkout.Session.ID)
	require.True(t, ok)
	require.Equal(t, checkout.Order.Quote.Total, session.AmountTotal)
	require.NoError(t, s.account.Pay(checkout.Session.ID))
	renewal, err := s.account.Renewal(checkout.Session.ID)
	require.NoError(t, err)
	require.Equal(t, int64(2*9_99), renewal)
}
