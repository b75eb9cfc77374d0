package pricingtest_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// recorder is a TB that only remembers.
type recorder struct{ reports []string }

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

// rules returns the rules that were reported, each once.
func (r *recorder) rules() map[string]bool {
	rules := make(map[string]bool)
	for _, report := range r.reports {
		rule, _, _ := strings.Cut(report, ":")
		rules[rule] = true
	}
	return rules
}

// Line positions in the cart of the mutants.
const (
	plan = iota
	free
	phone
	phoneAgain
	excluded
	shipping
)

// mutantCart has a line for everything that can go wrong. 10 % of 73.05 is
// 7.305, rounded 7.31; the shares are 3.003…, 0, 2.153… and 2.153….
func mutantCart() (pricing.Cart, []bool) {
	return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "plan", Kind: pricing.Plan, ItemID: "basic", Quantity: 1, UnitPrice: 3001, Recurs: pricing.Monthly},
		{ID: "free", Kind: pricing.Accessory, ItemID: "strap", Quantity: 2, UnitPrice: 0},
		{ID: "phone", Kind: pricing.Device, ItemID: "phone", Quantity: 4, UnitPrice: 538},
		{ID: "again", Kind: pricing.Device, ItemID: "phone", Quantity: 4, UnitPrice: 538},
		{ID: "excluded", Kind: pricing.Device, ItemID: "tablet", Quantity: 1, UnitPrice: 5000},
		{ID: "shipping", Kind: pricing.Shipping, ItemID: "dhl", Quantity: 1, UnitPrice: 490},
	}}, []bool{true, true, true, true, false, true}
}

// shift moves part of the discount between lines and keeps every sum.
func shift(q *pricing.Quote, from, to int, amount int64) {
	q.Lines[from].Discount -= amount
	q.Lines[from].Total += amount
	q.Lines[to].Discount += amount
	q.Lines[to].Total -= amount
}

// more raises the discount of a line and of the quote and keeps every sum.
func more(q *pricing.Quote, line int, amount int64) {
	q.Lines[line].Discount += amount
	q.Lines[line].Total -= amount
	q.Discount += amount
	q.Total -= amount
}

// Every rule is broken on purpose, as gently as can be, and must be reported by
// its name.
func TestCheckQuoteReportsEveryBrokenRule(t *testing.T) {
	t.Parallel()
	mutants := []struct {
		name   string
		rule   string
		mutate func(*pricing.Quote)
	}{
		{"another currency", "cart", func(q *pricing.Quote) { q.Currency = pricing.Currency{} }},
		{"a line lost", "cart", func(q *pricing.Quote) { q.Lines = q.Lines[:shipping] }},
		{"lines exchanged", "cart", func(q *pricing.Quote) {
			q.Lines[phone], q.Lines[excluded] = q.Lines[excluded], q.Lines[phone]
		}},
		{"another item", "cart", func(q *pricing.Quote) { q.Lines[phone].ItemID = "cheaper phone" }},
		{"an excluded line covered", "eligible", func(q *pricing.Quote) { q.Lines[excluded].Eligible = true }},
		{"a line not covered", "eligible", func(q *pricing.Quote) { q.Lines[plan].Eligible = false }},
		{"shipping covered", "eligible", func(q *pricing.Quote) { q.Lines[shipping].Eligible = true }},
		{"a subtotal off by one", "subtotal", func(q *pricing.Quote) { q.Lines[plan].Subtotal++; q.Lines[plan].Total++; q.Subtotal++; q.Total++ }},
		{"the quote's subtotal off by one", "subtotal", func(q *pricing.Quote) { q.Subtotal--; q.Total-- }},
		{"the base off by one", "subtotal", func(q *pricing.Quote) { q.EligibleSubtotal++ }},
		{"no base at all", "subtotal", func(q *pricing.Quote) { q.EligibleSubtotal = 0 }},
		{"shipping counted as goods", "subtotal", func(q *pricing.Quote) { q.Subtotal += q.Shipping; q.Shipping = 0 }},
		{"rounded down", "rounding", func(q *pricing.Quote) { more(q, phone, -1) }},
		{"rounded up", "rounding", func(q *pricing.Quote) { more(q, phoneAgain, 1) }},
		{"no discount at all", "rounding", func(q *pricing.Quote) {
			for i := range q.Lines {
				more(q, i, -q.Lines[i].Discount)
			}
		}},
		{"line discounts do not sum", "sum", func(q *pricing.Quote) { q.Lines[plan].Discount--; q.Lines[plan].Total++; q.Total++ }},
		{"two cents moved", "share", func(q *pricing.Quote) { shift(q, plan, phone, 2) }},
		{"a free line discounted", "bounds", func(q *pricing.Quote) { shift(q, plan, free, 1) }},
		{"a line below zero", "bounds", func(q *pricing.Quote) { shift(q, plan, phone, q.Lines[phone].Subtotal) }},
		{"units below zero", "units", func(q *pricing.Quote) { shift(q, plan, phone, q.Lines[phone].Subtotal) }},
		{"a line dearer than before", "bounds", func(q *pricing.Quote) { shift(q, plan, phone, q.Lines[plan].Discount+1) }},
		{"shipping discounted", "bounds", func(q *pricing.Quote) { shift(q, plan, shipping, 1) }},
		{"an excluded line discounted", "bounds", func(q *pricing.Quote) { shift(q, plan, excluded, 1) }},
		{"one cent moved", "tie", func(q *pricing.Quote) { shift(q, phone, plan, 1) }},
		{"the tie to the later line", "tie", func(q *pricing.Quote) { shift(q, phone, phoneAgain, 1) }},
		{"a line total off by one", "total", func(q *pricing.Quote) { q.Lines[plan].Total-- }},
		{"the total off by one", "total", func(q *pricing.Quote) { q.Total++ }},
		{"shipping forgotten", "total", func(q *pricing.Quote) { q.Total -= q.Shipping }},
	}
	cart, eligible := mutantCart()
	percent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	discount := pricing.PercentOff(percent)
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			quote, err := pricing.Price(cart, pricing.Terms{Discount: discount, Eligible: eligible})
			require.NoError(t, err)
			var before, after recorder
			pricingtest.CheckQuote(&before, cart, discount, eligible, quote)
			require.Empty(t, before.reports, "the intact quote")

			m.mutate(&quote)
			pricingtest.CheckQuote(&after, cart, discount, eligible, quote)
			if !after.rules()[m.rule] {
				t.Errorf("rule %q not reported, only %q", m.rule, after.reports)
			}
		})
	}
}

// The rules of a cart with a step are broken too: by the arithmetic of minor units,
// and by as little as one of them.
func TestCheckQuoteReportsEveryBrokenStep(t *testing.T) {
	t.Parallel()
	plain, eligible := mutantCart()
	cart := pricing.Cart{Currency: plain.Currency, Step: 10, Lines: slices.Clone(plain.Lines)}
	for i := range cart.Lines {
		cart.Lines[i].UnitPrice *= 10
	}
	percent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	discount := pricing.PercentOff(percent)
	for _, m := range []struct {
		name   string
		rule   string
		mutate func(*pricing.Quote)
	}{
		{"another step", "step", func(q *pricing.Quote) { q.Step = 5 }},
		{"no step", "step", func(q *pricing.Quote) { q.Step = 0 }},
		{"rounded to a minor unit", "step", func(q *pricing.Quote) { more(q, phone, -5) }},
		{"rounded to another step", "rounding", func(q *pricing.Quote) { more(q, phone, -10) }},
		{"a minor unit moved", "step", func(q *pricing.Quote) { shift(q, plan, phone, 1) }},
		{"two steps moved", "share", func(q *pricing.Quote) { shift(q, plan, phone, 20) }},
		{"one step moved", "tie", func(q *pricing.Quote) { shift(q, phone, plan, 10) }},
		{"the tie to the later line", "tie", func(q *pricing.Quote) { shift(q, phone, phoneAgain, 10) }},
		{"spread in minor units", "tie", func(q *pricing.Quote) {
			fine, err := pricing.Price(pricing.Cart{Currency: cart.Currency, Lines: cart.Lines}, pricing.Terms{Discount: discount, Eligible: eligible})
			require.NoError(t, err)
			for i := range q.Lines {
				q.Lines[i].Discount, q.Lines[i].Total = fine.Lines[i].Discount, fine.Lines[i].Total
			}
			q.Discount, q.Total = fine.Discount, fine.Total
		}},
	} {
		quote, err := pricing.Price(cart, pricing.Terms{Discount: discount, Eligible: eligible})
		require.NoError(t, err)
		var before, after recorder
		pricingtest.CheckQuote(&before, cart, discount, eligible, quote)
		require.Empty(t, before.reports, "the intact quote")
		m.mutate(&quote)
		pricingtest.CheckQuote(&after, cart, discount, eligible, quote)
		if !after.rules()[m.rule] {
			t.Errorf("%s: rule %q not reported, only %q", m.name, m.rule, after.reports)
		}
	}
}

// TestATieIsReportedWithThePlaces: the report says who was the first in line for the one
// spare step, who had it, and what both should have, in minor units.
func TestATieIsReportedWithThePlaces(t *testing.T) {
	t.Parallel()
	cart, eligible := mutantCart()
	cart.Step = 10
	for i := range cart.Lines {
		cart.Lines[i].UnitPrice *= cart.Step
	}
	percent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	quote, err := pricing.Price(cart, pricing.Terms{Discount: pricing.PercentOff(percent), Eligible: eligible})
	require.NoError(t, err)
	first, second := quote.Lines[phone].Discount, quote.Lines[phoneAgain].Discount
	require.Equal(t, second+cart.Step, first)
	shift(&quote, phone, phoneAgain, cart.Step)
	var r recorder
	pricingtest.CheckQuote(&r, cart, pricing.PercentOff(percent), eligible, quote)
	require.Len(t, r.reports, 2)
	require.Contains(t, r.reports[0], fmt.Sprintf("tie: line %d has a discount of %d, want %d:", phone, second, first))
	require.Contains(t, r.reports[0], "has rank 1 of the spare units, which are 1")
	require.Contains(t, r.reports[1], fmt.Sprintf("tie: line %d has a discount of %d, want %d:", phoneAgain, first, second))
	require.Contains(t, r.reports[1], "has rank 2 of the spare units, which are 1")
}

func TestCheckUnitsReportsSplitsOffTheStep(t *testing.T) {
	t.Parallel()
	quote := pricing.Quote{Step: 10, Lines: []pricing.QuotedLine{{Line: pricing.Line{Quantity: 3}, Total: 2000}}}
	for name, groups := range map[string][]pricing.UnitGroup{
		"a minor unit apart": {{Quantity: 2, UnitPrice: 667}, {Quantity: 1, UnitPrice: 666}},
		"a cent moved":       {{Quantity: 2, UnitPrice: 669}, {Quantity: 1, UnitPrice: 662}},
		"two steps apart":    {{Quantity: 1, UnitPrice: 680}, {Quantity: 2, UnitPrice: 660}},
	} {
		var r recorder
		pricingtest.CheckUnits(&r, quote, 0, groups)
		if !r.rules()["units"] {
			t.Errorf("%s: not reported", name)
		}
	}
	var r recorder
	pricingtest.CheckUnits(&r, quote, 0, quote.Units(0))
	require.Empty(t, r.reports)
}

func TestCheckQuoteReportsAnAmountBeyondTheBase(t *testing.T) {
	t.Parallel()
	cart, eligible := mutantCart()
	discount, err := pricing.AmountOff(pricing.NewMoney(1_000_000, pricing.EUR()))
	require.NoError(t, err)
	quote, err := pricing.Price(cart, pricing.Terms{Discount: discount, Eligible: eligible})
	require.NoError(t, err)
	more(&quote, plan, -1)
	var r recorder
	pricingtest.CheckQuote(&r, cart, discount, eligible, quote)
	if !r.rules()["cap"] {
		t.Errorf("an amount below its cap is not reported: %q", r.reports)
	}
}

// Where shares need no rounding, a single minor unit moved is one too far.
func TestCheckQuoteReportsOneUnitBesideAWholeShare(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{Kind: pricing.Device, Quantity: 1, UnitPrice: 100}, {Kind: pricing.Device, Quantity: 1, UnitPrice: 100},
	}}
	percent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	quote, err := pricing.Price(cart, pricing.Terms{Discount: pricing.PercentOff(percent)})
	require.NoError(t, err)
	shift(&quote, 0, 1, 1)
	var r recorder
	pricingtest.CheckQuote(&r, cart, pricing.PercentOff(percent), nil, quote)
	if !r.rules()["share"] {
		t.Errorf("not reported: %q", r.reports)
	}
}

func TestCheckQuoteReportsADiscountWithoutOne(t *testing.T) {
	t.Parallel()
	cart, eligible := mutantCart()
	quote, err := pricing.Price(cart, pricing.Terms{Eligible: eligible})
	require.NoError(t, err)
	more(&quote, plan, 1)
	var r recorder
	pricingtest.CheckQuote(&r, cart, pricing.Discount{}, eligible, quote)
	if !r.rules()["cap"] {
		t.Errorf("a discount out of nowhere is not reported: %q", r.reports)
	}
}

func TestCheckQuoteReportsAnEligibleListOfAnotherCart(t *testing.T) {
	t.Parallel()
	cart, eligible := mutantCart()
	quote, err := pricing.Price(cart, pricing.Terms{Eligible: eligible})
	require.NoError(t, err)
	var r recorder
	pricingtest.CheckQuote(&r, cart, pricing.Discount{}, eligible[1:], quote)
	if !r.rules()["eligible"] {
		t.Errorf("a list that is too short is not reported: %q", r.reports)
	}
}

func TestCheckUnitsReportsWrongSplits(t *testing.T) {
	t.Parallel()
	quote := pricing.Quote{Lines: []pricing.QuotedLine{{Line: pricing.Line{Quantity: 3}, Total: 2000}}}
	for name, groups := range map[string][]pricing.UnitGroup{
		"nothing":              nil,
		"a cent lost":          {{Quantity: 3, UnitPrice: 666}},
		"a unit lost":          {{Quantity: 2, UnitPrice: 1000}},
		"the cheaper first":    {{Quantity: 1, UnitPrice: 666}, {Quantity: 2, UnitPrice: 667}},
		"further apart":        {{Quantity: 1, UnitPrice: 668}, {Quantity: 2, UnitPrice: 666}},
		"three prices":         {{Quantity: 1, UnitPrice: 668}, {Quantity: 1, UnitPrice: 667}, {Quantity: 1, UnitPrice: 665}},
		"three groups":         {{Quantity: 1, UnitPrice: 667}, {Quantity: 1, UnitPrice: 667}, {Quantity: 1, UnitPrice: 666}},
		"an empty group":       {{Quantity: 2, UnitPrice: 667}, {Quantity: 1, UnitPrice: 666}, {Quantity: 0, UnitPrice: 665}},
		"below zero":           {{Quantity: 2, UnitPrice: 1001}, {Quantity: 1, UnitPrice: -2}},
		"a negative quantity":  {{Quantity: 5, UnitPrice: 667}, {Quantity: -2, UnitPrice: 666}},
		"a product that wraps": {{Quantity: math.MaxInt64, UnitPrice: math.MaxInt64}},
	} {
		var r recorder
		pricingtest.CheckUnits(&r, quote, 0, groups)
		if !r.rules()["units"] {
			t.Errorf("%s: not reported", name)
		}
	}
	var r recorder
	pricingtest.CheckUnits(&r, quote, 0, quote.Units(0))
	if diff := cmp.Diff([]string(nil), r.reports); diff != "" {
		t.Errorf("the right split is reported (-want +got):\n%s", diff)
	}
}

// No single amount of any quote can change without a report.
func TestCheckQuoteReportsEveryChangedAmount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := pricingtest.Step().Draw(t, "step")
		cart := pricingtest.Cart(pricingtest.CartOptions{MinLines: 1, MaxLines: 8, Step: step}).Draw(t, "cart")
		discount := pricingtest.DiscountFor(cart).Draw(t, "discount")
		eligible := pricingtest.Eligible(cart).Draw(t, "eligible")
		quote, err := pricing.Price(cart, pricing.Terms{Discount: discount, Eligible: eligible})
		if err != nil {
			t.Fatalf("pricing: %v", err)
		}
		amounts := []*int64{&quote.Subtotal, &quote.EligibleSubtotal, &quote.Discount, &quote.Shipping, &quote.Total}
		for i := range quote.Lines {
			l := &quote.Lines[i]
			amounts = append(amounts, &l.Quantity, &l.UnitPrice, &l.Subtotal, &l.Discount, &l.Total)
		}
		changed := rapid.SampledFrom(amounts).Draw(t, "changed")
		*changed ^= 1 << rapid.IntRange(0, 62).Draw(t, "bit")
		var r recorder
		pricingtest.CheckQuote(&r, cart, discount, eligible, quote)
		if len(r.reports) == 0 {
			t.Fatalf("not reported: %+v", quote)
		}
	})
}

// The discount of every type is computed independently: of another discount's terms it is reported.
func TestCheckQuoteKnowsEveryType(t *testing.T) {
	t.Parallel()
	ten, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	eur := pricing.EUR()
	cart := pricing.Cart{Currency: eur, Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, ItemID: "a", Quantity: 3, UnitPrice: 10_00},
		{ID: "B", Kind: pricing.Accessory, ItemID: "b", Quantity: 2, UnitPrice: 3_33},
	}}
	for want, terms := range map[int64]pricing.DiscountTerms{
		3_67:  {Type: pricing.Percentage, Percent: ten},
		67:    {Type: pricing.Percentage, Percent: ten, MaxUnits: 2},
		2_50:  {Type: pricing.Percentage, Percent: ten, Currency: eur, MaxDiscount: 2_50},
		5_00:  {Type: pricing.FixedAmount, Currency: eur, Amount: 5_00},
		6_66:  {Type: pricing.FixedAmount, Currency: eur, Amount: 50_00, MaxUnits: 2},
		18_66: {Type: pricing.FixedAmountPerUnit, Currency: eur, Amount: 4_00},
		7_99:  {Type: pricing.FixedAmountPerUnit, Currency: eur, Amount: 4_00, MaxDiscount: 7_99},
		18_00: {Type: pricing.FixedUnitPrice, Currency: eur, Amount: 4_00},
		1_67:  {Type: pricing.CheapestUnits, Percent: ten, Units: 3},
		33:    {Type: pricing.BuyXGetY, Percent: ten, BuyQuantity: 3, GetQuantity: 1},
		1_00:  {Type: pricing.Tiered, Currency: eur, TierBasis: pricing.ByQuantity, Tiers: []pricing.Tier{{From: 5, Amount: 1_00}, {From: 6, Amount: 9_00}}},
		3_66:  {Type: pricing.Tiered, Currency: eur, TierBasis: pricing.ByAmount, MaxDiscount: 3_66, Tiers: []pricing.Tier{{From: 36_66, Percent: ten}}},
		0:     {Type: pricing.Tiered, Currency: eur, TierBasis: pricing.ByAmount, Tiers: []pricing.Tier{{From: 36_67, Percent: ten}}},
	} {
		discount, err := pricing.NewDiscount(terms)
		require.NoError(t, err)
		quote, err := pricing.Price(cart, pricing.Terms{Discount: discount})
		require.NoError(t, err)
		require.Equal(t, want, quote.Discount, "%s", discount)
		var r recorder
		pricingtest.CheckQuote(&r, cart, discount, nil, quote)
		require.Empty(t, r.reports, "%s", discount)
		another, err := pricing.Price(cart, pricing.Terms{Discount: halfOf(t, want)})
		require.NoError(t, err)
		pricingtest.CheckQuote(&r, cart, discount, nil, another)
		require.NotEmpty(t, r.reports, "%s", discount)
	}
}

// halfOf is an amount that is not the wanted discount.
func halfOf(t *testing.T, want int64) pricing.Discount {
	t.Helper()
	d, err := pricing.AmountOff(pricing.NewMoney(want/2+1, pricing.EUR()))
	require.NoError(t, err)
	return d
}
