package eligibility_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// tiersFrom are 10 % from the given basis, and 20 % from ten times as much.
func tiersFrom(t *testing.T, basis pricing.TierBasis, from int64) pricing.Discount {
	t.Helper()
	ten, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	twenty, err := pricing.ParsePercent("20")
	require.NoError(t, err)
	d, err := pricing.NewDiscount(pricing.DiscountTerms{
		Type: pricing.Tiered, Currency: pricing.EUR(), TierBasis: basis,
		Tiers: []pricing.Tier{{From: from, Percent: ten}, {From: 10 * from, Percent: twenty}},
	})
	require.NoError(t, err)
	return d
}

// TestACartBelowTheFirstTier is refused as one below a minimum, by amount and by quantity, alone
// and in a set, and the reason tells what is missing. The cart has 2 units for 50.00.
func TestACartBelowTheFirstTier(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		basis       pricing.TierBasis
		from        int64
		minQuantity int64
		minPurchase int64
		want        []string
	}{
		"quantity not reached": {
			basis: pricing.ByQuantity, from: 3,
			want: []string{`minimum_quantity_not_met {"minQuantity":3,"eligibleQuantity":2,"missingQuantity":1}`},
		},
		"quantity and a smaller minimum": {
			basis: pricing.ByQuantity, from: 5, minQuantity: 2,
			want: []string{`minimum_quantity_not_met {"minQuantity":5,"eligibleQuantity":2,"missingQuantity":3}`},
		},
		"quantity and a larger minimum": {
			basis: pricing.ByQuantity, from: 2, minQuantity: 4,
			want: []string{`minimum_quantity_not_met {"minQuantity":4,"eligibleQuantity":2,"missingQuantity":2}`},
		},
		"quantity and a minimum purchase": {
			basis: pricing.ByQuantity, from: 3, minPurchase: 60_00,
			want: []string{
				`minimum_purchase_not_met {"minPurchase":"60.00","eligibleSubtotal":"50.00","missing":"10.00"}`,
				`minimum_quantity_not_met {"minQuantity":3,"eligibleQuantity":2,"missingQuantity":1}`,
			},
		},
		"quantity reached":  {basis: pricing.ByQuantity, from: 2},
		"quantity exceeded": {basis: pricing.ByQuantity, from: 1},
		"amount not reached": {
			basis: pricing.ByAmount, from: 50_01,
			want: []string{`minimum_purchase_not_met {"minPurchase":"50.01","eligibleSubtotal":"50.00","missing":"0.01"}`},
		},
		"amount reached": {basis: pricing.ByAmount, from: 50_00},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sound()
			s.coupon.Discount = tiersFrom(t, test.basis, test.from)
			s.coupon.Conditions.MinQuantity, s.coupon.Conditions.MinPurchase = test.minQuantity, least(test.minPurchase)
			alone, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
			require.NoError(t, err)
			if diff := cmp.Diff(test.want, reasonsOf(t, alone.Decision)); diff != "" {
				t.Errorf("alone (-want +got):\n%s", diff)
			}
			s.coupon.Group = "tiers"
			other := member("OTHER", "other", amountOff(1_00))
			set, err := eligibility.EvaluateSet([]eligibility.Candidate{{Coupon: &s.coupon, Usage: s.question.Usage}, other}, s.cart, s.question)
			require.NoError(t, err)
			for _, o := range set.Coupons {
				want := test.want
				if o.CouponID == other.Coupon.ID {
					want = nil
				}
				if diff := cmp.Diff(want, reasonsOf(t, o.Decision)); diff != "" {
					t.Errorf("%s in a set (-want +got):\n%s", o.Code, diff)
				}
			}
		})
	}
}

// TestFreeUnitsReachNoTierByQuantity: a cart of free units misses as many as one without them. From 0
// on nothing is missing, and the coupon takes nothing off.
func TestFreeUnitsReachNoTierByQuantity(t *testing.T) {
	t.Parallel()
	for from, want := range map[int64]string{
		2: `minimum_quantity_not_met {"minQuantity":2,"missingQuantity":2}`,
		0: `no_discount {}`,
	} {
		s := sound()
		s.coupon.Discount, s.coupon.Conditions.MinPurchase = tiersFrom(t, pricing.ByQuantity, max(from, 1)), least(0)
		if from == 0 {
			s.coupon.Discount = tierOf(t, 0, 1000)
		}
		s.cart.Lines[0].UnitPrice = 0
		result, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
		require.NoError(t, err)
		require.Equal(t, []string{want}, reasonsOf(t, result.Decision))
	}
}

// TestFreeUnitsDoNotCountForAMinimumQuantity: the reason tells how many units that cost something are
// missing.
func TestFreeUnitsDoNotCountForAMinimumQuantity(t *testing.T) {
	t.Parallel()
	s := sound() // 2 phones
	s.coupon.Conditions.MinQuantity = 3
	s.cart.Lines = append(s.cart.Lines, pricing.Line{ID: "G", Kind: pricing.Device, ItemID: "phone", Quantity: 5})
	result, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	require.NoError(t, err)
	require.Equal(t, []string{`minimum_quantity_not_met {"minQuantity":3,"eligibleQuantity":2,"missingQuantity":1}`}, reasonsOf(t, result.Decision))
	s.cart.Lines[3].Quantity, s.cart.Lines[3].UnitPrice = 1, 1
	result, err = eligibility.Evaluate(&s.coupon, s.cart, s.question)
	require.NoError(t, err)
	require.NoError(t, result.Decision.Err())
}

func reasonsOf(t *testing.T, d eligibility.Decision) (texts []string) {
	t.Helper()
	for _, r := range d.Reasons() {
		params, err := json.Marshal(r.Params)
		require.NoError(t, err)
		texts = append(texts, fmt.Sprintf("%s %s", r.Code, params))
	}
	return texts
}
