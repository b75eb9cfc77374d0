package coupon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

func usd(minor int64) pricing.Money { return pricing.NewMoney(minor, pricing.USD()) }

func eur(minor int64) pricing.Money { return pricing.NewMoney(minor, pricing.EUR()) }

func jpy(minor int64) pricing.Money { return pricing.NewMoney(minor, pricing.JPY()) }

// A set is sorted by currency, however it is given.
func TestMoneySet(t *testing.T) {
	t.Parallel()
	given := []pricing.Money{usd(5), eur(1), jpy(2)}
	s := coupon.NewMoneySet(given...)
	if diff := cmp.Diff([]pricing.Money{eur(1), jpy(2), usd(5)}, s.Slice()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.Equal(t, usd(5), given[0], "the arguments stay in their order")
	require.True(t, s.Equal(coupon.NewMoneySet(eur(1), jpy(2), usd(5))))
	require.False(t, s.Equal(coupon.NewMoneySet(eur(1), jpy(2))))
	require.Equal(t, "0.01 EUR, 2 JPY, 0.05 USD", s.String())
	require.Empty(t, coupon.MoneySet{}.String())
	minor, found := s.In(pricing.USD())
	require.True(t, found)
	require.EqualValues(t, 5, minor)
	_, found = s.In(pricing.GBP())
	require.False(t, found)
	require.True(t, coupon.NewMoneySet().IsZero())
	_, found = coupon.MoneySet{}.In(pricing.USD())
	require.False(t, found)
}

// What is read is what was written, and says the same in other JSON.
func TestMoneySetInJSON(t *testing.T) {
	t.Parallel()
	s := coupon.NewMoneySet(usd(5), eur(100_00), jpy(700), pricing.NewMoney(0, pricing.GBP()))
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, `{"EUR":"100.00","GBP":"0.00","JPY":"700","USD":"0.05"}`, string(text))
	for _, text := range []string{string(text), `{"usd":5e-2,"JPY":7.0e2,"eur":100,"gbp":"0"}`} {
		var read coupon.MoneySet
		require.NoError(t, json.Unmarshal([]byte(text), &read), text)
		if diff := cmp.Diff(s, read); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	text, err = json.Marshal(coupon.MoneySet{})
	require.NoError(t, err)
	require.Equal(t, "null", string(text))
	require.NoError(t, json.Unmarshal(text, &s))
	require.True(t, s.IsZero())
}

// An unreadable set changes nothing, and its faults have the code of their currency.
func TestMoneySetsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]validation.Code{
		`{"EUR":"1.001","JPY":0.5,"USD":"1"}`: {"EUR": validation.TooManyDecimals, "JPY": validation.TooManyDecimals},
		`{"XXX":"1","Euro":2,"EUR":"-3"}`:     {"XXX": validation.Unknown, "Euro": validation.Unknown, "EUR": validation.TooSmall},
		`{"EUR":"1","EUR":"1"}`:               {"EUR": validation.Malformed},
		`{"EUR":"1","eur":"1"}`:               {"eur": validation.Mismatch},
		`{"EUR":"1e18"}`:                      {"EUR": validation.TooLarge},
		`{"EUR":"ten"}`:                       {"EUR": validation.Malformed},
		`{"USD":[],"JPY":true,"EUR":null}`:    {"USD": validation.Malformed, "JPY": validation.Malformed, "EUR": validation.Required},
		`{}`:                                  {"": validation.Required},
		`["EUR"]`:                             {"": validation.Malformed},
		`"5"`:                                 {"": validation.Malformed},
	} {
		s := coupon.NewMoneySet(eur(7))
		err := s.UnmarshalJSON([]byte(text))
		if diff := cmp.Diff(want, codesOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		require.True(t, s.Equal(coupon.NewMoneySet(eur(7))), text)
	}
}

// An amount in the coupon's own currency is one text, and several are an object. What is no number stays
// out of the set, beside the others.
func TestAmountsInJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]coupon.Amounts{
		`"20.00"`: {"": "20.00"}, `20.50`: {"": "20.50"}, `{"EUR":"20.00","USD":22}`: {"EUR": "20.00", "USD": "22"}, `null`: nil, `"ten"`: {"": "ten"},
	} {
		var read coupon.Amounts
		require.NoError(t, json.Unmarshal([]byte(text), &read), text)
		if diff := cmp.Diff(want, read); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		again, err := json.Marshal(read)
		require.NoError(t, err)
		var back coupon.Amounts
		require.NoError(t, json.Unmarshal(again, &back))
		require.Equal(t, read, back)
	}
	for want, amounts := range map[string]coupon.Amounts{
		`"20.00"`: {"": "20.00"}, `{"EUR":"1"}`: {"EUR": "1"}, `{"":"1","USD":"2"}`: {"": "1", "USD": "2"}, `null`: {},
	} {
		text, err := json.Marshal(amounts)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	var part coupon.Amounts
	err := part.UnmarshalJSON([]byte(`{"EUR":[],"USD":"5","JPY":true}`))
	require.Equal(t, map[string]validation.Code{"EUR": validation.Malformed, "JPY": validation.Malformed}, codesOf(err))
	require.Equal(t, coupon.Amounts{"USD": "5"}, part)
}

// amountFields are the terms of a coupon that are amounts in several currencies.
var amountFields = []string{"minPurchase", "contains.minPurchase", "discountValue", "maxDiscount", "budget"}

// withAmounts is a draft whose fields of that form all have these amounts.
func withAmounts(a coupon.Amounts) coupon.Draft {
	d := ten()
	d.DiscountType, d.Percent = pricing.FixedAmount, ""
	d.Amount, d.MinPurchase, d.MaxDiscount, d.Budget = a, a, a, a
	d.Contains = &coupon.ContentsDraft{MinPurchase: a}
	return d
}

// Each of these faults is reported in every field by the path of its currency, and no other fault is.
func TestAmountsThatAreInvalid(t *testing.T) {
	t.Parallel()
	many := coupon.Amounts{}
	for _, c := range pricing.Currencies()[:coupon.MaxAmounts+1] {
		many[c.Code()] = "1000"
	}
	for name, of := range map[string]struct {
		amounts coupon.Amounts
		path    string
		want    validation.Code
	}{
		"no currency":     {coupon.Amounts{"EUR": "1", "EURO": "2"}, ".EURO", validation.Unknown},
		"no amount":       {coupon.Amounts{"EUR": "1", "USD": ""}, ".USD", validation.Required},
		"no number":       {coupon.Amounts{"EUR": "1", "USD": "two"}, ".USD", validation.Malformed},
		"twice":           {coupon.Amounts{"EUR": "1", "eur": "2"}, ".eur", validation.Mismatch},
		"its own twice":   {coupon.Amounts{"EUR": "1", "": "2"}, ".EUR", validation.Mismatch},
		"zero":            {coupon.Amounts{"EUR": "1", "USD": "0"}, ".USD", validation.TooSmall},
		"negative":        {coupon.Amounts{"EUR": "1", "JPY": "-1"}, ".JPY", validation.TooSmall},
		"decimals":        {coupon.Amounts{"EUR": "1", "JPY": "0.1"}, ".JPY", validation.TooManyDecimals},
		"its own, bare":   {coupon.Amounts{"": "1.001"}, "", validation.TooManyDecimals},
		"its own, named":  {coupon.Amounts{"EUR": "1.001"}, ".EUR", validation.TooManyDecimals},
		"too many":        {many, "", validation.TooLong},
		"a hostile code":  {coupon.Amounts{"EUR": "1", "a.b[0]": "1"}, ".a.b[0]", validation.Unknown},
		"a text too long": {coupon.Amounts{"": strings.Repeat("1", 65)}, "", validation.TooLong},
	} {
		_, err := coupon.New(withAmounts(of.amounts), creation)
		want := map[string]validation.Code{}
		for _, field := range amountFields {
			want[field+of.path] = of.want
		}
		if diff := cmp.Diff(want, codesOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	_, err := coupon.New(withAmounts(coupon.Amounts{"EUR": "20000000000000000"}), creation)
	require.Equal(t, map[string]validation.Code{
		"budget.EUR": validation.TooLarge, "minPurchase.EUR": validation.TooLarge, "contains.minPurchase.EUR": validation.TooLarge,
	}, codesOf(err))
}

// Every set of amounts has one in the currency of the coupon.
func TestAmountsInOtherCurrenciesAlone(t *testing.T) {
	t.Parallel()
	_, err := coupon.New(withAmounts(coupon.Amounts{"USD": "9"}), creation)
	if diff := cmp.Diff(map[string]validation.Code{
		"discountValue.EUR": validation.Required, "maxDiscount.EUR": validation.Required,
		"minPurchase.EUR": validation.Required, "contains.minPurchase.EUR": validation.Required, "budget.EUR": validation.Required,
	}, codesOf(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A percentage is no amount, and an amount no percentage.
func TestTheValueOfADiscount(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		kind    pricing.DiscountType
		percent string
		amount  coupon.Amounts
		want    validation.Code
	}{
		"an amount":                  {pricing.FixedAmount, "", coupon.Amounts{"EUR": "5", "USD": "6"}, ""},
		"an amount and a percentage": {pricing.FixedAmount, "5", coupon.Amounts{"": "5"}, validation.NotAllowed},
		"an amount as a percentage":  {pricing.FixedAmount, "5", nil, validation.NotAllowed},
		"a percentage as an amount":  {pricing.Percentage, "", coupon.Amounts{"": "5"}, validation.NotAllowed},
		"nothing":                    {pricing.Percentage, "", nil, validation.Required},
		"tiers with a value":         {pricing.Tiered, "5", nil, validation.NotAllowed},
	} {
		d := ten()
		d.DiscountType, d.Percent, d.Amount = of.kind, of.percent, of.amount
		if of.kind == pricing.Tiered {
			d.TierBasis, d.Tiers = pricing.ByQuantity, []coupon.TierDraft{{From: "2", Percent: "5"}}
		}
		_, err := coupon.New(d, creation)
		want := map[string]validation.Code{}
		if of.want != "" {
			want["discountValue"] = of.want
		}
		if diff := cmp.Diff(want, codesOf(err), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	both := ten()
	both.Amount = coupon.Amounts{"": "5"}
	_, err := json.Marshal(both)
	require.ErrorIs(t, err, validation.ErrInvalid, "a draft with both has no JSON form")
}

// Beside amounts that cannot be read, the others of the set are judged, and nothing is reported that
// a correction of these amounts avoids.
func TestAmountsBesideUnreadableOnes(t *testing.T) {
	t.Parallel()
	const begin = `{"code":"A","name":"A","currency":"EUR","discountType":"FIXED_AMOUNT",`
	for terms, want := range map[string]map[string]validation.Code{
		`"discountValue":"10","minPurchase":{"EUR":5,"XXX":"1","USD":"-1"}`:       {"minPurchase.XXX": validation.Unknown, "minPurchase.USD": validation.TooSmall},
		`"discountValue":"10","budget":{"JPY":"0.1","EUR":"0"}`:                   {"budget.JPY": validation.TooManyDecimals, "budget.EUR": validation.TooSmall},
		`"discountValue":"10","budget":{"EURO":"1","USD":"1"}`:                    {"budget.EURO": validation.Unknown},
		`"discountValue":"10","budget":{"EUR":[],"USD":"ten"}`:                    {"budget.EUR": validation.Malformed, "budget.USD": validation.Malformed},
		`"discountValue":{"EUR":1,"JPY":"0.1"},"maxDiscount":{"EUR":1,"JPY":"9"}`: {"discountValue.JPY": validation.TooManyDecimals},
		`"discountValue":{"EUR":1,"JPY":"9"},"maxDiscount":{"EUR":1,"JPY":"0.1"}`: {"maxDiscount.JPY": validation.TooManyDecimals},
		`"discountValue":{"EUR":1,"JPY":"9"},"maxDiscount":["JPY"]`:               {"maxDiscount": validation.Malformed},
		`"discountValue":{"EUR":1,"JPY":"9"},"maxDiscount":{"EUR":1,"YEN":"5"}`:   {"maxDiscount.YEN": validation.Unknown},
		`"discountValue":{"EUR":1,"JPY":"9","YEN":"1"},"maxDiscount":1,"maxUses":0`: {
			"discountValue.YEN": validation.Unknown, "maxDiscount.JPY": validation.Required, "maxUses": validation.TooSmall,
		},
	} {
		_, err := newFromJSON(begin + terms + `}`)
		if diff := cmp.Diff(want, codesOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", terms, diff)
		}
	}
	for terms, want := range map[string]map[string]validation.Code{
		`{"minPurchase":{"EUR":1,"XXX":"1","USD":"-1"},"budget":{"JPY":"0.1","EUR":"0"}}`: {
			"minPurchase.XXX": validation.Unknown, "minPurchase.USD": validation.TooSmall,
			"budget.JPY": validation.TooManyDecimals, "budget.EUR": validation.TooSmall,
		},
		`{"minPurchase":[],"budget":true}`: {"minPurchase": validation.Malformed, "budget": validation.Malformed},
	} {
		_, err := applyJSON(mustNew(t, ten()), terms)
		if diff := cmp.Diff(want, codesOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", terms, diff)
		}
	}
}

// newFromJSON makes a coupon of the JSON text of a draft.
func newFromJSON(text string) (coupon.Coupon, error) {
	var d coupon.Draft
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return coupon.Coupon{}, err
	}
	return coupon.New(d, creation)
}

// applyJSON changes a coupon by the JSON text of a patch.
func applyJSON(c coupon.Coupon, text string) (coupon.Coupon, error) {
	var p coupon.Patch
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return coupon.Coupon{}, err
	}
	return c.Apply(p, coupon.Edit{At: noon})
}
