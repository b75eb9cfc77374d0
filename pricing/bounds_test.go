package pricing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
)

// However many entries are bad, the answer is short, and it names the other fields.
func TestAListOfFaultsEndsWithACount(t *testing.T) {
	t.Parallel()
	const bad = 1_000_000
	ways := map[string]func(e *pricing.ValidationError){
		"added": func(e *pricing.ValidationError) {
			for i := range bad {
				e.Add(fmt.Sprintf("emails[%d]", i), pricing.FieldMalformed, "no address")
			}
		},
		"merged one by one": func(e *pricing.ValidationError) {
			for i := range bad {
				e.Merge(fmt.Sprintf("emails[%d]", i), errors.New("no address"))
			}
		},
		"merged as a whole": func(e *pricing.ValidationError) {
			var inner pricing.ValidationError
			for i := range bad {
				inner.Add(fmt.Sprintf("[%d]", i), pricing.FieldMalformed, "no address")
			}
			e.Merge("emails", inner.Err())
		},
		"merged in halves": func(e *pricing.ValidationError) {
			for half := range 2 {
				var inner pricing.ValidationError
				for i := range bad / 2 {
					inner.Add(fmt.Sprintf("[%d]", half*bad/2+i), pricing.FieldMalformed, "no address")
				}
				e.Merge("emails", inner.Err())
			}
		},
	}
	for name, add := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e pricing.ValidationError
			e.Add("first", pricing.FieldRequired, "")
			add(&e)
			e.Add("last", pricing.FieldRequired, "")
			want := []pricing.FieldError{{Field: "first", Code: pricing.FieldRequired}}
			for i := range pricing.MaxListFaults {
				want = append(want, pricing.FieldError{Field: fmt.Sprintf("emails[%d]", i), Code: pricing.FieldMalformed, Message: "no address"})
			}
			want = append(want,
				pricing.FieldError{Field: "emails", Code: pricing.FieldMore, Message: "999000 more faults in this list"},
				pricing.FieldError{Field: "last", Code: pricing.FieldRequired})
			if diff := cmp.Diff(want, e.Fields); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Lists have bounds of their own, and a prefix takes a count along.
func TestTheCountsOfTwoLists(t *testing.T) {
	t.Parallel()
	var inner pricing.ValidationError
	for i := range pricing.MaxListFaults + 3 {
		inner.Add(fmt.Sprintf("lines[%d].quantity", i), pricing.FieldTooSmall, "")
		inner.Add(fmt.Sprintf("steps[%d]", i%2), pricing.FieldTooSmall, "")
	}
	var e pricing.ValidationError
	e.Merge("cart", inner.Err())
	more := map[string]string{}
	for _, f := range e.Fields {
		if f.Code == pricing.FieldMore {
			more[f.Field] = f.Message
		}
	}
	want := map[string]string{"cart.lines": "3 more faults in this list", "cart.steps": "3 more faults in this list"}
	if diff := cmp.Diff(want, more); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.Len(t, e.Fields, 2*pricing.MaxListFaults+2)
}

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
		want pricing.FieldCode
	}{
		"a billion digits":   {decimal.New(1, math.MaxInt32), pricing.FieldTooLarge},
		"a billion decimals": {decimal.New(-1, math.MinInt32), pricing.FieldTooManyDecimals},
		"64 zeros":           {decimal.New(1, 64), pricing.FieldTooLong},
		"a long coefficient": {decimal.NewFromBigInt(new(big.Int).Lsh(big.NewInt(1), 1<<20), 0), pricing.FieldTooLarge},
		"64 decimals":        {decimal.New(1, -64), pricing.FieldTooLong},
		"just too many":      {decimal.New(1, -65), pricing.FieldTooManyDecimals},
	} {
		_, err := pricing.DecimalText(test.d)
		var fault *pricing.ValidationError
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
