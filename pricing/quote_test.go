package pricing_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// euros is a cart of devices at these unit prices, in cents.
func euros(unitPrices ...int64) pricing.Cart {
	cart := pricing.Cart{Currency: pricing.EUR()}
	for i, price := range unitPrices {
		cart.Lines = append(cart.Lines, pricing.Line{ID: strconv.Itoa(i), Kind: pricing.Device, Quantity: 1, UnitPrice: price})
	}
	return cart
}

// Contract 2.3, by hand: who gets which cent.
func TestSpreadByHand(t *testing.T) {
	t.Parallel()
	fixed := func(amount string) pricing.Discount { return amountOff(t, amount, "EUR") }
	for _, c := range []struct {
		name     string
		prices   []int64
		discount pricing.Discount
		want     []int64
	}{
		{"shares without a remainder", []int64{9000, 1000}, fixed("10"), []int64{900, 100}},
		{"ties go to the earlier line", []int64{1000, 1000, 1000}, fixed("10"), []int64{334, 333, 333}},
		{"two spare cents", []int64{1000, 1000, 1000}, fixed("0.02"), []int64{1, 1, 0}},
		{"greatest remainder first", []int64{300, 300, 100}, fixed("0.03"), []int64{1, 1, 1}},
		{"not monotone per line", []int64{300, 300, 100}, fixed("0.04"), []int64{2, 2, 0}},
		{"fewer cents than lines", []int64{500, 500, 500, 500, 500}, fixed("0.01"), []int64{1, 0, 0, 0, 0}},
		{"free lines first and last", []int64{0, 500, 500, 0}, fixed("0.03"), []int64{0, 2, 1, 0}},
		{"a free line alone", []int64{0}, fixed("5"), []int64{0}},
		{"a cent beside 10,000.00", []int64{1, 1_000_000}, fixed("5000"), []int64{0, 500_000}},
		{"capped at the base", []int64{100, 200}, fixed("3.01"), []int64{100, 200}},
		{"all but a cent", []int64{100, 200}, fixed("2.99"), []int64{100, 199}},
		{"100 %", []int64{1, 0, 333}, pricing.PercentOff(percent(t, "100")), []int64{1, 0, 333}},
		{"rounded once, not per line", []int64{5, 5, 5}, pricing.PercentOff(percent(t, "10")), []int64{1, 1, 0}},
		{"rounded to nothing", []int64{1, 1}, pricing.PercentOff(percent(t, "0.01")), []int64{0, 0}},
		{
			"products beyond 64 bits",
			[]int64{math.MaxInt64 / 3, math.MaxInt64 / 3, math.MaxInt64 / 3},
			fixed("30000000000000000.01"),
			[]int64{1_000_000_000_000_000_001, 1_000_000_000_000_000_000, 1_000_000_000_000_000_000},
		},
		{"no discount", []int64{100, 200}, pricing.Discount{}, []int64{0, 0}},
		{"no lines", nil, fixed("5"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cart := euros(c.prices...)
			q, err := pricing.Price(cart, pricing.Terms{Discount: c.discount})
			require.NoError(t, err)
			var got []int64
			for _, l := range q.Lines {
				got = append(got, l.Discount)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("line discounts (-want +got):\n%s", diff)
			}
			pricingtest.CheckQuote(t, cart, c.discount, nil, q)
		})
	}
}

// The example of contract section 7.
func TestTheContractsExample(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 1000},
		{ID: "S", Kind: pricing.Shipping, ItemID: "dhl", Quantity: 1, UnitPrice: 490},
	}}
	q, err := pricing.Price(cart, pricing.Terms{Discount: amountOff(t, "10", "EUR")})
	require.NoError(t, err)
	want := pricing.Quote{
		Currency: pricing.EUR(), Subtotal: 3000, EligibleSubtotal: 3000, Discount: 1000, Shipping: 490, Total: 2490,
		Lines: []pricing.QuotedLine{
			{Line: cart.Lines[0], Eligible: true, Subtotal: 3000, Discount: 1000, Total: 2000},
			{Line: cart.Lines[1], Subtotal: 490, Total: 490},
		},
		Coupons: []pricing.QuotedCoupon{
			{Terms: amountOff(t, "10", "EUR"), EligibleSubtotal: 3000, EligibleQuantity: 3, Discount: 1000, Refund: pricing.RefundTerms{Policy: pricing.Keep}},
		},
	}
	if diff := cmp.Diff(want, q); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	units := []pricing.UnitGroup{{Quantity: 2, UnitPrice: 667}, {Quantity: 1, UnitPrice: 666}}
	if diff := cmp.Diff(units, q.Units(0)); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
}

// Contract 2.4.
func TestUnits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quantity, total int64
		want            []pricing.UnitGroup
	}{
		{1, 5, []pricing.UnitGroup{{1, 5}}},
		{3, 9, []pricing.UnitGroup{{3, 3}}},
		{3, 10, []pricing.UnitGroup{{1, 4}, {2, 3}}},
		{3, 11, []pricing.UnitGroup{{2, 4}, {1, 3}}},
		{3, 0, []pricing.UnitGroup{{3, 0}}},
		{3, 1, []pricing.UnitGroup{{1, 1}, {2, 0}}},
		{999, 998, []pricing.UnitGroup{{998, 1}, {1, 0}}},
		{1, math.MaxInt64, []pricing.UnitGroup{{1, math.MaxInt64}}},
		{math.MaxInt64, math.MaxInt64 - 1, []pricing.UnitGroup{{math.MaxInt64 - 1, 1}, {1, 0}}},
		{0, 5, nil},
	} {
		q := pricing.Quote{Lines: []pricing.QuotedLine{{Line: pricing.Line{Quantity: c.quantity}, Total: c.total}}}
		if diff := cmp.Diff(c.want, q.Units(0)); diff != "" {
			t.Errorf("%d over %d units (-want +got):\n%s", c.total, c.quantity, diff)
		}
		if c.quantity > 0 {
			pricingtest.CheckUnits(t, q, 0, q.Units(0))
		}
	}
	kept := []pricing.UnitGroup{{7, 7}}
	if diff := cmp.Diff([]pricing.UnitGroup{{7, 7}, {2, 1}}, (pricing.Quote{Lines: []pricing.QuotedLine{{Line: pricing.Line{Quantity: 2}, Total: 2}}}).AppendUnits(kept, 0)); diff != "" {
		t.Errorf("AppendUnits (-want +got):\n%s", diff)
	}
}

func TestRepriceAllocatesNothing(t *testing.T) {
	for _, cart := range []pricing.Cart{benchmarkCart(10), inSteps(benchmarkCart(10), 7)} {
		for name, discount := range benchmarkDiscounts(t) {
			var q pricing.Quote
			if allocs := testing.AllocsPerRun(100, func() {
				if err := q.Reprice(cart, pricing.Terms{Discount: discount}); err != nil {
					t.Fatal(err)
				}
			}); allocs != 0 {
				t.Errorf("%s, step %d: %v allocations", name, cart.Step, allocs)
			}
		}
	}
}

func TestQuoteEqualSeesEveryField(t *testing.T) {
	t.Parallel()
	price := func() pricing.Quote {
		cart := euros(1000, 2000)
		cart.Lines[1].Kind = pricing.Shipping
		q, err := pricing.Price(cart, pricing.Terms{Discount: amountOff(t, "5", "EUR")})
		require.NoError(t, err)
		return q
	}
	require.True(t, price().Equal(price()))
	for name, change := range map[string]func(*pricing.Quote){
		"currency": func(q *pricing.Quote) { q.Currency = pricing.Currency{} },
		"step":     func(q *pricing.Quote) { q.Step = 10 },
		"subtotal": func(q *pricing.Quote) { q.Subtotal++ },
		"eligible": func(q *pricing.Quote) { q.EligibleSubtotal++ },
		"discount": func(q *pricing.Quote) { q.Discount++ },
		"shipping": func(q *pricing.Quote) { q.Shipping++ },
		"total":    func(q *pricing.Quote) { q.Total++ },
		"a line":   func(q *pricing.Quote) { q.Lines[1].ID = "other" },
		"no lines": func(q *pricing.Quote) { q.Lines = nil },
	} {
		q := price()
		change(&q)
		if q.Equal(price()) || price().Equal(q) {
			t.Errorf("a change of %s is not seen", name)
		}
	}
}

func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	var q pricing.Quote
	require.NoError(t, q.Reprice(euros(1000, 2000, 3000), pricing.Terms{Discount: amountOff(t, "5", "EUR")}))
	cloned := q.Clone()
	before, err := pricing.Price(euros(1000, 2000, 3000), pricing.Terms{Discount: amountOff(t, "5", "EUR")})
	require.NoError(t, err)
	require.NoError(t, q.Reprice(euros(7, 8, 9), pricing.Terms{Discount: amountOff(t, "0.01", "EUR")}))
	if diff := cmp.Diff(before, cloned); diff != "" {
		t.Errorf("repricing changed the clone (-want +got):\n%s", diff)
	}
}

// A cart whose prices are laid out against the choice of pivots is priced by the
// same rules.
func TestAdversarialCartKeepsTheRules(t *testing.T) {
	t.Parallel()
	cart := adversarialCart(2000)
	discount := amountOff(t, "0.01", "EUR")
	q, err := pricing.Price(cart, pricing.Terms{Discount: discount})
	require.NoError(t, err)
	pricingtest.CheckQuote(t, cart, discount, nil, q)
}

// A quote whose lines or coupons were changed by hand is invalid, and no method panics.
func TestAQuoteThatWasChanged(t *testing.T) {
	t.Parallel()
	priced, err := pricing.Price(benchmarkCart(3), severalCoupons(t)...)
	require.NoError(t, err)
	cheapest, err := pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.CheapestUnits, Percent: percent(t, "50"), Units: 1})
	require.NoError(t, err)
	grouped, err := pricing.Price(benchmarkCart(3), pricing.Terms{ID: "a", Discount: cheapest})
	require.NoError(t, err)
	for name, change := range map[string]func(*pricing.Quote){
		"a line more":    func(q *pricing.Quote) { q.Lines = append(q.Lines, q.Lines[0]) },
		"a line less":    func(q *pricing.Quote) { q.Lines = q.Lines[1:] },
		"no lines":       func(q *pricing.Quote) { q.Lines = nil },
		"a coupon more":  func(q *pricing.Quote) { q.Coupons = append(q.Coupons, q.Coupons[0]) },
		"a coupon less":  func(q *pricing.Quote) { q.Coupons = q.Coupons[1:] },
		"other coupons":  func(q *pricing.Quote) { q.Coupons = make([]pricing.QuotedCoupon, pricing.MaxCoupons+1) },
		"another length": func(q *pricing.Quote) { q.Lines, q.Coupons = q.Lines[:1], append(q.Coupons, q.Coupons...) },
	} {
		for _, whole := range []pricing.Quote{priced, grouped} {
			q := whole.Clone()
			change(&q)
			require.Error(t, q.Validate(), name)
			require.False(t, q.Equal(whole), name)
			for i := range q.Lines {
				quantity := int64(0)
				for _, u := range q.Units(i) {
					quantity += u.Quantity
				}
				require.Equal(t, q.Lines[i].Quantity, quantity, name)
			}
			_, err := q.Refund(pricing.Refunded{}, pricing.Returns{All: true})
			require.Error(t, err, name)
			_, err = q.MarshalJSON()
			require.Error(t, err, name)
		}
	}
}

// TestAnIndexOutsideOfTheQuote does not panic, since it may come from a browser.
func TestAnIndexOutsideOfTheQuote(t *testing.T) {
	t.Parallel()
	percent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Device, Quantity: 2, UnitPrice: 10_00}}}
	priced, err := pricing.Price(cart, pricing.Terms{ID: "a", Discount: pricing.PercentOff(percent), Eligible: []bool{true}})
	require.NoError(t, err)
	for _, q := range []pricing.Quote{{}, priced} {
		for _, i := range []int{-1, 1, math.MinInt, math.MaxInt} {
			require.Nil(t, q.Units(i))
			require.False(t, q.Covers(i, 0))
			require.False(t, q.Covers(0, i))
			require.Equal(t, pricing.Nothing, q.Effect(i))
		}
	}
	require.True(t, priced.Covers(0, 0))
}
