package eligibility_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// Section 3.5: an amount of required units counts at list prices, covered by the coupon or not. Shipping and
// units with a list price of 0 never count. The bound is inclusive.
func TestAnAmountOfRequiredUnits(t *testing.T) {
	t.Parallel()
	all, tablets := coupon.Scope{AppliesTo: coupon.All}, coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems("tablet")}
	requires := func(scope coupon.Scope, quantity, minor int64) coupon.Contents {
		return coupon.Contents{Scope: scope, Quantity: quantity, MinPurchase: least(minor)}
	}
	for name, test := range map[string]struct {
		contains coupon.Contents
		change   func(*situation)
		want     *coupon.Params // nil if the coupon is allowed
	}{
		"the whole cart":       {requires(all, 1, 95_000), nil, nil},
		"shipping":             {requires(all, 1, 95_001), nil, &coupon.Params{ContainedQuantity: 3, MinPurchase: euroParam(95_001), ContainedSubtotal: euroParam(95_000), Missing: euroParam(1)}},
		"not covered":          {requires(tablets, 1, 90_000), nil, nil},
		"not enough":           {requires(tablets, 1, 90_001), nil, &coupon.Params{ContainedQuantity: 1, MinPurchase: euroParam(90_001), ContainedSubtotal: euroParam(90_000), Missing: euroParam(1)}},
		"amount, not quantity": {requires(tablets, 2, 90_000), nil, &coupon.Params{ContainedQuantity: 1, MissingQuantity: 1, MinPurchase: euroParam(90_000), ContainedSubtotal: euroParam(90_000)}},
		"neither":              {requires(plans(), 2, 500), nil, &coupon.Params{MissingQuantity: 2, MinPurchase: euroParam(500), ContainedSubtotal: euroParam(0), Missing: euroParam(500)}},
		"units that cost nothing": {
			requires(tablets, 1, 1), func(s *situation) { s.cart.Lines[1].UnitPrice = 0 },
			&coupon.Params{MissingQuantity: 1, MinPurchase: euroParam(1), ContainedSubtotal: euroParam(0), Missing: euroParam(1)},
		},
	} {
		s := sound()
		s.coupon.Conditions.Contains = test.contains
		if test.change != nil {
			test.change(&s)
		}
		require.NoError(t, s.coupon.Validate(), name)
		result, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
		require.NoError(t, err)
		var want []coupon.Reason
		if test.want != nil {
			test.want.Contains = test.contains
			want = []coupon.Reason{{Code: coupon.RequiredItemsMissing, Params: *test.want}}
		}
		if diff := cmp.Diff(want, result.Decision.Reasons()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Section 2.8: a cart in a currency without the amount is refused, and the amounts are not compared. The quantity is.
func TestAnAmountOfRequiredUnitsInOtherCurrencies(t *testing.T) {
	t.Parallel()
	s := sound()
	s.coupon.Conditions.MinPurchase = coupon.MoneySet{}
	contains := coupon.Contents{
		Scope: coupon.Scope{AppliesTo: coupon.All}, Quantity: 3,
		MinPurchase: coupon.NewMoneySet(pricing.NewMoney(1_000_000, pricing.EUR()), pricing.NewMoney(1_000, pricing.USD())),
	}
	s.coupon.Conditions.Contains = contains
	for currency, want := range map[pricing.Currency][]coupon.RejectionCode{
		pricing.EUR(): {coupon.RequiredItemsMissing}, pricing.USD(): nil, pricing.GBP(): {coupon.CurrencyMismatch},
	} {
		s.cart.Currency = currency
		result, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
		require.NoError(t, err)
		var got []coupon.RejectionCode
		for _, r := range result.Decision.Reasons() {
			got = append(got, r.Code)
		}
		require.Equal(t, want, got, currency)
	}
	s.coupon.Conditions.Contains.Quantity = 4
	result, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	require.NoError(t, err)
	require.True(t, result.Decision.Has(coupon.RequiredItemsMissing))
	s.cart.Currency = pricing.GBP()
	result, err = eligibility.Evaluate(&s.coupon, s.cart, s.question)
	require.NoError(t, err)
	want := coupon.Params{Contains: s.coupon.Conditions.Contains, ContainedQuantity: 3, MissingQuantity: 1}
	if diff := cmp.Diff(want, result.Decision.Reasons()[0].Params); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
