package pricing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// A failed test shows what a quote and a refund say, and not the memory that they keep.
func TestQuotesAndRefundsArePrintedShort(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, Quantity: 3, UnitPrice: 10_00},
		{ID: "S", Kind: pricing.Shipping, Quantity: 1, UnitPrice: 4_90},
	}}
	var q pricing.Quote
	require.NoError(t, q.Reprice(cart, pricing.Terms{ID: "cpn_1", Discount: amountOff(t, "10", "EUR"), Eligible: []bool{true, false}}))
	const want = "EUR 30.00 - 10.00 + 4.90 = 24.90; line A: 3 x 10.00 - 10.00 = 20.00; line S: 1 x 4.90 = 4.90; coupon cpn_1: 10.00"
	r, err := q.Refund(pricing.Refunded{}, pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 2}}})
	require.NoError(t, err)
	const wantRefund = "EUR 13.34 of 20.00 + 0.00; line 0: 2 for 13.34; coupon cpn_1: 6.66"
	for got, want := range map[string]string{
		q.String():               want,
		fmt.Sprintf("%+v", q):    want,
		fmt.Sprintf("%#v", q):    "pricing.Quote(" + want + ")",
		r.String():               wantRefund,
		fmt.Sprintf("%#v", r):    "pricing.Refund(" + wantRefund + ")",
		pricing.Quote{}.String(): " 0 - 0 + 0 = 0",
		fmt.Sprint(&q):           want,
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	other, err := pricing.Price(cart)
	require.NoError(t, err)
	if diff := cmp.Diff(q, other); len(diff) > 400 {
		t.Errorf("a difference of %d bytes:\n%s", len(diff), diff)
	}
}

// Two quotes that print alike but differ are shown whole by package go-cmp.
func TestADifferenceThatIsNotPrintedIsShown(t *testing.T) {
	t.Parallel()
	q, err := pricing.Price(euros(10_00), pricing.Terms{ID: "cpn_1", Discount: amountOff(t, "1", "EUR"), Eligible: []bool{true}})
	require.NoError(t, err)
	other := q.Clone()
	other.Lines[0].ItemID = "phone"
	if diff := cmp.Diff(q, other); !strings.Contains(diff, "phone") {
		t.Errorf("the difference is not shown:\n%s", diff)
	}
}

func TestEveryQuoteIsPrintedShort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cart := pricingtest.Cart(pricingtest.CartOptions{MaxLines: 3}).Draw(t, "cart")
		var q pricing.Quote
		if err := q.Reprice(cart); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%#v", q)
		most := 120
		for _, l := range cart.Lines {
			most += 100 + len(l.ID)
		}
		if len(text) > most || strings.Contains(text, "{") {
			t.Fatalf("%d bytes: %s", len(text), text)
		}
	})
}
