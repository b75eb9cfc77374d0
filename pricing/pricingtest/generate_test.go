package pricingtest_test

import (
	"math"
	"slices"
	"strconv"
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
			Step:     pricingtest.Step().Draw(t, "step"),
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
		for i, l := range cart.Lines {
			total += l.UnitPrice * l.Quantity
			if want := "L" + strconv.Itoa(i+1); l.ID != want {
				t.Fatalf("line %d has the ID %s", i, l.ID)
			}
			if options.Kinds != nil && l.Kind != options.Kinds[0] && l.Kind != options.Kinds[len(options.Kinds)-1] {
				t.Fatalf("a line of kind %s", l.Kind)
			}
		}
		if options.MaxTotal > 0 && total > options.MaxTotal {
			t.Fatalf("total %d", total)
		}
		if cart.Step != options.Step { // Validate has seen that the prices are on it
			t.Fatalf("step %d, want %d", cart.Step, options.Step)
		}
		if err := pricingtest.DiscountFor(cart).Draw(t, "discount").FitsCart(cart); err != nil {
			t.Fatalf("the discount does not fit the cart: %v", err)
		}
		if d := pricingtest.SimpleDiscountFor(cart).Draw(t, "simple discount"); !d.Simple() || d.FitsCart(cart) != nil {
			t.Fatalf("%s is not simple, or does not fit the cart", d)
		}
		if eligible := pricingtest.Eligible(cart).Draw(t, "eligible"); eligible != nil && len(eligible) != len(cart.Lines) {
			t.Fatalf("%d eligible entries for %d lines", len(eligible), len(cart.Lines))
		}
	})
}

// A generator is drawn from many times, and holds no state.
func TestTheThousandthCartIsAsBoundedAsTheFirst(t *testing.T) {
	t.Parallel()
	carts := pricingtest.Cart(pricingtest.CartOptions{Step: 10, MaxTotal: 5000})
	paid := 0
	for seed := range 1000 {
		total := int64(0)
		for _, l := range carts.Example(seed).Lines {
			total += l.UnitPrice * l.Quantity
		}
		if total > 5000 || total < 0 {
			t.Fatalf("cart %d costs %d", seed, total)
		}
		if total > 0 {
			paid++
		}
	}
	if paid < 500 {
		t.Errorf("only %d of 1000 carts cost something", paid)
	}
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

// The awkward inputs that the generators promise do come, and often enough for a
// hundred checks to meet them.
func TestGeneratorsReachTheAwkwardCases(t *testing.T) {
	t.Parallel()
	const draws = 4000
	seen := make(census)
	for seed := range draws {
		cart := pricingtest.Cart(pricingtest.CartOptions{}).Example(seed)
		seen.cart(cart)
		discount := pricingtest.Discount(cart.Currency).Example(seed)
		seen.discount(discount, cart.Currency)
		seen.note("100 %", discount.Percent().String() == "100")
		seen.note("one minor unit", discount.Amount().Minor() == 1)
		seen.note("greatest amount", discount.Amount().Minor() == math.MaxInt64)
		seen.eligible(pricingtest.Eligible(cart).Example(seed))
		line := pricingtest.Line(pricingtest.LineOptions{}).Example(seed)
		seen.note("a line that costs", line.UnitPrice > 0)
		seen.note("a line next to the limit", line.UnitPrice > math.MaxInt64/line.Quantity-10)
		seen.steps(seed)
		switch pricingtest.Currency().Example(seed).Code() {
		case "EUR", "JPY", "KWD", "CLF":
			seen.note("currency of every exponent", true)
		}
	}
	for want, perMille := range map[string]int{
		"empty cart": 5, "exponent 0": 50, "exponent 2": 50, "exponent 3": 50, "exponent 4": 50,
		"currency of every exponent": 450,
		"free first":                 50, "free last": 50, "free first and last only": 60, "free alone": 1,
		"quantity 999": 50, "a cent beside a fortune": 50, "equal lines": 50, "more lines than minor units": 1,
		"next to the limit": 50, "several fortunes": 60, "shipping": 500, "recurring plan": 400, "many lines": 20,
		"simple": 250, "100 %": 20, "one minor unit": 20, "greatest amount": 50,
		"PERCENTAGE": 100, "FIXED_AMOUNT": 100, "FIXED_AMOUNT_PER_UNIT": 50, "FIXED_UNIT_PRICE": 50,
		"CHEAPEST_UNITS": 50, "BUY_X_GET_Y": 50, "TIERED": 50, "maximum": 150, "max units": 100, "max applications": 20,
		"percentage of the item lane": 30, "tiers by amount": 20, "tiers by quantity": 20, "several tiers": 40,
		"several currencies": 100, "of another currency first": 40,
		"eligible nil": 100, "eligible all": 100, "eligible none": 100, "eligible some": 200,
		"no step": 400, "step 1": 50, "step 10": 50, "step 1000": 50,
		"in steps: equal lines": 50, "in steps: a step beside a fortune": 50, "in steps: a discount of one step": 20,
		"in steps: next to the limit": 50, "in steps: more lines than steps": 1,
		"a line that costs": 500, "a line next to the limit": 1,
	} {
		if got := seen[want] * 1000 / draws; got < perMille {
			t.Errorf("%s: %d of 1000 draws, want %d", want, got, perMille)
		}
	}
}

// census counts how many draws had what.
type census map[string]int

func (c census) note(what string, is bool) {
	if is {
		c[what]++
	}
}

// discount looks at the type and the further terms of a discount.
func (c census) discount(d pricing.Discount, currency pricing.Currency) {
	terms := d.Terms()
	c.note(d.Type().String(), true)
	c.note("simple", d.Simple())
	c.note("maximum", terms.MaxDiscount > 0)
	c.note("max units", terms.MaxUnits > 0)
	c.note("max applications", terms.MaxApplications > 0)
	c.note("percentage of the item lane", d.Type() == pricing.Percentage && d.Lane() == pricing.ItemLane)
	c.note("tiers by amount", terms.TierBasis == pricing.ByAmount)
	c.note("tiers by quantity", terms.TierBasis == pricing.ByQuantity)
	c.note("several tiers", len(terms.Tiers) > 1)
	c.note("several currencies", len(terms.Others) > 0)
	c.note("of another currency first", len(terms.Others) > 0 && terms.Currency != currency)
}

// steps looks at carts in steps of ten: in steps they are what others are in minor
// units.
func (c census) steps(seed int) {
	switch step := pricingtest.Step().Example(seed); step {
	case 0:
		c.note("no step", true)
	default:
		c.note("step "+strconv.FormatInt(step, 10), true)
	}
	cart := pricingtest.Cart(pricingtest.CartOptions{Step: 10}).Example(seed)
	total, prices := int64(0), make(map[int64]bool)
	for _, l := range cart.Lines {
		total += l.UnitPrice * l.Quantity
		prices[l.UnitPrice] = true
	}
	c.note("in steps: equal lines", len(cart.Lines) > 1 && len(prices) == 1 && total > 0)
	c.note("in steps: a step beside a fortune", prices[10] && prices[10_000_000])
	c.note("in steps: more lines than steps", total > 0 && total/10 < int64(len(cart.Lines)))
	c.note("in steps: next to the limit", total > math.MaxInt64-1000)
	c.note("in steps: a discount of one step", pricingtest.DiscountFor(cart).Example(seed).Amount().Minor() == 10)
}

func (c census) eligible(eligible []bool) {
	c.note("eligible nil", eligible == nil)
	c.note("eligible all", len(eligible) > 2 && !slices.Contains(eligible, false))
	c.note("eligible none", len(eligible) > 2 && !slices.Contains(eligible, true))
	c.note("eligible some", slices.Contains(eligible, true) && slices.Contains(eligible, false))
}

func (c census) cart(cart pricing.Cart) {
	lines, last := cart.Lines, len(cart.Lines)-1
	c.note("exponent "+strconv.Itoa(cart.Currency.Exponent()), true)
	if len(lines) == 0 {
		c.note("empty cart", true)
		return
	}
	total, paid, fortunes := int64(0), 0, 0
	prices, what := make(map[int64]bool), make(map[string]bool)
	for _, l := range lines {
		total += l.UnitPrice * l.Quantity
		prices[l.UnitPrice] = true
		if l.UnitPrice > 0 {
			paid++
		}
		if l.UnitPrice > math.MaxInt64/1000 {
			fortunes++
		}
		what["quantity 999"] = what["quantity 999"] || l.Quantity == 999
		what["shipping"] = what["shipping"] || l.Kind == pricing.Shipping
		what["recurring plan"] = what["recurring plan"] || l.Recurs != pricing.Once
	}
	for name, is := range what {
		c.note(name, is)
	}
	freeFirst, freeLast := lines[0].UnitPrice == 0, lines[last].UnitPrice == 0
	c.note("free first", last > 0 && freeFirst && paid > 0)
	c.note("free last", last > 0 && freeLast && paid > 0)
	c.note("free first and last only", last > 2 && freeFirst && freeLast && paid*3 > last)
	c.note("free alone", last == 0 && freeFirst)
	c.note("a cent beside a fortune", prices[1] && prices[1_000_000])
	c.note("equal lines", last > 1 && len(prices) == 1 && paid > 0)
	c.note("more lines than minor units", paid > 0 && total < int64(len(lines)))
	c.note("next to the limit", total > math.MaxInt64-1000)
	c.note("several fortunes", fortunes > 2)
	c.note("many lines", len(lines) > 30)
}

// A property of a host on the generators, as the package documentation has it.
func TestThePropertyOfThePackageDocumentation(t *testing.T) {
	t.Parallel()
	require.NotPanics(t, func() {
		rapid.Check(t, func(t *rapid.T) {
			cart := pricingtest.Cart(pricingtest.CartOptions{}).Draw(t, "cart")
			discount := pricingtest.Discount(cart.Currency).Draw(t, "discount")
			eligible := pricingtest.Eligible(cart).Draw(t, "eligible")
			quote, err := pricing.Price(cart, pricing.Terms{Discount: discount, Eligible: eligible})
			if err != nil {
				t.Fatalf("pricing: %v", err)
			}
			pricingtest.CheckQuote(t, cart, discount, eligible, quote)
		})
	})
}
