package pricing_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// What is written can be read again, and what cannot be read is not written.
func TestDecimalText(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]decimal.Decimal{
		"0": decimal.New(0, math.MaxInt32), "12.5": decimal.New(125, -1), "-1000": decimal.New(-1, 3),
		"1" + strings.Repeat("0", 63):        decimal.New(1, 63),
		"0." + strings.Repeat("0", 61) + "1": decimal.New(1, -62),
	} {
		if got, err := pricing.DecimalText(d); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	for name, test := range map[string]struct {
		d    decimal.Decimal
		want validation.Code
	}{
		"a billion digits":   {decimal.New(1, math.MaxInt32), validation.TooLarge},
		"a billion decimals": {decimal.New(-1, math.MinInt32), validation.TooManyDecimals},
		"64 zeros":           {decimal.New(1, 64), validation.TooLong},
		"a long coefficient": {decimal.NewFromBigInt(new(big.Int).Lsh(big.NewInt(1), 1<<20), 0), validation.TooLarge},
		"64 decimals":        {decimal.New(1, -64), validation.TooLong},
		"just too many":      {decimal.New(1, -65), validation.TooManyDecimals},
	} {
		_, err := pricing.DecimalText(test.d)
		var fault *validation.Error
		require.ErrorAs(t, err, &fault, name)
		require.Equal(t, test.want, fault.Fields[0].Code, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := decimal.New(rapid.Int64().Draw(t, "coefficient"), rapid.Int32Range(-80, 80).Draw(t, "exponent"))
		text, err := pricing.DecimalText(d)
		if err != nil {
			if _, read := pricing.Number(d.String()).Decimal(); read == nil {
				t.Fatalf("%s is refused, and could be read: %v", d, err)
			}
			return
		}
		again, err := pricing.Number(text).Decimal()
		if err != nil || !again.Equal(d) {
			t.Errorf("%s is written as %s and read as %s, %v", d, text, again, err)
		}
		if _, err := json.Marshal(pricing.Number(text)); err != nil {
			t.Error(err)
		}
	})
}
