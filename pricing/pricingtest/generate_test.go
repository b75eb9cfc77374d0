package pricingtest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

func TestCartsAreValidAndWithinTheirOptions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		options := pricingtest.CartOptions{
			Kinds: rapid.SampledFrom([][]pricing.LineKind{
				nil, {pricing.Plan}, {pricing.Device, pricing.Shipping},
			}).Draw(t, "kinds"),
			MinLines: rapid.IntRange(0, 3).Draw(t, "min lines"),
			MaxLines: rapid.IntRange(0, 6).Draw(t, "max lines"),
			MaxTotal: rapid.SampledFrom([]int64{0, 1, 5000}).Draw(t, "max total"),
		}
		cart := pricingtest.Cart(options).Draw(t, "cart")
		if err := cart.Validate(); err != nil {
			t.Fatalf("invalid cart: %v", err)
		}
		most := options.MaxLines
		if most == 0 {
			most = 40
		}
		if n := len(cart.Lines); n < options.MinLines || n > max(most, options.MinLines) {
			t.Fatalf("%d lines", n)
		}
		total := int64(0)
		for _, l := range cart.Lines {
			total += l.UnitPrice * l.Quantity
			if options.Kinds != nil && l.Kind != options.Kinds[0] && l.Kind != options.Kinds[len(options.Kinds)-1] {
				t.Fatalf("a line of kind %s", l.Kind)
			}
		}
		if options.MaxTotal > 0 && total > options.MaxTotal {
			t.Fatalf("total %d", total)
		}
		if eligible := pricingtest.Eligible(cart).Draw(t, "eligible"); eligible != nil && len(eligible) != len(cart.Lines) {
			t.Fatalf("%d eligible entries for %d lines", len(eligible), len(cart.Lines))
		}
	})
}

func TestLinesAreValidAndWithinTheirOptions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := pricingtest.Line(pricingtest.LineOptions{MaxSubtotal: 1_000_000, Kinds: []pricing.LineKind{pricing.Plan}}).Draw(t, "line")
		cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{line}}
		if err := cart.Validate(); err != nil {
			t.Fatalf("invalid line: %v", err)
		}
		if line.Kind != pricing.Plan || line.UnitPrice*line.Quantity > 1_000_000 {
			t.Fatalf("out of bounds: %+v", line)
		}
	})
}

func TestACurrencyGivenIsTheCartsCurrency(t *testing.T) {
	t.Parallel()
	cart := pricingtest.Cart(pricingtest.CartOptions{Currency: pricing.EUR()}).Example(1)
	if cart.Currency != pricing.EUR() {
		t.Errorf("got %s", cart.Currency)
	}
}

// The awkward inputs that the generators promise do come.
func TestGeneratorsReachTheAwkwardCases(t *testing.T) {
	t.Parallel()
	const draws = 4000
	seen := make(map[string]bool)
	for seed := range draws {
		cart := pricingtest.Cart(pricingtest.CartOptions{}).Example(seed)
		note(seen, cart)
		discount := pricingtest.Discount(cart.Currency).Example(seed)
		seen["percentage"] = seen["percentage"] || discount.Type() == pricing.Percentage
		seen["100 %"] = seen["100 %"] || discount.Percent().String() == "100"
		seen["one minor unit"] = seen["one minor unit"] || discount.Amount().Minor() == 1
		seen["greatest amount"] = seen["greatest amount"] || discount.Amount().Minor() == math.MaxInt64
		eligible := pricingtest.Eligible(cart).Example(seed)
		seen["eligible nil"] = seen["eligible nil"] || eligible == nil
	}
	for _, want := range []string{
		"empty cart", "exponent 0", "exponent 2", "exponent 3", "exponent 4", "free first", "free last", "free alone",
		"quantity 999", "a cent beside a fortune", "equal lines", "more lines than minor units", "next to the limit",
		"shipping", "recurring plan", "many lines", "percentage", "100 %", "one minor unit", "greatest amount", "eligible nil",
	} {
		if !seen[want] {
			t.Errorf("%d draws without: %s", draws, want)
		}
	}
}

func note(seen map[string]bool, cart pricing.Cart) {
	lines := cart.Lines
	seen["exponent "+string(rune('0'+cart.Currency.Exponent()))] = true
	if len(lines) == 0 {
		seen["empty cart"] = true
		return
	}
	isFree := func(l pricing.Line) bool { return l.UnitPrice == 0 }
	total, prices := int64(0), make(map[int64]bool)
	for _, l := range lines {
		total += l.UnitPrice * l.Quantity
		prices[l.UnitPrice] = true
		seen["quantity 999"] = seen["quantity 999"] || l.Quantity == 999
		seen["shipping"] = seen["shipping"] || l.Kind == pricing.Shipping
		seen["recurring plan"] = seen["recurring plan"] || l.Recurs != pricing.Once
	}
	for name, is := range map[string]bool{
		"free first":                  len(lines) > 1 && isFree(lines[0]) && total > 0,
		"free last":                   len(lines) > 1 && isFree(lines[len(lines)-1]) && total > 0,
		"free alone":                  len(lines) == 1 && isFree(lines[0]),
		"a cent beside a fortune":     prices[1] && prices[1_000_000],
		"equal lines":                 len(lines) > 2 && len(prices) == 1 && total > 0,
		"more lines than minor units": total > 0 && total < int64(len(lines)),
		"next to the limit":           total > math.MaxInt64-1000,
		"many lines":                  len(lines) > 30,
	} {
		seen[name] = seen[name] || is
	}
}

// A property of a host on the generators, as the package documentation has it.
func TestThePropertyOfThePackageDocumentation(t *testing.T) {
	t.Parallel()
	require.NotPanics(t, func() {
		rapid.Check(t, func(t *rapid.T) {
			cart := pricingtest.Cart(pricingtest.CartOptions{}).Draw(t, "cart")
			discount := pricingtest.Discount(cart.Currency).Draw(t, "discount")
			eligible := pricingtest.Eligible(cart).Draw(t, "eligible")
			quote, err := pricing.Price(cart, discount, eligible)
			if err != nil {
				t.Fatalf("pricing: %v", err)
			}
			pricingtest.CheckQuote(t, cart, discount, eligible, quote)
		})
	})
}
