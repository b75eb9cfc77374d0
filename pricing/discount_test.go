package pricing_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/validation"
)

// Contract 2.6: greater than 0, at most 100, at most four decimals.
func TestParsePercent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"100": "100", "100.0000": "100", "1e2": "100", "0.0001": "0.0001", "12.5": "12.5", "12.50": "12.5",
		"33.33": "33.33", "99.9999": "99.9999", "007": "7",
	} {
		p, err := pricing.ParsePercent(text)
		if err != nil || p.String() != want || p.IsZero() {
			t.Errorf("%s: got %s, %v", text, p, err)
		}
		again, err := pricing.PercentFromDecimal(p.Decimal())
		if diff := cmp.Diff(p, again); err != nil || diff != "" {
			t.Errorf("%s as decimal: %v, (-want +got):\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]validation.Code{
		"": validation.Required, "ten": validation.Malformed, "10%": validation.Malformed,
		"0": validation.TooSmall, "-0": validation.TooSmall, "-5": validation.TooSmall, "-0.0001": validation.TooSmall,
		"100.0001": validation.TooLarge, "101": validation.TooLarge, "1e30": validation.TooLarge,
		"429496.7297":  validation.TooLarge, // 1 in 32 bits
		"0.00001":      validation.TooManyDecimals,
		"100.00000001": validation.TooManyDecimals,
	} {
		p, err := pricing.ParsePercent(text)
		wantField(t, err, "", want)
		if !p.IsZero() {
			t.Errorf("%q: an error and %s", text, p)
		}
	}
	_, err := pricing.PercentFromDecimal(decimal.New(1, -5))
	wantField(t, err, "", validation.TooManyDecimals)
	_, err = pricing.PercentFromDecimal(decimal.New(101, 0))
	wantField(t, err, "", validation.TooLarge)
}

func TestPercentJSON(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{`"12.5"`: "12.5", `12.50`: "12.5", `1e1`: "10", `null`: "0"} {
		var p pricing.Percent
		if err := json.Unmarshal([]byte(document), &p); err != nil || p.String() != want {
			t.Errorf("%s: got %s, %v", document, p, err)
		}
	}
	for _, document := range []string{`"0"`, `0`, `101`, `"x"`, `true`, `0.00001`} {
		kept := percent(t, "5")
		if err := json.Unmarshal([]byte(document), &kept); err == nil || kept != percent(t, "5") {
			t.Errorf("%s: got %s, %v", document, kept, err)
		}
	}
	for want, p := range map[string]pricing.Percent{`"33.33"`: percent(t, "33.33"), `null`: {}} {
		text, err := json.Marshal(p)
		if err != nil || string(text) != want {
			t.Errorf("got %s, %v; want %s", text, err, want)
		}
	}
}

// Generators print what they draw by its fields, which say nothing: a value shows itself.
func TestValuesInFailures(t *testing.T) {
	t.Parallel()
	ten := pricing.NewMoney(10_00, pricing.EUR())
	amount, err := pricing.AmountOff(ten)
	require.NoError(t, err)
	share := pricing.PercentOff(percent(t, "12.5"))
	for want, v := range map[string]any{
		"pricing.Percent(12.5%)": percent(t, "12.5"), "pricing.Currency(EUR)": pricing.EUR(), "pricing.Currency()": pricing.Currency{},
		"pricing.Money(10.00 EUR)": ten, "pricing.Discount(10.00 EUR)": amount, "pricing.Discount(12.5 %)": share,
		"pricing.LineKind(device)": pricing.Device, "pricing.LineKind(0)": pricing.LineKind(""), "pricing.Class(9)": pricing.Class(9), "pricing.Class(product)": pricing.ProductClass,
		"pricing.Interval(month)": pricing.Monthly, "pricing.DiscountType(PERCENTAGE)": pricing.Percentage,
	} {
		if got := fmt.Sprintf("%#v", v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Contract 2.2: computed exactly, rounded once, half-up.
func TestPercentOfRoundsHalfUpOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		percent  string
		of, want int64
	}{
		{"50", 1, 1}, // one half goes up
		{"50", 3, 2},
		{"49.9999", 1, 0},
		{"50.0001", 1, 1},
		{"58", 50, 29}, // 28 in floating point
		{"25", 1999, 500},
		{"33.33", 10_000, 3333},
		{"0.0001", 499_999, 0},
		{"0.0001", 500_000, 1},
		{"100", math.MaxInt64, math.MaxInt64},
		{"99.9999", math.MaxInt64, 9223362813482738952},
		{"50", math.MaxInt64, math.MaxInt64/2 + 1},
		{"100", 0, 0},
		{"100", -5, 0},
		{"100", math.MinInt64, 0},
	} {
		if got := percent(t, c.percent).Of(c.of); got != c.want {
			t.Errorf("%s %% of %d: got %d, want %d", c.percent, c.of, got, c.want)
		}
	}
	if got := (pricing.Percent{}).Of(1000); got != 0 {
		t.Errorf("no percentage of 1000: got %d", got)
	}
}

func TestPercentOfAgreesWithRationals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := pricingtest.Percent().Draw(t, "percent")
		base := rapid.OneOf(rapid.Int64Range(0, 100_000), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "base")
		exact := new(big.Rat).Mul(p.Decimal().Rat(), new(big.Rat).SetFrac64(base, 100))
		off := exact.Sub(exact, new(big.Rat).SetInt64(p.Of(base)))
		// Half-up: what was rounded away is in [-1/2, 1/2).
		if half := big.NewRat(1, 2); off.Cmp(half) >= 0 || off.Neg(off).Cmp(half) > 0 {
			t.Fatalf("%s %% of %d is %d, off by %s", p, base, p.Of(base), off.RatString())
		}
	})
}

func TestAmountOffIsPositiveAndOfACurrency(t *testing.T) {
	t.Parallel()
	for _, minor := range []int64{0, -1, math.MinInt64} {
		_, err := pricing.AmountOff(pricing.NewMoney(minor, pricing.EUR()))
		wantField(t, err, "", validation.TooSmall)
	}
	_, err := pricing.AmountOff(pricing.NewMoney(5, pricing.Currency{}))
	wantField(t, err, "currency", validation.Required)
}

func TestDiscountAccessors(t *testing.T) {
	t.Parallel()
	type facts struct {
		Type        pricing.DiscountType
		Value, Text string
		Percent     pricing.Percent
		Amount      pricing.Money
		Zero        bool
		FitsEUR     bool
	}
	of := func(d pricing.Discount) facts {
		return facts{
			d.Type(), d.Value(), d.String(), d.Percent(), d.Amount(), d.IsZero(), d.Fits(pricing.EUR()) == nil,
		}
	}
	for name, c := range map[string]struct {
		discount pricing.Discount
		want     facts
	}{
		"percentage": {
			pricing.PercentOff(percent(t, "12.5")),
			facts{Type: pricing.Percentage, Value: "12.5", Text: "12.5 %", Percent: percent(t, "12.5"), FitsEUR: true},
		},
		"amount": {
			amountOff(t, "10", "EUR"),
			facts{Type: pricing.FixedAmount, Value: "10.00", Text: "10.00 EUR", Amount: pricing.NewMoney(1000, pricing.EUR()), FitsEUR: true},
		},
		"foreign amount": {
			amountOff(t, "10", "JPY"),
			facts{Type: pricing.FixedAmount, Value: "10", Text: "10 JPY", Amount: pricing.NewMoney(10, currency(t, "JPY"))},
		},
		"none":          {pricing.Discount{}, facts{Text: "no discount", Zero: true, FitsEUR: true}},
		"no percentage": {pricing.PercentOff(pricing.Percent{}), facts{Text: "no discount", Zero: true, FitsEUR: true}},
	} {
		if diff := cmp.Diff(c.want, of(c.discount)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !c.discount.Equal(c.discount) || c.discount.Equal(amountOff(t, "11", "EUR")) {
			t.Errorf("%s: Equal is not ==", name)
		}
	}
	wantField(t, amountOff(t, "10", "JPY").Fits(pricing.EUR()), "currency", validation.Mismatch)
}

// Contract 2.2: an amount is capped at the base, and nothing is taken off
// nothing.
func TestDiscountOf(t *testing.T) {
	t.Parallel()
	ten := amountOff(t, "10", "EUR")
	of := func(d pricing.Discount, base int64) int64 {
		q, err := pricing.Price(euros(base), pricing.Terms{Discount: d})
		require.NoError(t, err)
		return q.Discount
	}
	for base, want := range map[int64]int64{0: 0, 1: 1, 999: 999, 1000: 1000, 1001: 1000, math.MaxInt64: 1000} {
		if got := of(ten, base); got != want {
			t.Errorf("10.00 off %d: got %d, want %d", base, got, want)
		}
	}
	for base, want := range map[int64]int64{0: 0, 1: 1, 1000: 500} {
		if got := of(pricing.PercentOff(percent(t, "50")), base); got != want {
			t.Errorf("50 %% off %d: got %d, want %d", base, got, want)
		}
	}
}

func TestDiscountTypeText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]pricing.DiscountType{
		"PERCENTAGE": pricing.Percentage, "FIXED_AMOUNT": pricing.FixedAmount, "FIXED_AMOUNT_PER_UNIT": pricing.FixedAmountPerUnit,
		"FIXED_UNIT_PRICE": pricing.FixedUnitPrice, "CHEAPEST_UNITS": pricing.CheapestUnits, "BUY_X_GET_Y": pricing.BuyXGetY, "TIERED": pricing.Tiered,
	} {
		got, err := pricing.ParseDiscountType(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
		var loaded pricing.DiscountType
		written, err := json.Marshal(want)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(written, &loaded))
		if loaded != want {
			t.Errorf("%s: loaded %v", text, loaded)
		}
	}
	for _, text := range []string{"", "percentage", "PERCENT"} {
		var d pricing.DiscountType
		wantField(t, d.UnmarshalText([]byte(text)), "", validation.Unknown)
	}
	if got := pricing.DiscountType(9).String(); got != "" {
		t.Errorf("an unknown type is %q", got)
	}
}
