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
	for text, want := range map[string]map[string]pricing.FieldCode{
		`{"EUR":"1.001","JPY":0.5,"USD":"1"}`: {"EUR": pricing.FieldTooManyDecimals, "JPY": pricing.FieldTooManyDecimals},
		`{"XXX":"1","Euro":2,"EUR":"-3"}`:     {"XXX": pricing.FieldUnknown, "Euro": pricing.FieldUnknown, "EUR": pricing.FieldTooSmall},
		`{"EUR":"1","EUR":"1"}`:               {"EUR": pricing.FieldMalformed},
		`{"EUR":"1","eur":"1"}`:               {"eur": pricing.FieldMismatch},
		`{"EUR":"1e18"}`:                      {"EUR": pricing.FieldTooLarge},
		`{"EUR":"ten"}`:                       {"EUR": pricing.FieldMalformed},
		`{"USD":[],"JPY":true,"EUR":null}`:    {"USD": pricing.FieldMalformed, "JPY": pricing.FieldMalformed, "EUR": pricing.FieldRequired},
		`{}`:                                  {"": pricing.FieldRequired},
		`["EUR"]`:                             {"": pricing.FieldMalformed},
		`"5"`:                                 {"": pricing.FieldMalformed},
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
	require.Equal(t, map[string]pricing.FieldCode{"EUR": pricing.FieldMalformed, "JPY": pricing.FieldMalformed}, codesOf(err))
	require.Equal(t, coupon.Amounts{"USD": "5"}, part)
}

// amountFields are the terms of a coupon that are amounts in several currencies.
var amountFields = []string{"minPurchase", "discountValue", "maxDiscount", "budget"}

// withAmounts is a draft whose fields of that form all have these amounts.
func withAmounts(a coupon.Amounts) coupon.Draft {
	d := ten()
	d.DiscountType, d.Percent = pricing.FixedAmount, ""
	d.Amount, d.MinPurchase, d.MaxDiscount, d.Budget = a, a, a, a
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
		want    pricing.FieldCode
	}{
		"no currency":     {coupon.Amounts{"EUR": "1", "EURO": "2"}, ".EURO", pricing.FieldUnknown},
		"no amount":       {coupon.Amounts{"EUR": "1", "USD": ""}, ".USD", pricing.FieldRequired},
		"no number":       {coupon.Amounts{"EUR": "1", "USD": "two"}, ".USD", pricing.FieldMalformed},
		"twice":           {coupon.Amounts{"EUR": "1", "eur": "2"}, ".eur", pricing.FieldMismatch},
		"its own twice":   {coupon.Amounts{"EUR": "1", "": "2"}, ".EUR", pricing.FieldMismatch},
		"zero":            {coupon.Amounts{"EUR": "1", "USD": "0"}, ".USD", pricing.FieldTooSmall},
		"negative":        {coupon.Amounts{"EUR": "1", "JPY": "-1"}, ".JPY", pricing.FieldTooSmall},
		"decimals":        {coupon.Amounts{"EUR": "1", "JPY": "0.1"}, ".JPY", pricing.FieldTooManyDecimals},
		"its own, bare":   {coupon.Amounts{"": "1.001"}, "", pricing.FieldTooManyDecimals},
		"its own, named":  {coupon.Amounts{"EUR": "1.001"}, ".EUR", pricing.FieldTooManyDecimals},
		"too many":        {many, "", pricing.FieldTooLong},
		"a hostile code":  {coupon.Amounts{"EUR": "1", "a.b[0]": "1"}, ".a.b[0]", pricing.FieldUnknown},
		"a text too long": {coupon.Amounts{"": strings.Repeat("1", 65)}, "", pricing.FieldTooLong},
	} {
		_, err := coupon.New(withAmounts(of.amounts), creation)
		want := map[string]pricing.FieldCode{}
		for _, field := range amountFields {
			want[field+of.path] = of.want
		}
		if diff := cmp.Diff(want, codesOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	_, err := coupon.New(withAmounts(coupon.Amounts{"EUR": "20000000000000000"}), creation)
	require.Equal(t, map[string]pricing.FieldCode{"budget.EUR": pricing.FieldTooLarge, "minPurchase.EUR": pricing.FieldTooLarge}, codesOf(err))
}

// Every set of amounts has one in the currency of the coupon.
func TestAmountsInOtherCurrenciesAlone(t *testing.T) {
	t.Parallel()
	_, err := coupon.New(withAmounts(coupon.Amounts{"USD": "9"}), creation)
	if diff := cmp.Diff(map[string]pricing.FieldCode{
		"discountValue": pricing.FieldRequired, "maxDiscount.USD": pricing.FieldNotAllowed,
		"minPurchase.EUR": pricing.FieldRequired, "budget.EUR": pricing.FieldRequired,
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
		want    pricing.FieldCode
	}{
		"an amount":                  {pricing.FixedAmount, "", coupon.Amounts{"EUR": "5", "USD": "6"}, ""},
		"an amount and a percentage": {pricing.FixedAmount, "5", coupon.Amounts{"": "5"}, pricing.FieldNotAllowed},
		"an amount as a percentage":  {pricing.FixedAmount, "5", nil, pricing.FieldNotAllowed},
		"a percentage as an amount":  {pricing.Percentage, "", coupon.Amounts{"": "5"}, pricing.FieldNotAllowed},
		"nothing":                    {pricing.Percentage, "", nil, pricing.FieldRequired},
		"tiers with a value":         {pricing.Tiered, "5", nil, pricing.FieldNotAllowed},
	} {
		d := ten()
		d.DiscountType, d.Percent, d.Amount = of.kind, of.percent, of.amount
		if of.kind == pricing.Tiered {
			d.TierBasis, d.Tiers = pricing.ByQuantity, []coupon.TierDraft{{From: "2", Percent: "5"}}
		}
		_, err := coupon.New(d, creation)
		want := map[string]pricing.FieldCode{}
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
	require.ErrorIs(t, err, pricing.ErrInvalid, "a draft with both has no JSON form")
}

// Beside amounts that cannot be read, the others of the set are judged, and nothing is reported that
// a correction of these amounts avoids.
func TestAmountsBesideUnreadableOnes(t *testing.T) {
	t.Parallel()
	const begin = `{"code":"A","name":"A","currency":"EUR","discountType":"FIXED_AMOUNT",`
	for terms, want := range map[string]map[string]pricing.FieldCode{
		`"discountValue":"10","minPurchase":{"EUR":5,"XXX":"1","USD":"-1"}`:       {"minPurchase.XXX": pricing.FieldUnknown, "minPurchase.USD": pricing.FieldTooSmall},
		`"discountValue":"10","budget":{"JPY":"0.1","EUR":"0"}`:                   {"budget.JPY": pricing.FieldTooManyDecimals, "budget.EUR": pricing.FieldTooSmall},
		`"discountValue":"10","budget":{"EURO":"1","USD":"1"}`:                    {"budget.EURO": pricing.FieldUnknown},
		`"discountValue":"10","budget":{"EUR":[],"USD":"ten"}`:                    {"budget.EUR": pricing.FieldMalformed, "budget.USD": pricing.FieldMalformed},
		`"discountValue":{"EUR":1,"JPY":"0.1"},"maxDiscount":{"EUR":1,"JPY":"9"}`: {"discountValue.JPY": pricing.FieldTooManyDecimals},
		`"discountValue":{"EUR":1,"JPY":"9"},"maxDiscount":{"EUR":1,"JPY":"0.1"}`: {"maxDiscount.JPY": pricing.FieldTooManyDecimals},
		`"discountValue":{"EUR":1,"JPY":"9"},"maxDiscount":["JPY"]`:               {"maxDiscount": pricing.FieldMalformed},
		`"discountValue":{"EUR":1,"JPY":"9"},"maxDiscount":{"EUR":1,"YEN":"5"}`:   {"maxDiscount.YEN": pricing.FieldUnknown},
		`"discountValue":{"EUR":1,"JPY":"9","YEN":"1"},"maxDiscount":1,"maxUses":0`: {
			"discountValue.YEN": pricing.FieldUnknown, "maxDiscount.JPY": pricing.FieldRequired, "maxUses": pricing.FieldTooSmall,
		},
	} {
		_, err := newFromJSON(begin + terms + `}`)
		if diff := cmp.Diff(want, codesOf(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", terms, diff)
		}
	}
	for terms, want := range map[string]map[string]pricing.FieldCode{
		`{"minPurchase":{"EUR":1,"XXX":"1","USD":"-1"},"budget":{"JPY":"0.1","EUR":"0"}}`: {
			"minPurchase.XXX": pricing.FieldUnknown, "minPurchase.USD": pricing.FieldTooSmall,
			"budget.JPY": pricing.FieldTooManyDecimals, "budget.EUR": pricing.FieldTooSmall,
		},
		`{"minPurchase":[],"budget":true}`: {"minPurchase": pricing.FieldMalformed, "budget": pricing.FieldMalformed},
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
