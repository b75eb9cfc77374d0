package pricing_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// All faults of the terms of a discount are named at once, each by its path.
func TestFaultsOfDiscountTerms(t *testing.T) {
	t.Parallel()
	eur, usd, ten := pricing.EUR(), pricing.USD(), percent(t, "10")
	type terms = pricing.DiscountTerms
	many := make([]pricing.CurrencyTerms, pricing.MaxCurrencies)
	steps := make([]pricing.Tier, pricing.MaxTiers+1)
	tests := map[string]struct {
		terms terms
		want  map[string]validation.Code
	}{
		"no type":      {terms{}, map[string]validation.Code{"discountType": validation.Required}},
		"unknown type": {terms{Type: 99}, map[string]validation.Code{"discountType": validation.Unknown}},
		"unknown lane": {terms{Type: pricing.Percentage, Percent: ten, Lane: 9}, map[string]validation.Code{"lane": validation.Unknown}},
		"a lane that the type cannot have": {
			terms{Type: pricing.CheapestUnits, Percent: ten, Units: 1, Lane: pricing.OrderLane}, map[string]validation.Code{"lane": validation.NotAllowed},
		},
		"a percentage of nothing": {
			terms{Type: pricing.BuyXGetY, TierBasis: pricing.ByQuantity, MaxUnits: 1, Tiers: []pricing.Tier{{From: 1, Percent: ten}}},
			map[string]validation.Code{
				"discountValue": validation.Required, "buyQuantity": validation.Required, "getQuantity": validation.Required,
				"maxUnits": validation.NotAllowed, "tierBasis": validation.NotAllowed, "tiers": validation.NotAllowed,
			},
		},
		"an amount with a percentage": {
			terms{Type: pricing.FixedAmount, Percent: ten}, map[string]validation.Code{"discountValue": validation.Required, "currency": validation.Required},
		},
		"negative amounts": {
			terms{Type: pricing.FixedUnitPrice, Amount: -1, Currency: eur, MaxDiscount: -1, MaxUnits: -1},
			map[string]validation.Code{"discountValue": validation.TooSmall, "maxDiscount": validation.TooSmall, "maxUnits": validation.TooSmall},
		},
		"too many units": {
			terms{Type: pricing.CheapestUnits, Percent: ten, Units: pricing.MaxDiscountUnits + 1}, map[string]validation.Code{"units": validation.TooLarge},
		},
		"too many currencies": {
			terms{Type: pricing.FixedAmount, Amount: 1, Currency: eur, Others: many}, map[string]validation.Code{"discountValue": validation.TooLong},
		},
		"currencies": {
			terms{Type: pricing.FixedAmount, Amount: 1, Currency: eur, Others: []pricing.CurrencyTerms{{}, {Currency: eur, Amount: 1}, {Currency: usd, MaxDiscount: 1}}},
			map[string]validation.Code{
				"discountValue.": validation.Required, "discountValue.EUR": validation.Mismatch, "discountValue.USD": validation.Required,
				"maxDiscount.USD": validation.NotAllowed,
			},
		},
		"a maximum in one currency only": {
			terms{Type: pricing.Percentage, Percent: ten, Currency: eur, MaxDiscount: 1, Others: []pricing.CurrencyTerms{{Currency: usd}}},
			map[string]validation.Code{"maxDiscount.USD": validation.Required},
		},
		"a currency without an amount": {
			terms{Type: pricing.Percentage, Percent: ten, Currency: eur, Others: []pricing.CurrencyTerms{{Currency: usd}}},
			map[string]validation.Code{"discountValue.USD": validation.NotAllowed},
		},
		"an amount of a percentage": {
			terms{Type: pricing.Percentage, Percent: ten, Currency: eur, Others: []pricing.CurrencyTerms{{Currency: usd, Amount: 1}}},
			map[string]validation.Code{"discountValue.USD": validation.NotAllowed},
		},
		"tiers of several currencies": {
			terms{Type: pricing.Tiered, TierBasis: pricing.ByAmount, Currency: eur, Tiers: []pricing.Tier{{Amount: 1}}, Others: []pricing.CurrencyTerms{{Currency: usd}}},
			map[string]validation.Code{"maxDiscount.USD": validation.NotAllowed},
		},
		"no tiers":      {terms{Type: pricing.Tiered}, map[string]validation.Code{"tierBasis": validation.Required, "tiers": validation.Required}},
		"too many":      {terms{Type: pricing.Tiered, TierBasis: pricing.ByQuantity, Tiers: steps}, map[string]validation.Code{"tiers": validation.TooLong}},
		"unknown basis": {terms{Type: pricing.Tiered, TierBasis: 9, Tiers: []pricing.Tier{{Percent: ten}}}, map[string]validation.Code{"tierBasis": validation.Unknown}},
		"tiers out of order": {
			terms{Type: pricing.Tiered, TierBasis: pricing.ByQuantity, Currency: eur, Tiers: []pricing.Tier{
				{From: -1, Amount: -1}, {From: 5}, {From: 5, Percent: ten, Amount: 1}, {From: pricing.MaxDiscountUnits + 1, Percent: ten},
			}},
			map[string]validation.Code{
				"tiers[0].from": validation.TooSmall, "tiers[0].amount": validation.TooSmall, "tiers[1].percent": validation.Required,
				"tiers[2].from": validation.Mismatch, "tiers[2].amount": validation.NotAllowed, "tiers[3].from": validation.TooLarge,
			},
		},
	}
	for name, test := range tests {
		d, err := pricing.NewDiscount(test.terms)
		if diff := cmp.Diff(test.want, faultsOf(err)); diff != "" || !d.IsZero() {
			t.Errorf("%s: %v (-want +got):\n%s", name, d, diff)
		}
		var faults *validation.Error
		require.ErrorAs(t, err, &faults)
		told := map[string]bool{}
		for _, f := range faults.Fields {
			require.False(t, told[f.Path+string(f.Code)], "%s: %s is told twice", name, f.Path)
			told[f.Path+string(f.Code)] = true
		}
	}
}

// A discount tells its terms: its text, its currencies and its first tier.
func TestDiscountsOfEveryType(t *testing.T) {
	t.Parallel()
	eur, usd, ten := pricing.EUR(), pricing.USD(), percent(t, "10")
	type terms = pricing.DiscountTerms
	for _, test := range []struct {
		terms      terms
		text       string
		currencies []pricing.Currency // nil fits every currency
		basis      pricing.TierBasis
		from       int64
	}{
		{terms{Type: pricing.Percentage, Percent: ten}, "10 %", nil, 0, 0},
		{terms{Type: pricing.FixedAmount, Amount: 500, Currency: eur}, "5.00 EUR", []pricing.Currency{eur}, 0, 0},
		{
			terms{Type: pricing.FixedAmountPerUnit, Amount: 500, Currency: eur, Others: []pricing.CurrencyTerms{{Currency: usd, Amount: 600}}},
			"5.00 EUR or 6.00 USD off each unit",
			[]pricing.Currency{eur, usd},
			0, 0,
		},
		{terms{Type: pricing.FixedUnitPrice, Amount: 999, Currency: usd}, "9.99 USD for each unit", []pricing.Currency{usd}, 0, 0},
		{terms{Type: pricing.CheapestUnits, Percent: ten, Units: 2}, "10 % off the cheapest 2", nil, 0, 0},
		{terms{Type: pricing.BuyXGetY, Percent: ten, BuyQuantity: 2, GetQuantity: 1}, "buy 2, get 1 at 10 % off", nil, 0, 0},
		{
			terms{Type: pricing.Tiered, TierBasis: pricing.ByAmount, Currency: eur, Tiers: []pricing.Tier{{From: 5000, Percent: ten}, {From: 9000, Amount: 1500}}},
			"2 tiers",
			[]pricing.Currency{eur},
			pricing.ByAmount, 5000,
		},
		{terms{Type: pricing.Tiered, TierBasis: pricing.ByQuantity, Tiers: []pricing.Tier{{From: 3, Percent: ten}}}, "1 tier", nil, pricing.ByQuantity, 3},
	} {
		d, err := pricing.NewDiscount(test.terms)
		require.NoError(t, err, test.text)
		require.Equal(t, test.text, d.String())
		require.Equal(t, fmt.Sprintf("pricing.Discount(%s)", test.text), fmt.Sprintf("%#v", d))
		require.Empty(t, cmp.Diff(test.currencies, d.Currencies()), test.text)
		basis, from := d.FirstTier()
		require.Equal(t, [2]any{test.basis, test.from}, [2]any{basis, from}, test.text)
		buy, get := d.UnitsPerApplication()
		require.Equal(t, [2]int64{test.terms.BuyQuantity, test.terms.GetQuantity}, [2]int64{buy, get}, test.text)
		require.True(t, d.Accepts(pricing.EUR()) || test.terms.Currency == usd, test.text)
		require.Equal(t, test.currencies == nil, d.Accepts(pricing.GBP()), test.text)
		require.Equal(t, d.Accepts(usd), d.Fits(usd) == nil, test.text)
		for _, c := range test.currencies {
			require.ErrorContains(t, d.Fits(pricing.GBP()), c.Code(), test.text)
		}
		_, err = pricing.Price(pricing.Cart{Currency: pricing.GBP(), Lines: []pricing.Line{
			{ID: "1", Kind: "book", Quantity: 3, UnitPrice: 4000},
		}}, pricing.Terms{ID: "1", Discount: d})
		require.Equal(t, d.Accepts(pricing.GBP()), err == nil, "%s: %v", test.text, err)
		again, err := pricing.NewDiscount(d.Terms())
		require.NoError(t, err)
		require.True(t, again.Equal(d), test.text)
	}
}

// Lanes and bases of tiers are read as they are written.
func TestNamesOfLanesAndBases(t *testing.T) {
	t.Parallel()
	for _, lane := range []pricing.Lane{pricing.ItemLane, pricing.OrderLane} {
		got, err := pricing.ParseLane(lane.String())
		require.NoError(t, err)
		require.Equal(t, lane, got)
		require.Equal(t, "pricing.Lane("+lane.String()+")", fmt.Sprintf("%#v", lane))
	}
	for _, basis := range []pricing.TierBasis{pricing.ByAmount, pricing.ByQuantity} {
		got, err := pricing.ParseTierBasis(basis.String())
		require.NoError(t, err)
		require.Equal(t, basis, got)
		require.Equal(t, "pricing.TierBasis("+basis.String()+")", fmt.Sprintf("%#v", basis))
	}
	var names struct {
		Lane  pricing.Lane
		Basis pricing.TierBasis
	}
	require.NoError(t, json.Unmarshal([]byte(`{"Lane":"order","Basis":"QUANTITY"}`), &names))
	text, err := json.Marshal(names)
	require.NoError(t, err)
	require.JSONEq(t, `{"Lane":"order","Basis":"QUANTITY"}`, string(text))
	for _, document := range []string{`{"Lane":"first"}`, `{"Basis":"WEIGHT"}`} {
		require.Error(t, json.Unmarshal([]byte(document), &names), document)
	}
	_, laneErr := pricing.Lane(9).MarshalText()
	_, basisErr := pricing.TierBasis(9).MarshalText()
	require.Error(t, laneErr)
	require.Error(t, basisErr)
	require.Empty(t, pricing.Lane(9).String()+pricing.TierBasis(9).String())
}
