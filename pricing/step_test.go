package pricing_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/validation"
)

// dinars is a cart of devices at these unit prices, in fils, for a processor that
// charges in tens of them.
func dinars(t fataler, unitPrices ...int64) pricing.Cart {
	t.Helper()
	cart := euros(unitPrices...)
	cart.Currency, cart.Step = currency(t, "KWD"), 10
	return cart
}

// Contract 2.10, by hand: the discount is rounded half-up to a whole step, and the
// steps go where minor units would.
func TestStepsByHand(t *testing.T) {
	t.Parallel()
	fixed := func(amount string) pricing.Discount { return amountOff(t, amount, "KWD") }
	off := func(text string) pricing.Discount { return pricing.PercentOff(percent(t, text)) }
	const most = math.MaxInt64 / 10 * 10
	for _, c := range []struct {
		name     string
		prices   []int64
		discount pricing.Discount
		want     []int64
	}{
		{"ties go to the earlier line", []int64{1000, 1000, 1000}, fixed("1"), []int64{340, 330, 330}},
		{"two spare steps", []int64{1000, 1000, 1000}, fixed("0.02"), []int64{10, 10, 0}},
		{"half a step is a step", []int64{50}, off("50"), []int64{30}},
		{"less than half a step is none", []int64{50}, off("29"), []int64{10}},
		{"less than half of the first step", []int64{50}, off("9.9999"), []int64{0}},
		{"rounded once, not per line", []int64{50, 50, 50}, off("10"), []int64{10, 10, 0}},
		{"100 %", []int64{10, 0, 3330}, off("100"), []int64{10, 0, 3330}},
		{"99.9999 % of little is all of it", []int64{10, 20}, off("99.9999"), []int64{10, 20}},
		{"capped at the base", []int64{100, 200}, fixed("0.310"), []int64{100, 200}},
		{"all but a step", []int64{100, 200}, fixed("0.290"), []int64{100, 190}},
		{"free lines first and last", []int64{0, 500, 500, 0}, fixed("0.030"), []int64{0, 20, 10, 0}},
		{"a step beside a fortune", []int64{10, 10_000_000}, fixed("5000"), []int64{0, 5_000_000}},
		{
			"products beyond 64 bits",
			[]int64{most / 30 * 10, most / 30 * 10, most / 30 * 10},
			fixed("3000000000000000.010"),
			[]int64{1_000_000_000_000_000_010, 1_000_000_000_000_000_000, 1_000_000_000_000_000_000},
		},
		{"half of the greatest amount", []int64{most}, off("50"), []int64{most / 20 * 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cart := dinars(t, c.prices...)
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

// The two unit prices of a line are a step apart; a total that is off the step is
// still split exactly.
func TestUnitsInSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quantity, total, step int64
		want                  []pricing.UnitGroup
	}{
		{3, 2000, 10, []pricing.UnitGroup{{2, 670}, {1, 660}}},
		{3, 90, 10, []pricing.UnitGroup{{3, 30}}},
		{3, 10, 10, []pricing.UnitGroup{{1, 10}, {2, 0}}},
		{3, 1000, 100, []pricing.UnitGroup{{1, 400}, {2, 300}}},
		{3, 10, 1, []pricing.UnitGroup{{1, 4}, {2, 3}}},
		{3, 11, 10, []pricing.UnitGroup{{2, 4}, {1, 3}}},
		{1, math.MaxInt64 / 10 * 10, 10, []pricing.UnitGroup{{1, math.MaxInt64 / 10 * 10}}},
	} {
		q := pricing.Quote{Step: c.step, Lines: []pricing.QuotedLine{{Line: pricing.Line{Quantity: c.quantity}, Total: c.total}}}
		if diff := cmp.Diff(c.want, q.Units(0)); diff != "" {
			t.Errorf("%d over %d units in steps of %d (-want +got):\n%s", c.total, c.quantity, c.step, diff)
		}
	}
}

// A price that is off the step cannot be charged as it stands, and is not changed.
func TestAmountsOffTheStepAreNamed(t *testing.T) {
	t.Parallel()
	cart := dinars(t, 1010, 1005, 0)
	cart.Lines[2].Kind, cart.Lines[2].UnitPrice = pricing.Shipping, 2001
	want := map[string]validation.Code{
		"lines[1].unitPrice": validation.TooManyDecimals, "lines[2].unitPrice": validation.TooManyDecimals,
	}
	_, err := pricing.Price(cart, pricing.Terms{})
	for _, err := range []error{err, cart.Validate()} {
		if diff := cmp.Diff(want, faultsOf(err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		require.ErrorContains(t, err, "multiples of 0.010")
	}
	cart.Lines[1].Quantity = 2 // 2.010 would be on the step; the price of a unit is not
	if diff := cmp.Diff(want, faultsOf(cart.Validate())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, step := range []int64{0, 1} {
		cart.Step = step
		require.NoError(t, cart.Validate())
	}
	cart.Step = -10
	wantField(t, cart.Validate(), "step", validation.TooSmall)
}

func TestADiscountOffTheStepIsNamed(t *testing.T) {
	t.Parallel()
	cart := dinars(t, 1010)
	for _, amount := range []string{"0.005", "5.005"} { // the second is more than the cart
		_, err := pricing.Price(cart, pricing.Terms{Discount: amountOff(t, amount, "KWD")})
		wantField(t, err, "discount", validation.TooManyDecimals)
	}
	wantField(t, amountOff(t, "5", "EUR").FitsCart(cart), "currency", validation.Mismatch)
	require.NoError(t, amountOff(t, "0.010", "KWD").FitsCart(cart))
	require.NoError(t, pricing.PercentOff(percent(t, "0.0001")).FitsCart(cart))
	require.NoError(t, pricing.Discount{}.FitsCart(cart))
	cart.Step = 1
	require.NoError(t, amountOff(t, "0.005", "KWD").FitsCart(cart))
}

func TestDiscountInSteps(t *testing.T) {
	t.Parallel()
	third := pricing.PercentOff(percent(t, "33.33"))
	for _, c := range []struct {
		discount         pricing.Discount
		base, step, want int64
	}{
		{third, 1000, 0, 333},
		{third, 1000, 1, 333},
		{third, 1000, 10, 330},
		{third, 1000, 100, 300},
		{third, 1000, 1000, 0},
		{pricing.PercentOff(percent(t, "50")), 1000, 1000, 1000},
		{third, 0, 10, 0},
		{amountOff(t, "0.1", "KWD"), 1000, 10, 100},
		{amountOff(t, "10", "KWD"), 1000, 10, 1000},
		{pricing.Discount{}, 1000, 10, 0},
	} {
		cart := dinars(t, c.base)
		cart.Step = c.step
		q, err := pricing.Price(cart, pricing.Terms{Discount: c.discount})
		require.NoError(t, err)
		if got := q.Discount; got != c.want {
			t.Errorf("%s of %d in steps of %d: got %d, want %d", c.discount, c.base, c.step, got, c.want)
		}
	}
}

// A quote has its step where it is stored, and no field where it has none.
func TestStepIsStored(t *testing.T) {
	t.Parallel()
	cart := dinars(t, 1000, 500)
	cart.Lines[0].Quantity = 3
	q, err := pricing.Price(cart, pricing.Terms{Discount: amountOff(t, "1", "KWD")})
	require.NoError(t, err)
	text, err := json.Marshal(q)
	require.NoError(t, err)
	if want := `{"version":1,"currency":"KWD","step":"0.010","subtotal":"3.500",`; !strings.HasPrefix(string(text), want) {
		t.Errorf("got %.80s, want %s", text, want)
	}
	var loaded pricing.Quote
	require.NoError(t, json.Unmarshal(text, &loaded))
	if diff := cmp.Diff(q, loaded); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range q.Lines {
		if diff := cmp.Diff(q.Units(i), loaded.Units(i)); diff != "" {
			t.Errorf("units of line %d (-want +got):\n%s", i, diff)
		}
	}
	for old, c := range map[string]struct {
		replacement, field string
		code               validation.Code
	}{
		`"step":"0.010"`:      {`"step":"0.0101"`, "step", validation.TooManyDecimals},
		`"step":"0.010",`:     {`"step":"0.020",`, "lines[0].units", validation.Mismatch},
		`"step":"0.010" `:     {`"step":"-0.010"`, "step", validation.TooSmall},
		`"unitPrice":"0.500"`: {`"unitPrice":"0.505"`, "lines[1].unitPrice", validation.TooManyDecimals},
	} {
		kept := q.Clone()
		err := json.Unmarshal([]byte(strings.Replace(string(text), strings.TrimSpace(old), c.replacement, 1)), &kept)
		if faultsOf(err)[c.field] != c.code {
			t.Errorf("%s for %s: got %v, want %s %s", c.replacement, old, err, c.field, c.code)
		}
		require.True(t, kept.Equal(q), "a refused document changed the quote")
	}
}

func TestQuoteValidateLooksAtTheStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*pricing.Quote)
		want   map[string]validation.Code
	}{
		"nothing":         {func(*pricing.Quote) {}, map[string]validation.Code{}},
		"a negative step": {func(q *pricing.Quote) { q.Step = -10 }, map[string]validation.Code{"step": validation.TooSmall}},
		"a discount off the step": {
			func(q *pricing.Quote) { q.Lines[0].Discount++; q.Lines[0].Total--; q.Discount++; q.Total-- },
			map[string]validation.Code{"lines[0].discount": validation.TooManyDecimals},
		},
	} {
		q, err := pricing.Price(dinars(t, 1000), pricing.Terms{Discount: amountOff(t, "0.1", "KWD")})
		require.NoError(t, err)
		c.change(&q)
		if diff := cmp.Diff(c.want, faultsOf(q.Validate())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A step of one minor unit is no step, in every form.
func TestAStepOfOneIsNone(t *testing.T) {
	t.Parallel()
	cart := euros(1000, 500)
	plain, err := pricing.Price(cart, pricing.Terms{Discount: amountOff(t, "1", "EUR")})
	require.NoError(t, err)
	cart.Step = 1
	q, err := pricing.Price(cart, pricing.Terms{Discount: amountOff(t, "1", "EUR")})
	require.NoError(t, err)
	if diff := cmp.Diff(plain, q); diff != "" {
		t.Errorf("(-none +one):\n%s", diff)
	}
	text, err := json.Marshal(q)
	require.NoError(t, err)
	require.NotContains(t, string(text), "step")
}
