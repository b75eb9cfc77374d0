package engine_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/validation"
)

// soldOrder is a paid order of 20.00 EUR, less 10 %, plus 3.60 EUR of tax. It has a refund, an
// external refund, a dispute and a second payment.
func soldOrder(t *testing.T) (redemption.Order, redemption.Use) {
	t.Helper()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tenPercent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	quote, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: "book", ItemID: "atlas", Quantity: 2, UnitPrice: 10_00},
	}}, pricing.Terms{ID: "cpn_1", Discount: pricing.PercentOff(tenPercent)})
	require.NoError(t, err)
	o := redemption.Order{
		ID: "ord_1", CustomerID: "ann", State: redemption.OrderPaid, SessionID: "cs_1", Quote: quote, CreatedAt: noon, UpdatedAt: noon, Version: 1,
		Charge: redemption.Charge{Currency: pricing.EUR(), Amount: 18_00, Tax: pricing.Tax{Amount: 3_60}},
		OtherPayments: []redemption.Payment{
			{SessionID: "cs_2", Charge: redemption.Charge{Currency: pricing.EUR(), Amount: 18_00}, Returned: 4_50, At: noon},
		},
	}
	u := redemption.Use{
		ID: "use_1", CouponID: "cpn_1", CustomerID: "ann", OrderID: "ord_1", State: redemption.Completed, Origin: redemption.FromCheckout,
		Discount: quote.Discount, Currency: pricing.EUR(), CreatedAt: noon, UpdatedAt: noon, Version: 1,
	}
	uses := []redemption.Use{u}
	for _, e := range []redemption.Event{
		{Kind: redemption.Refunded, OrderID: o.ID, At: noon.Add(time.Hour), Refund: redemption.RefundRequest{
			Key: "k", Returns: pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}},
		}},
		{Kind: redemption.Reported, SessionID: o.SessionID, At: noon.Add(2 * time.Hour), Report: redemption.Report{
			Refunds:  []redemption.ReportedRefund{{ID: "re_1", Amount: 2_00, Tax: 40, State: redemption.RepaymentSucceeded}},
			Disputes: []redemption.Dispute{{ID: "dp_1", Amount: 5, State: redemption.DisputeOpen}},
		}},
	} {
		require.NoError(t, e.Validate())
		var changed []redemption.Use
		o, changed, err = o.After(e, uses...)
		require.NoError(t, err)
		if len(changed) > 0 {
			uses = changed
		}
	}
	return o, uses[0]
}

// TestAmountsOfAStoredOrder: every amount of an order and of its uses is a decimal string in major
// units, beside its currency.
func TestAmountsOfAStoredOrder(t *testing.T) {
	t.Parallel()
	o, u := soldOrder(t)
	order, err := engine.AppendOrder(nil, &o)
	require.NoError(t, err)
	use, err := engine.AppendUse(nil, &u)
	require.NoError(t, err)
	golden, err := os.ReadFile(filepath.Join("testdata", "order.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(golden), string(order)+"\n"+string(use)+"\n")
	for document := range strings.SplitSeq(strings.TrimSpace(string(golden)), "\n") {
		require.Empty(t, bareAmounts(t, []byte(document)))
	}
	require.NotEmpty(t, bareAmounts(t, []byte(`{"a":[{"tax":1}]}`)))
}

// bareAmounts returns the names of amounts that are JSON numbers.
func bareAmounts(t *testing.T, document []byte) (names []string) {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(document, &value))
	var visit func(any)
	visit = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, element := range v {
				visit(element)
			}
		case map[string]any:
			for name, member := range v {
				if _, bare := member.(float64); bare && strings.Contains(" amount tax returned discount total subtotal ", " "+name+" ") {
					names = append(names, name)
				}
				visit(member)
			}
		}
	}
	visit(value)
	return names
}

// TestStoredAmountsComeBack: every amount is read as it was written, in every currency and without
// one, to the last minor unit.
func TestStoredAmountsComeBack(t *testing.T) {
	t.Parallel()
	kwd, err := pricing.ParseCurrency("KWD")
	require.NoError(t, err)
	currencies := []pricing.Currency{{}, pricing.JPY(), pricing.EUR(), kwd}
	sold, _ := soldOrder(t)
	rapid.Check(t, func(t *rapid.T) {
		amount := func(name string) int64 { return rapid.Int64Range(0, math.MaxInt64).Draw(t, name) }
		currency := func(name string) pricing.Currency { return rapid.SampledFrom(currencies).Draw(t, name) }
		refund := sold.Refunds[0]
		refund.Tax = amount("refunded tax")
		refund.Repayment = redemption.Repayment{State: redemption.RepaymentDue, Amount: amount("repayment"), Currency: currency("of the repayment"), Attempt: 1}
		o := redemption.Order{ID: "ord", State: redemption.OrderOpen, Refunds: []redemption.Refund{refund}}
		if rapid.Bool().Draw(t, "quoted") {
			quote, err := pricing.Price(pricingtest.Cart(pricingtest.CartOptions{MaxLines: 2}).Draw(t, "cart"), pricing.Terms{})
			require.NoError(t, err)
			o.Quote = quote
		}
		o.ExternalRefunds = []redemption.ExternalRefund{
			{ID: "re", Amount: amount("external"), Tax: amount("tax"), Currency: currency("of the external refund"), State: redemption.RepaymentPending},
		}
		o.Disputes = []redemption.Dispute{{ID: "dp", Amount: amount("disputed"), Currency: currency("of the dispute"), State: redemption.DisputeLost}}
		paid := redemption.Payment{SessionID: "cs", Returned: amount("returned"), Charge: redemption.Charge{Currency: currency("of the charge")}}
		if !paid.Charge.Currency.IsZero() {
			paid.Charge.Amount = amount("charged")
		}
		o.OtherPayments = []redemption.Payment{paid}
		document, err := engine.AppendOrder(nil, &o)
		require.NoError(t, err)
		read := redemption.Order{ID: o.ID}
		require.NoError(t, engine.ReadOrder(&read, "open", document))
		require.Empty(t, cmp.Diff(o, read))

		u := redemption.Use{
			ID: "use", State: redemption.Reserved, Origin: redemption.FromCheckout, Discount: amount("discount"), Returned: amount("discount back"), Currency: currency("of the use"),
		}
		document, err = engine.AppendUse(nil, &u)
		require.NoError(t, err)
		use := redemption.Use{ID: u.ID}
		require.NoError(t, engine.ReadUse(&use, "reserved", "none", document))
		require.Empty(t, cmp.Diff(u, use))
	})
}

// A stored amount that its currency cannot have is no fault of a caller's input.
func TestStoredAmountsThatAreMalformed(t *testing.T) {
	t.Parallel()
	for _, document := range []string{
		`{"origin":"checkout","currency":"EUR","discount":"9.001"}`, `{"origin":"checkout","currency":"JPY","returned":"0.5"}`,
		`{"origin":"checkout","discount":"0.5"}`, `{"origin":"checkout","currency":"EUR","discount":{}}`,
	} {
		err := engine.ReadUse(&redemption.Use{ID: "use"}, "reserved", "none", []byte(document))
		require.Error(t, err, document)
		require.NotErrorIs(t, err, validation.ErrInvalid, document)
	}
	for _, document := range []string{
		`{"disputes":[{"id":"dp","currency":"EUR","state":"open","amount":"9.001"}]}`,
		`{"externalRefunds":[{"id":"re","currency":"JPY","state":"pending","amount":"9","tax":"0.1"}]}`,
		`{"otherPayments":[{"sessionId":"cs","charge":{"currency":"EUR","amount":"9.00"},"returned":"x"}]}`,
		`{"refunds":[{"id":"rfd","repayment":{"state":"due","currency":"EUR","amount":"1.234"}}]}`,
		`{"refunds":[{"id":"rfd","tax":"0.5"}]}`,
	} {
		err := engine.ReadOrder(&redemption.Order{ID: "ord"}, "open", []byte(document))
		require.Error(t, err, document)
		require.NotErrorIs(t, err, validation.ErrInvalid, document)
	}
}
