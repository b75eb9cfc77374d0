package pricing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
)

// discountOf returns the discount with the terms.
func discountOf(tb testing.TB, t pricing.DiscountTerms) pricing.Discount {
	tb.Helper()
	d, err := pricing.NewDiscount(t)
	require.NoError(tb, err)
	return d
}

// goldenDiscounts are one discount of each type.
func goldenDiscounts(tb testing.TB) map[string]pricing.Discount {
	tb.Helper()
	eur, half, free := pricing.EUR(), percent(tb, "50"), percent(tb, "100")
	return map[string]pricing.Discount{
		"PERCENTAGE":            discountOf(tb, pricing.DiscountTerms{Type: pricing.Percentage, Percent: half}),
		"FIXED_AMOUNT":          discountOf(tb, pricing.DiscountTerms{Type: pricing.FixedAmount, Amount: 1000, Currency: eur}),
		"FIXED_AMOUNT_PER_UNIT": discountOf(tb, pricing.DiscountTerms{Type: pricing.FixedAmountPerUnit, Amount: 300, Currency: eur}),
		"FIXED_UNIT_PRICE":      discountOf(tb, pricing.DiscountTerms{Type: pricing.FixedUnitPrice, Amount: 500, Currency: eur}),
		"CHEAPEST_UNITS":        discountOf(tb, pricing.DiscountTerms{Type: pricing.CheapestUnits, Percent: free, Units: 2}),
		"BUY_X_GET_Y":           discountOf(tb, pricing.DiscountTerms{Type: pricing.BuyXGetY, Percent: free, BuyQuantity: 2, GetQuantity: 1}),
		"TIERED": discountOf(tb, pricing.DiscountTerms{
			Type: pricing.Tiered, Currency: eur, TierBasis: pricing.ByAmount,
			Tiers: []pricing.Tier{{From: 1000, Percent: percent(tb, "10")}, {From: 3000, Amount: 700}},
		}),
	}
}
