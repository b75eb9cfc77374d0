package coupon_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

func usd(minor int64) pricing.Money { return pricing.NewMoney(minor, pricing.USD()) }

func eur(minor int64) pricing.Money { return pricing.NewMoney(minor, pricing.EUR()) }

func jpy(minor int64) pricing.Money { return pricing.NewMoney(minor, pricing.JPY()) }

// Amounts are sorted by currency, however they are given.
func TestAmounts(t *testing.T) {
	t.Parallel()
	given := []pricing.Money{usd(5), eur(1), jpy(2)}
	a := coupon.NewAmounts(given...)
	if diff := cmp.Diff([]pricing.Money{eur(1), jpy(2), usd(5)}, a.Slice()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.Equal(t, usd(5), given[0], "the arguments stay in their order")
	require.True(t, a.Equal(coupon.NewAmounts(eur(1), jpy(2), usd(5))))
	require.False(t, a.Equal(coupon.NewAmounts(eur(1), jpy(2))))
	minor, found := a.In(pricing.USD())
	require.True(t, found)
	require.EqualValues(t, 5, minor)
	_, found = a.In(pricing.GBP())
	require.False(t, found)
	require.True(t, coupon.NewAmounts().IsZero())
	_, found = coupon.Amounts{}.In(pricing.USD())
	require.False(t, found)
}

// What is read is what was written, and says the same in other JSON.
func TestAmountsInJSON(t *testing.T) {
	t.Parallel()
	a := coupon.NewAmounts(usd(5), eur(100_00), jpy(700))
	text, err := json.Marshal(a)
	require.NoError(t, err)
	require.JSONEq(t, `{"EUR":"100.00","JPY":"700","USD":"0.05"}`, string(text))
	for _, text := range []string{string(text), `{"usd":5e-2,"JPY":7.0e2,"eur":100}`} {
		var read coupon.Amounts
		require.NoError(t, json.Unmarshal([]byte(text), &read), text)
		if diff := cmp.Diff(a, read); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	text, err = json.Marshal(coupon.Amounts{})
	require.NoError(t, err)
	require.Equal(t, "null", string(text))
	require.NoError(t, json.Unmarshal(text, &a))
	require.True(t, a.IsZero())
}

// An unreadable set changes nothing, and its faults have the code of their currency.
func TestAmountsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]pricing.FieldCode{
		`{"EUR":"1.001","JPY":0.5,"USD":"1"}`: {"EUR": pricing.FieldTooManyDecimals, "JPY": pricing.FieldTooManyDecimals},
		`{"XXX":"1","Euro":2,"":"3"}`:         {"XXX": pricing.FieldUnknown, "Euro": pricing.FieldUnknown, "": pricing.FieldUnknown},
		`{"EUR":"1","EUR":"1"}`:               {"EUR": pricing.FieldMalformed},
		`{"EUR":"1","eur":"1"}`:               {"eur": pricing.FieldMismatch},
		`{"EUR":"1e18"}`:                      {"EUR": pricing.FieldTooLarge},
		`{"EUR":"ten","USD":[],"JPY":true}`:   {"EUR": pricing.FieldMalformed, "USD": pricing.FieldMalformed, "JPY": pricing.FieldMalformed},
		`{}`:                                  {"": pricing.FieldRequired},
		`["EUR"]`:                             {"": pricing.FieldMalformed},
		`"EUR"`:                               {"": pricing.FieldMalformed},
	} {
		a := coupon.NewAmounts(eur(7))
		err := a.UnmarshalJSON([]byte(text))
		if diff := cmp.Diff(want, codesOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		require.True(t, a.Equal(coupon.NewAmounts(eur(7))), text)
	}
}

// amountFields are the terms of a coupon that are amounts in several currencies.
var amountFields = []string{"minPurchases", "discountValues", "maxDiscounts", "budget"}

// withAmounts is a draft whose fields of that form all have these amounts.
func withAmounts(a coupon.Amounts) coupon.Draft {
	d := ten()
	d.DiscountType, d.DiscountValue = pricing.FixedAmount, decimal.NewFromInt(10)
	d.MinPurchase, d.MaxDiscount = decimal.NewFromInt(50), decimal.New(1, -2)
	d.MinPurchases, d.DiscountValues, d.MaxDiscounts, d.Budget = a, a, a, a
	return d
}

// Each of these faults is reported in every field by the path of its currency.
func TestAmountsThatAreInvalid(t *testing.T) {
	t.Parallel()
	many := make([]pricing.Money, 0, coupon.MaxAmounts+1)
	for _, c := range pricing.Currencies()[:coupon.MaxAmounts+1] {
		many = append(many, pricing.NewMoney(1000, c))
	}
	for name, of := range map[string]struct {
		amounts []pricing.Money
		path    string
		want    pricing.FieldCode
	}{
		"no currency": {[]pricing.Money{usd(1), {}}, "", pricing.FieldRequired},
		"twice":       {[]pricing.Money{usd(1), jpy(5), usd(2)}, ".USD", pricing.FieldMismatch},
		"three times": {[]pricing.Money{usd(1), usd(1), usd(1)}, ".USD", pricing.FieldMismatch},
		"zero":        {[]pricing.Money{usd(0), jpy(1)}, ".USD", pricing.FieldTooSmall},
		"negative":    {[]pricing.Money{jpy(-1)}, ".JPY", pricing.FieldTooSmall},
		"too many":    {many, "", pricing.FieldTooLong},
	} {
		d := withAmounts(coupon.NewAmounts(of.amounts...))
		_, err := coupon.New(d, creation)
		codes := codesOf(err)
		for _, field := range amountFields {
			require.Equal(t, of.want, codes[field+of.path], "%s: %s in %v", name, field, err)
		}
		if of.want != pricing.FieldRequired && of.want != pricing.FieldMismatch {
			continue
		}
		_, err = json.Marshal(d)
		for _, field := range amountFields {
			require.Equal(t, of.want, codesOf(err)[field+of.path], "%s, as JSON: %s in %v", name, field, err)
		}
	}
}

// Amounts of the coupon's currency have fields of their own, except that of a budget.
func TestAmountsInTheCurrencyOfTheCoupon(t *testing.T) {
	t.Parallel()
	_, err := coupon.New(withAmounts(coupon.NewAmounts(eur(9))), creation)
	if diff := cmp.Diff(map[string]pricing.FieldCode{
		"minPurchases.EUR": pricing.FieldNotAllowed, "discountValues.EUR": pricing.FieldNotAllowed, "maxDiscounts.EUR": pricing.FieldNotAllowed,
	}, codesOf(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = coupon.New(withAmounts(coupon.NewAmounts(usd(9))), creation)
	if diff := cmp.Diff(map[string]pricing.FieldCode{"budget.EUR": pricing.FieldRequired}, codesOf(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Beside amounts that cannot be read, the others of the set are judged, and nothing is reported that
// a correction of these amounts avoids.
func TestAmountsBesideUnreadableOnes(t *testing.T) {
	t.Parallel()
	const begin = `{"code":"A","name":"A","currency":"EUR","discountType":"FIXED_AMOUNT","discountValue":"10","maxDiscount":"5","minPurchase":"5",`
	for terms, want := range map[string]map[string]pricing.FieldCode{
		`"minPurchases":{"XXX":"1","USD":"-1"}`:                     {"minPurchases.XXX": pricing.FieldUnknown, "minPurchases.USD": pricing.FieldTooSmall},
		`"budget":{"JPY":"0.1","EUR":"0"}`:                          {"budget.JPY": pricing.FieldTooManyDecimals, "budget.EUR": pricing.FieldTooSmall},
		`"budget":{"EURO":"1","USD":"1"}`:                           {"budget.EURO": pricing.FieldUnknown},
		`"discountValues":{"JPY":"0.1"},"maxDiscounts":{"JPY":"9"}`: {"discountValues.JPY": pricing.FieldTooManyDecimals},
		`"discountValues":{"JPY":"9"},"maxDiscounts":{"JPY":"0.1"}`: {"maxDiscounts.JPY": pricing.FieldTooManyDecimals},
		`"discountValues":{"JPY":"9"},"maxDiscounts":["JPY"]`:       {"maxDiscounts": pricing.FieldMalformed},
		`"discountValues":{"JPY":"9"},"maxDiscounts":{"YEN":"5"}`:   {"maxDiscounts.YEN": pricing.FieldUnknown},
		`"discountValues":{"JPY":"9","YEN":"1"},"maxUses":0`: {
			"discountValues.YEN": pricing.FieldUnknown, "maxDiscounts.JPY": pricing.FieldRequired, "maxUses": pricing.FieldTooSmall,
		},
	} {
		var d coupon.Draft
		err := d.UnmarshalJSON([]byte(begin + terms + `}`))
		if diff := cmp.Diff(want, codesOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", terms, diff)
		}
	}
	for terms, want := range map[string]map[string]pricing.FieldCode{
		`{"minPurchases":{"XXX":"1","USD":"-1"},"budget":{"JPY":"0.1","EUR":"0"}}`: {
			"minPurchases.XXX": pricing.FieldUnknown, "minPurchases.USD": pricing.FieldTooSmall,
			"budget.JPY": pricing.FieldTooManyDecimals, "budget.EUR": pricing.FieldTooSmall,
		},
		`{"minPurchases":[],"budget":5}`: {"minPurchases": pricing.FieldMalformed, "budget": pricing.FieldMalformed},
	} {
		var p coupon.Patch
		err := p.UnmarshalJSON([]byte(terms))
		if diff := cmp.Diff(want, codesOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", terms, diff)
		}
	}
}
