package pricing_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/validation"
)

// A discount has the names that a coupon has for it.
func TestDiscountAsJSON(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]pricing.Discount{
		`null`: {},
		`{"discountType":"PERCENTAGE","discountValue":"12.5"}`:                      pricing.PercentOff(percent(t, "12.5")),
		`{"discountType":"FIXED_AMOUNT","discountValue":"10.00","currency":"EUR"}`:  amountOff(t, "10", "EUR"),
		`{"discountType":"FIXED_AMOUNT","discountValue":"10","currency":"JPY"}`:     amountOff(t, "10", "JPY"),
		`{"discountType":"FIXED_AMOUNT","discountValue":"0.0100","currency":"CLF"}`: amountOff(t, "0.01", "CLF"),
	} {
		text, err := json.Marshal(d)
		if diff := cmp.Diff(want, string(text)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", d, err, diff)
		}
		var read pricing.Discount
		if err := json.Unmarshal(text, &read); err != nil || !read.Equal(d) {
			t.Errorf("%s is read as %s, %v", text, read, err)
		}
	}
	kept := amountOff(t, "10", "EUR")
	require.NoError(t, json.Unmarshal([]byte("null"), &kept))
	require.Equal(t, amountOff(t, "10", "EUR"), kept)
}

func TestDiscountInJSONIsLossless(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cart := pricingtest.Cart(pricingtest.CartOptions{}).Draw(t, "cart")
		d := pricingtest.DiscountFor(cart).Draw(t, "discount")
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("writing: %v", err)
		}
		var read pricing.Discount
		if err := json.Unmarshal(text, &read); err != nil || !read.Equal(d) {
			t.Fatalf("%s is read as %s, %v", text, read, err)
		}
	})
}

func TestDiscountThatIsNone(t *testing.T) {
	t.Parallel()
	const (
		required  = validation.Required
		malformed = validation.Malformed
		unknown   = validation.Unknown
	)
	for text, want := range map[string]map[string]validation.Code{
		`5`:  {"": malformed},
		`{}`: {"discountType": required, "discountValue": required},
		`{"discountType":null,"discountValue":null,"currency":null}`:               {"discountType": required, "discountValue": required},
		`{"discountType":"HALF","discountValue":"ten","currency":"EUX"}`:           {"discountType": unknown, "discountValue": malformed, "currency": unknown},
		`{"discountType":1,"discountValue":true,"currency":2}`:                     {"discountType": malformed, "discountValue": malformed, "currency": malformed},
		`{"discountType":"PERCENTAGE","discountValue":0}`:                          {"discountValue": validation.TooSmall},
		`{"discountType":"PERCENTAGE","discountValue":101}`:                        {"discountValue": validation.TooLarge},
		`{"discountType":"PERCENTAGE","discountValue":10,"currency":"EUR"}`:        {"currency": validation.NotAllowed},
		`{"discountType":"PERCENTAGE","discountValue":10,"currency":""}`:           {"currency": validation.NotAllowed},
		`{"discountType":"FIXED_AMOUNT","discountValue":10}`:                       {"currency": required},
		`{"discountType":"FIXED_AMOUNT","discountValue":"0.00","currency":"EUR"}`:  {"discountValue": validation.TooSmall},
		`{"discountType":"FIXED_AMOUNT","discountValue":-1,"currency":"EUR"}`:      {"discountValue": validation.TooSmall},
		`{"discountType":"FIXED_AMOUNT","discountValue":"0.005","currency":"EUR"}`: {"discountValue": validation.TooManyDecimals},
		`{"discountType":"FIXED_AMOUNT","discountValue":{"EUR":10,"USD":1,"usd":2},"currency":"EUR","maxDiscount":{"JPY":0.5}}`: {
			"discountValue.usd": validation.Mismatch, "maxDiscount.JPY": validation.TooManyDecimals, "discountValue.JPY": required,
		},
		`{"discountType":"FIXED_AMOUNT","discountValue":{"USD":"10","XYZ":1},"currency":"EUR"}`: {"discountValue.XYZ": unknown, "discountValue": required},
		`{"discountType":"FIXED_AMOUNT","discountValue":{},"currency":"EUR"}`:                   {"discountValue": required},
		`{"discountType":"PERCENTAGE","discountValue":{"EUR":"10"}}`:                            {"discountValue": malformed},
		`{"discountType":"PERCENTAGE","discountValue":10,"discountValue":10,"percent":5}`:       {"discountValue": malformed, "percent": unknown},
	} {
		kept := amountOff(t, "10", "EUR")
		err := kept.UnmarshalJSON([]byte(text))
		if diff := cmp.Diff(want, faultsOf(err)); diff != "" || !kept.Equal(amountOff(t, "10", "EUR")) {
			t.Errorf("%s: %s (-want +got):\n%s", text, kept, diff)
		}
	}
}

// The order of the further currencies changes nothing: they are read from JSON in another order.
func TestTheOrderOfFurtherCurrenciesIsNoTerm(t *testing.T) {
	t.Parallel()
	var of [3]pricing.Currency
	for i, code := range []string{"JPY", "EUR", "BOB"} {
		c, err := pricing.ParseCurrency(code)
		require.NoError(t, err)
		of[i] = c
	}
	euros, bolivianos := pricing.CurrencyTerms{Currency: of[1], Amount: 3}, pricing.CurrencyTerms{Currency: of[2], Amount: 1 << 40}
	var made []pricing.Discount
	for _, others := range [][]pricing.CurrencyTerms{{euros, bolivianos}, {bolivianos, euros}} {
		d, err := pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.FixedAmount, Currency: of[0], Amount: 1, Others: others})
		require.NoError(t, err)
		made = append(made, d)
	}
	text, err := json.Marshal(made[0])
	require.NoError(t, err)
	var read pricing.Discount
	require.NoError(t, json.Unmarshal(text, &read))
	require.True(t, made[0].Equal(made[1]) && read.Equal(made[0]))
}
