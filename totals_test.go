package couponkit_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/validation"
)

// Contract section 7: money is decimal in JSON. What a customer was shown as 10 are ten
// euros, and not ten cents.
func TestTotalsInJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]couponkit.Totals{
		`{"subtotal":"30.00","discount":"10.00","shipping":"4.90","total":"24.90"}`: {Subtotal: 3000, Discount: 1000, Shipping: 490, Total: 2490},
		`{"subtotal":30,"discount":1e1,"shipping":4.9,"total":"24.9"}`:              {Subtotal: 3000, Discount: 1000, Shipping: 490, Total: 2490},
	} {
		got, err := couponkit.ParseTotals([]byte(text), pricing.EUR())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := pricingtest.Currency().Draw(t, "currency")
		amount := rapid.Int64Range(0, 1<<62)
		want := couponkit.Totals{
			Subtotal: amount.Draw(t, "subtotal"), Discount: amount.Draw(t, "discount"),
			Shipping: amount.Draw(t, "shipping"), Total: amount.Draw(t, "total"),
		}
		text, err := want.JSON(c)
		if err != nil {
			t.Fatalf("writing: %v", err)
		}
		got, err := couponkit.ParseTotals(text, c)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	})
}

func TestTotalsThatAreNone(t *testing.T) {
	t.Parallel()
	const required, malformed = validation.Required, validation.Malformed
	for text, want := range map[string]map[string]validation.Code{
		`null`: {"": malformed},
		`[]`:   {"": malformed},
		`{}`:   {"subtotal": required, "discount": required, "shipping": required, "total": required},
		`{"subtotal":null,"discount":"","shipping":[],"total":"ten","tax":"1"}`: {
			"subtotal": required, "discount": required, "shipping": malformed, "total": malformed, "tax": validation.Unknown,
		},
		`{"Subtotal":1,"subtotal":"30.001","discount":1,"discount":1,"shipping":"4.90","total":1e400}`: {
			"Subtotal": validation.Unknown, "subtotal": validation.TooManyDecimals, "discount": malformed, "total": validation.TooLarge,
		},
	} {
		got, err := couponkit.ParseTotals([]byte(text), pricing.EUR())
		var faults *validation.Error
		if !errors.As(err, &faults) || got != (couponkit.Totals{}) {
			t.Errorf("%s: got %+v, %v", text, got, err)
			continue
		}
		codes := map[string]validation.Code{}
		for _, f := range faults.Fields {
			codes[f.Path] = f.Code
		}
		if diff := cmp.Diff(want, codes); diff != "" || len(codes) != len(faults.Fields) {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// Totals do not know their currency: encoding/json alone can only guess it, and must not.
func TestTotalsWithoutACurrency(t *testing.T) {
	t.Parallel()
	var request struct{ Expected couponkit.Totals }
	require.ErrorContains(t, json.Unmarshal([]byte(`{"expected":{"subtotal":10,"total":10}}`), &request), "couponkit.ParseTotals")
	require.NoError(t, json.Unmarshal([]byte(`{"expected":null}`), &request))
	_, err := json.Marshal(request)
	require.ErrorContains(t, err, "couponkit.ParseTotals")
	_, err = couponkit.ParseTotals([]byte(`{"subtotal":"1","discount":"0","shipping":"0","total":"1"}`), pricing.Currency{})
	require.ErrorIs(t, err, validation.ErrInvalid)
	_, err = couponkit.Totals{}.JSON(pricing.Currency{})
	require.ErrorIs(t, err, validation.ErrInvalid)
}
