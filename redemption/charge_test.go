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
	"github.com/couponkit/couponkit/validation"
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
		require.ErrorIs(t, err, validation.ErrInvalid, text)
		require.ErrorContains(t, err, want)
		require.Equal(t, redemption.Charge{Currency: pricing.JPY(), Amount: 5}, c, "the receiver")
	}
}

func TestTotalsOfCharges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ amount, tax, want int64 }{
		{90_00, 18_00, 108_00},
		{90_00, -5_00, 85_00},
		{5, -9, 0},
		{-9, 5, 0},
		{math.MaxInt64, 1, math.MaxInt64},
		{1, math.MaxInt64, math.MaxInt64},
		{-math.MaxInt64, -math.MaxInt64, 0},
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
		want   map[string]validation.Code
	}{
		"without tax":         {tax(0), nil},
		"a tax":               {tax(2_00), nil},
		"a tax by line":       {tax(2_00, line("A", 2_00)), nil},
		"another amount":      {redemption.Charge{Currency: pricing.EUR(), Amount: 9_99}, map[string]validation.Code{"charge.amount": validation.Mismatch}},
		"another currency":    {redemption.Charge{Currency: pricing.USD(), Amount: 10_00}, map[string]validation.Code{"charge.currency": validation.Mismatch}},
		"unknown":             {redemption.Charge{}, map[string]validation.Code{"charge": validation.Required}},
		"a negative tax":      {tax(-1), map[string]validation.Code{"charge.tax.amount": validation.TooSmall}},
		"an unknown line":     {tax(1, line("A", 0), line("B", 1)), map[string]validation.Code{"charge.tax.lines[1].lineId": validation.Unknown}},
		"a line twice":        {tax(1, line("A", 0), line("A", 1)), map[string]validation.Code{"charge.tax.lines[1].lineId": validation.Mismatch}},
		"a negative line":     {tax(-1, line("A", -1)), map[string]validation.Code{"charge.tax.amount": validation.TooSmall, "charge.tax.lines[0].amount": validation.TooSmall}},
		"lines beside a sum":  {tax(2, line("A", 1)), map[string]validation.Code{"charge.tax.lines": validation.Mismatch}},
		"lines that overflow": {tax(1, line("A", math.MaxInt64)), map[string]validation.Code{"charge.tax.lines": validation.Mismatch}},
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
		var invalid *validation.Error
		require.ErrorAs(t, paid.CheckCharge(), &invalid, name)
		got := map[string]validation.Code{}
		for _, f := range invalid.Fields {
			got[f.Path] = f.Code
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
	require.Equal(t, o.Version, same.Version, "nothing is reported")
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

// taxedOrder is a paid order of two units at 50.00, of which the coupon cpn takes 10 %. The
// processor has added 20 % of tax.
func taxedOrder(t *testing.T, policy pricing.RefundPolicy, tax pricing.Tax) redemption.Order {
	t.Helper()
	ten, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: "book", Quantity: 2, UnitPrice: 50_00},
	}}, pricing.Terms{ID: "cpn", Discount: pricing.PercentOff(ten), Refund: pricing.RefundTerms{Policy: policy, MinQuantity: 2}})
	require.NoError(t, err)
	return redemption.Order{
		ID: "ord", CustomerID: "ann", State: redemption.OrderPaid, SessionID: "cs", Quote: q, CreatedAt: at(0), UpdatedAt: at(0), Version: 1,
		Charge: redemption.Charge{Currency: pricing.EUR(), Amount: 90_00, Tax: tax},
	}
}

// TestRefundsReturnTheTax: what the processor added to the price of what is returned goes back with
// it, and everything goes back with everything.
func TestRefundsReturnTheTax(t *testing.T) {
	t.Parallel()
	byLine := pricing.Tax{Amount: 18_00, Lines: []pricing.LineTax{{LineID: "A", Amount: 18_00}}}
	type returned struct{ goods, tax, repayment int64 }
	external := func(amount, tax int64) redemption.Event {
		return reported(15, redemption.ReportedRefund{ID: "re_staff", Amount: amount, Tax: tax, State: redemption.RepaymentSucceeded})
	}
	for name, test := range map[string]struct {
		policy pricing.RefundPolicy
		tax    pricing.Tax
		events []redemption.Event
		want   []returned
	}{
		"everything":                  {pricing.Keep, byLine, []redemption.Event{refundOf("a", 0, 10)}, []returned{{90_00, 18_00, 108_00}}},
		"everything without lines":    {pricing.Keep, pricing.Tax{Amount: 18_00}, []redemption.Event{refundOf("a", 0, 10)}, []returned{{90_00, 18_00, 108_00}}},
		"one and the other":           {pricing.Keep, byLine, []redemption.Event{refundOf("a", 1, 10), refundOf("b", 1, 20)}, []returned{{45_00, 9_00, 54_00}, {45_00, 9_00, 54_00}}},
		"one and the other, rebilled": {pricing.Rebill, byLine, []redemption.Event{refundOf("a", 1, 10), refundOf("b", 1, 20)}, []returned{{40_00, 8_00, 48_00}, {50_00, 10_00, 60_00}}},
		"an odd cent":                 {pricing.Keep, pricing.Tax{Amount: 1}, []redemption.Event{refundOf("a", 1, 10), refundOf("b", 1, 20)}, []returned{{45_00, 1, 45_01}, {45_00, 0, 45_00}}},
		"no tax":                      {pricing.Keep, pricing.Tax{}, []redemption.Event{refundOf("a", 0, 10)}, []returned{{90_00, 0, 90_00}}},
		// What staff returned lowers what is left. Only the processor can tell that it was tax.
		"staff returned the tax":                {pricing.Keep, byLine, []redemption.Event{external(18_00, 18_00), refundOf("a", 1, 20), refundOf("b", 1, 30)}, []returned{{45_00, 0, 45_00}, {45_00, 0, 45_00}}},
		"staff returned some tax":               {pricing.Keep, byLine, []redemption.Event{external(10_00, 10_00), refundOf("a", 1, 20), refundOf("b", 1, 30)}, []returned{{45_00, 0, 45_00}, {45_00, 8_00, 53_00}}},
		"staff returned a unit":                 {pricing.Keep, byLine, []redemption.Event{external(54_00, 9_00), refundOf("a", 0, 20)}, []returned{{90_00, 9_00, 54_00}}},
		"staff returned, and nobody knows what": {pricing.Keep, byLine, []redemption.Event{external(54_00, 0), refundOf("a", 0, 20)}, []returned{{90_00, 18_00, 54_00}}},
		"staff returned more than was paid":     {pricing.Keep, byLine, []redemption.Event{external(math.MaxInt64, math.MaxInt64), refundOf("a", 0, 20)}, []returned{{90_00, 0, 0}}},
	} {
		o := after(t, taxedOrder(t, test.policy, test.tax), test.events...)
		var got []returned
		for _, r := range o.Refunds {
			require.Equal(t, r.Result.Amount+r.Tax, r.Amount(), name)
			got = append(got, returned{r.Result.Amount, r.Tax, r.Repayment.Amount})
		}
		require.Equal(t, test.want, got, name)
		require.LessOrEqual(t, o.Returned(), o.Paid(), name)
		require.Equal(t, redemption.OrderRefunded, o.State, name)
		require.Equal(t, o.Paid(), o.Returned(), "everything is returned: %s", name)
	}
}

// TestAFailedRefundOfATaxIsRepeatedWithIt: the next attempt returns goods and tax.
func TestAFailedRefundOfATaxIsRepeatedWithIt(t *testing.T) {
	t.Parallel()
	o := after(t, taxedOrder(t, pricing.Keep, pricing.Tax{Amount: 18_00}), refundOf("a", 1, 10))
	failed := redemption.ReportedRefund{Key: o.Refunds[0].RepaymentKey(), State: redemption.RepaymentFailed}
	o = after(t, o, reported(20, failed), refundOf("a", 1, 30))
	require.Equal(t, redemption.Repayment{State: redemption.RepaymentDue, Amount: 54_00, Currency: pricing.EUR(), Attempt: 2}, o.Refunds[0].Repayment)
}

// TestAReportedTaxIsAPartOfItsRefund: another one is a fault that names its field.
func TestAReportedTaxIsAPartOfItsRefund(t *testing.T) {
	t.Parallel()
	for _, tax := range []int64{-1, 6} {
		e := reported(10, redemption.ReportedRefund{ID: "re", Amount: 5, Tax: tax, State: redemption.RepaymentSucceeded})
		require.ErrorContains(t, e.Validate(), "report.refunds[0].tax")
	}
}

// Whatever is returned in whatever steps, whatever staff returns meanwhile: no refund is negative,
// never more than what was paid goes back, and everything goes back with everything.
func TestRefundsNeverReturnMoreThanWasPaid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := drawTaxedOrder(t)
		for i := 0; o.State != redemption.OrderRefunded; i++ {
			e := reported(20 + i)
			if rapid.IntRange(0, 4).Draw(t, "staff") == 0 {
				amount := rapid.Int64Range(0, o.Paid()/2).Draw(t, "amount")
				e.Report.Refunds = []redemption.ReportedRefund{{
					ID: "re_" + string(rune('a'+i)), Amount: amount, Tax: rapid.Int64Range(0, amount).Draw(t, "tax"), State: redemption.RepaymentSucceeded,
				}}
			} else {
				units := rapid.Int64Range(0, o.Quote.Lines[0].Quantity).Draw(t, "units")
				e = refundOf(string(rune('a'+i)), units, 20+i)
			}
			next, _, err := o.After(e)
			if err != nil { // there are fewer units
				require.ErrorIs(t, err, validation.ErrInvalid)
				continue
			}
			o = next
			goods, tax, back := int64(0), int64(0), int64(0)
			for _, r := range o.Refunds {
				require.True(t, r.Result.Amount >= 0 && r.Tax >= 0 && r.Repayment.Amount >= 0 && r.Repayment.Amount <= r.Amount())
				goods, tax, back = goods+r.Result.Amount, tax+r.Tax, back+r.Repayment.Amount
			}
			require.True(t, goods <= o.Quote.Total && tax <= o.Charge.Tax.Amount && back <= o.Paid() && o.Returned() <= o.Paid())
		}
		require.Equal(t, o.Paid(), o.Returned())
		if len(o.ExternalRefunds) == 0 {
			require.Equal(t, o.Charge.Tax.Amount, o.RefundedTax())
		}
	})
}

func drawTaxedOrder(t *rapid.T) redemption.Order {
	percent, err := pricing.ParsePercent(rapid.SampledFrom([]string{"0.01", "10", "33.33", "100"}).Draw(t, "percent"))
	require.NoError(t, err)
	lines := []pricing.Line{{ID: "A", Kind: "book", Quantity: rapid.Int64Range(1, 5).Draw(t, "quantity"), UnitPrice: rapid.Int64Range(0, 1_000).Draw(t, "price")}}
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: lines}, pricing.Terms{
		ID: "cpn", Discount: pricing.PercentOff(percent),
		Refund: pricing.RefundTerms{Policy: rapid.SampledFrom([]pricing.RefundPolicy{pricing.Keep, pricing.Rebill}).Draw(t, "policy"), MinQuantity: 2},
	})
	require.NoError(t, err)
	tax := pricing.Tax{Amount: rapid.Int64Range(0, 500).Draw(t, "tax")}
	if rapid.Bool().Draw(t, "by line") {
		tax.Lines = []pricing.LineTax{{LineID: "A", Amount: tax.Amount}}
	}
	return redemption.Order{
		ID: "ord", State: redemption.OrderPaid, SessionID: "cs", Quote: q, CreatedAt: at(0), UpdatedAt: at(0), Version: 1,
		Charge: redemption.Charge{Currency: pricing.EUR(), Amount: q.Total, Tax: tax},
	}
}
