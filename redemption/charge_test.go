package redemption_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// A charge is written with decimal amounts, and read as it was written.
func TestChargesInJSON(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]redemption.Charge{
		`{"currency":"EUR","amount":"90.00"}`: {Currency: pricing.EUR(), Amount: 90_00},
		`{"currency":"EUR","amount":"90.00","tax":"18.00","lineTaxes":[{"lineId":"A","amount":"17.02"},{"lineId":"","amount":"0.98"}]}`: {
			Currency: pricing.EUR(), Amount: 90_00,
			Tax: pricing.Tax{Amount: 18_00, Lines: []pricing.LineTax{{LineID: "A", Amount: 17_02}, {Amount: 98}}},
		},
	} {
		got, err := json.Marshal(c)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(-math.MaxInt64, math.MaxInt64)
		c := redemption.Charge{
			Currency: rapid.SampledFrom([]pricing.Currency{pricing.EUR(), pricing.JPY()}).Draw(t, "currency"), Amount: amount.Draw(t, "amount"),
		}
		if rapid.Bool().Draw(t, "taxed") {
			c.Tax.Amount = amount.Draw(t, "tax")
			for range rapid.IntRange(0, 3).Draw(t, "lines") {
				c.Tax.Lines = append(c.Tax.Lines, pricing.LineTax{LineID: rapid.String().Draw(t, "id"), Amount: amount.Draw(t, "line")})
			}
		}
		text, err := json.Marshal(c)
		require.NoError(t, err)
		var back redemption.Charge
		require.NoError(t, json.Unmarshal(text, &back))
		require.Empty(t, cmp.Diff(c, back))
		require.True(t, c.Equal(back) && !c.Differs(back))
	})
	for text, want := range map[string]string{
		`{"currency":"EUR","amount":"9.001"}`:                                                  "amount",
		`{"currency":"EUR","amount":"9","tax":"x","lineTaxes":[{"amount":"1"},{"amount":""}]}`: "lineTaxes[1].amount",
		`{"amount":"9"}`: "amount",
	} {
		c := redemption.Charge{Currency: pricing.JPY(), Amount: 5}
		err := json.Unmarshal([]byte(text), &c)
		require.ErrorIs(t, err, pricing.ErrInvalid, text)
		require.ErrorContains(t, err, want)
		require.Equal(t, redemption.Charge{Currency: pricing.JPY(), Amount: 5}, c, "the receiver")
	}
}

func TestTotalsOfCharges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ amount, tax, want int64 }{
		{90_00, 18_00, 108_00}, {90_00, -5_00, 85_00}, {5, -9, 0}, {-9, 5, 0},
		{math.MaxInt64, 1, math.MaxInt64}, {1, math.MaxInt64, math.MaxInt64}, {-math.MaxInt64, -math.MaxInt64, 0},
	} {
		c := redemption.Charge{Currency: pricing.EUR(), Amount: test.amount, Tax: pricing.Tax{Amount: test.tax}}
		require.Equal(t, test.want, c.Total(), "%+v", test)
	}
	o, _ := paidOrder(t, 2, 0)
	require.EqualValues(t, 10_00, o.Paid(), "the total of a quote whose charge is unknown")
	o.Charge = redemption.Charge{Currency: pricing.EUR(), Amount: 10_00, Tax: pricing.Tax{Amount: 2_00}}
	require.EqualValues(t, 12_00, o.Paid())
}

// TestAChargeIsCheckedAgainstTheOrder: whatever was charged is recorded, and every field that is
// not the order's is named.
func TestAChargeIsCheckedAgainstTheOrder(t *testing.T) {
	t.Parallel()
	line := func(id string, amount int64) pricing.LineTax { return pricing.LineTax{LineID: id, Amount: amount} }
	tax := func(amount int64, lines ...pricing.LineTax) redemption.Charge {
		return redemption.Charge{Currency: pricing.EUR(), Amount: 10_00, Tax: pricing.Tax{Amount: amount, Lines: lines}}
	}
	for name, test := range map[string]struct {
		charge redemption.Charge
		want   map[string]pricing.FieldCode
	}{
		"without tax":         {tax(0), nil},
		"a tax":               {tax(2_00), nil},
		"a tax by line":       {tax(2_00, line("A", 2_00)), nil},
		"another amount":      {redemption.Charge{Currency: pricing.EUR(), Amount: 9_99}, map[string]pricing.FieldCode{"charge.amount": pricing.FieldMismatch}},
		"another currency":    {redemption.Charge{Currency: pricing.USD(), Amount: 10_00}, map[string]pricing.FieldCode{"charge.currency": pricing.FieldMismatch}},
		"unknown":             {redemption.Charge{}, map[string]pricing.FieldCode{"charge": pricing.FieldRequired}},
		"a negative tax":      {tax(-1), map[string]pricing.FieldCode{"charge.tax.amount": pricing.FieldTooSmall}},
		"an unknown line":     {tax(1, line("A", 0), line("B", 1)), map[string]pricing.FieldCode{"charge.tax.lines[1].lineId": pricing.FieldUnknown}},
		"a line twice":        {tax(1, line("A", 0), line("A", 1)), map[string]pricing.FieldCode{"charge.tax.lines[1].lineId": pricing.FieldMismatch}},
		"a negative line":     {tax(-1, line("A", -1)), map[string]pricing.FieldCode{"charge.tax.amount": pricing.FieldTooSmall, "charge.tax.lines[0].amount": pricing.FieldTooSmall}},
		"lines beside a sum":  {tax(2, line("A", 1)), map[string]pricing.FieldCode{"charge.tax.lines": pricing.FieldMismatch}},
		"lines that overflow": {tax(1, line("A", math.MaxInt64)), map[string]pricing.FieldCode{"charge.tax.lines": pricing.FieldMismatch}},
	} {
		o, uses := paidOrder(t, 2, 0)
		o.State, o.SessionID = redemption.OrderOpen, ""
		o.Charge = test.charge
		require.NoError(t, o.CheckCharge(), "an order that is not paid: %s", name)
		o.Charge = redemption.Charge{}
		e := redemption.Event{Kind: redemption.Paid, OrderID: o.ID, SessionID: "cs", At: at(5), Charge: test.charge}
		require.NoError(t, e.Validate(), name)
		paid, _, err := o.After(e, uses...)
		require.NoError(t, err, name)
		require.Equal(t, redemption.OrderPaid, paid.State)
		require.Empty(t, cmp.Diff(test.charge, paid.Charge), name)
		if test.want == nil {
			require.NoError(t, paid.CheckCharge(), name)
			continue
		}
		var invalid *pricing.ValidationError
		require.ErrorAs(t, paid.CheckCharge(), &invalid, name)
		got := map[string]pricing.FieldCode{}
		for _, f := range invalid.Fields {
			got[f.Field] = f.Code
		}
		require.Equal(t, test.want, got, name)
		paid.Quote = pricing.Quote{}
		require.NoError(t, paid.CheckCharge(), "an order without a quote: %s", name)
	}
}

// TestTheFirstChargeStays: a later payment event only tells a charge that was unknown.
func TestTheFirstChargeStays(t *testing.T) {
	t.Parallel()
	o, uses := paidOrder(t, 2, 0)
	pay := redemption.Event{Kind: redemption.Paid, OrderID: "ord", SessionID: "cs", At: at(5)}
	same, _, err := o.After(pay, uses...)
	require.NoError(t, err)
	require.Equal(t, o.Version, same.Version, "nothing is told")
	pay.Charge = redemption.Charge{Currency: pricing.EUR(), Amount: 10_00, Tax: pricing.Tax{Amount: 2, Lines: []pricing.LineTax{{LineID: "A", Amount: 2}}}}
	charged, changed, err := o.After(pay, uses...)
	require.NoError(t, err)
	require.Equal(t, o.Version+1, charged.Version)
	require.Empty(t, cmp.Diff(uses, changed))
	clone := charged.Clone()
	pay.Charge.Tax.Lines[0].Amount = 3
	require.EqualValues(t, 2, charged.Charge.Tax.Lines[0].Amount, "a record shares no memory with its event")
	clone.Charge.Tax.Lines[0].Amount = 4
	require.EqualValues(t, 2, charged.Charge.Tax.Lines[0].Amount, "nor with its clone")
	pay.Charge.Amount++
	require.True(t, charged.Charge.Differs(pay.Charge))
	again, _, err := charged.After(pay, changed...)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(charged, again))
	ended := redemption.Event{Kind: redemption.SessionExpired, OrderID: "ord", At: at(5), Charge: pay.Charge}
	require.ErrorContains(t, ended.Validate(), "charge")
}
