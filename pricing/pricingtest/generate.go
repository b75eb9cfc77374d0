package pricingtest

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
)

// ItemsPerKind is how many different items of each kind the generated lines
// name: "plan-1" to "plan-5", "device-1" and so on. They are few, so that a
// selection of items has a chance to meet a cart.
const ItemsPerKind = 5

// Currency draws an ISO 4217 currency: every exponent that there is (0 for JPY,
// 2 for EUR, 3 for KWD, 4 for CLF) as often as all other currencies together.
func Currency() *rapid.Generator[pricing.Currency] {
	var exponents []pricing.Currency
	for _, code := range []string{"EUR", "JPY", "KWD", "CLF"} {
		c, _ := pricing.ParseCurrency(code) // known codes
		exponents = append(exponents, c)
	}
	return rapid.OneOf(rapid.SampledFrom(exponents), rapid.SampledFrom(pricing.Currencies()))
}

// Percent draws a percentage: the least (0.0001), the greatest (100), those that
// leave remainders (33.33) and any other.
func Percent() *rapid.Generator[pricing.Percent] {
	return rapid.Custom(func(t *rapid.T) pricing.Percent {
		text := rapid.OneOf(
			rapid.SampledFrom([]string{"100", "0.0001", "99.9999", "50", "33.33", "0.01", "12.5", "58", "66.6667"}),
			rapid.Map(rapid.IntRange(1, 99), func(whole int) string { return fmt.Sprint(whole) }),
			rapid.Map(rapid.IntRange(1, 999_999), func(units int) string { return fmt.Sprintf("%de-4", units) }),
		).Draw(t, "percent")
		p, err := pricing.ParsePercent(text)
		if err != nil {
			t.Fatalf("drew an impossible percentage %s: %v", text, err)
		}
		return p
	})
}

// Step draws a step of amounts, none as often as any: 10 as it is for dinars, 1,
// which is none, and steps that divide nothing evenly.
func Step() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Just[int64](0), rapid.SampledFrom([]int64{1, 5, 7, 10, 100, 1000}))
}

// Discount draws a percentage, or an amount of the currency from a single minor
// unit to the greatest there is. It never draws the zero discount.
func Discount(c pricing.Currency) *rapid.Generator[pricing.Discount] {
	return DiscountFor(pricing.Cart{Currency: c})
}

// DiscountFor is [Discount] for a cart that may have a step: amounts are multiples
// of it.
func DiscountFor(cart pricing.Cart) *rapid.Generator[pricing.Discount] {
	c, step := cart.Currency, max(cart.Step, 1)
	most := math.MaxInt64 / step
	percentage := rapid.Map(Percent(), pricing.PercentOff)
	amount := rapid.Custom(func(t *rapid.T) pricing.Discount {
		minor := step * rapid.OneOf(
			rapid.Int64Range(1, 10),
			rapid.Int64Range(1, 1_000_000),
			rapid.Int64Range(1, most),
			rapid.Just(most),
		).Draw(t, "amount")
		d, err := pricing.AmountOff(pricing.NewMoney(minor, c))
		if err != nil {
			t.Fatalf("drew an impossible amount %d %s: %v", minor, c, err)
		}
		return d
	})
	return rapid.OneOf(percentage, amount)
}

// LineOptions bounds the lines that [Line] draws. The zero value bounds nothing.
type LineOptions struct {
	// Kinds are the kinds to draw from; none means all four.
	Kinds []pricing.LineKind
	// MaxSubtotal is the greatest price times quantity in minor units; 0 means
	// the greatest there is.
	MaxSubtotal int64
}

// Line draws a valid line: ordinary prices and quantities mostly, but also
// prices of 0 and of a single minor unit, quantities of 999, and subtotals next
// to the limit. Plans recur or do not. The ID is empty; [Cart] fills it.
func Line(o LineOptions) *rapid.Generator[pricing.Line] {
	most := o.MaxSubtotal
	if most <= 0 {
		most = math.MaxInt64
	}
	prices := rapid.OneOf(
		rapid.Int64Range(0, 20_000),
		rapid.SampledFrom([]int64{0, 1, 2, 99, 100, 999, 1_000_000}),
		rapid.Int64Range(0, math.MaxInt64),
	)
	quantities := rapid.OneOf(
		rapid.Just[int64](1),
		rapid.Int64Range(1, 10),
		rapid.SampledFrom([]int64{7, 999, 1_000_000_007}),
	)
	return rapid.Custom(func(t *rapid.T) pricing.Line {
		l := product(o.Kinds).Draw(t, "product")
		l.Quantity = quantities.Draw(t, "quantity")
		l.UnitPrice = min(prices.Draw(t, "unit price"), most/l.Quantity)
		return l
	})
}

// product draws what a line sells, without price and quantity.
func product(kinds []pricing.LineKind) *rapid.Generator[pricing.Line] {
	if len(kinds) == 0 {
		kinds = []pricing.LineKind{pricing.Plan, pricing.Device, pricing.Accessory, pricing.Shipping}
	}
	return rapid.Custom(func(t *rapid.T) pricing.Line {
		l := pricing.Line{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		l.ItemID = fmt.Sprintf("%s-%d", l.Kind, rapid.IntRange(1, ItemsPerKind).Draw(t, "item"))
		if l.Kind == pricing.Plan {
			l.Recurs = rapid.SampledFrom([]pricing.Interval{
				pricing.Once, pricing.Daily, pricing.Weekly, pricing.Monthly, pricing.Yearly,
			}).Draw(t, "recurs")
		}
		return l
	})
}

// CartOptions bounds the carts that [Cart] draws. The zero value draws carts of
// any currency, of 0 to 40 lines of every kind, up to the greatest total.
type CartOptions struct {
	// Currency of the cart; zero draws one with [Currency].
	Currency pricing.Currency
	// Step of the cart (see [Step]); prices are multiples of it. 0 is none.
	Step int64
	// Kinds are the kinds of line to draw from; none means all four.
	Kinds []pricing.LineKind
	// MinLines is the least number of lines, 0 unless set.
	MinLines int
	// MaxLines is the greatest number of lines; 0 means 40. MinLines prevails
	// when it is more.
	MaxLines int
	// MaxTotal is the greatest sum of all lines in minor units; 0 means the
	// greatest there is.
	MaxTotal int64
}

func (o CartOptions) maxLines() int {
	if o.MaxLines == 0 {
		return max(o.MinLines, 40)
	}
	return max(o.MinLines, o.MaxLines)
}

func (o CartOptions) maxTotal() int64 {
	if o.MaxTotal <= 0 {
		return math.MaxInt64
	}
	return o.MaxTotal
}

// Cart draws a valid cart. Beside carts of ordinary lines it draws those on
// which discounts go wrong: lines of price 0 first, last, alone or everywhere;
// one minor unit beside a million; quantities of 999; more lines than minor
// units of price; equal lines; totals next to the limit. With a step they are as
// awkward in steps. Lines have the IDs "L1", "L2" and so on.
func Cart(o CartOptions) *rapid.Generator[pricing.Cart] {
	return rapid.Custom(func(t *rapid.T) pricing.Cart {
		cart := pricing.Cart{Currency: o.Currency, Step: o.Step}
		if cart.Currency.IsZero() {
			cart.Currency = Currency().Draw(t, "currency")
		}
		lineCount := rapid.IntRange(o.MinLines, o.maxLines()).Draw(t, "line count")
		// Shapes draw prices in steps, so that a step leaves them as awkward as they are.
		step := max(o.Step, 1)
		left := o.maxTotal() / step
		inSteps := o
		inSteps.MaxTotal = left
		priced := rapid.SampledFrom(shapes).Draw(t, "shape")(inSteps, lineCount)
		for i := range lineCount {
			l := priced(t, i)
			l.ID = fmt.Sprintf("L%d", i+1)
			l.UnitPrice = min(l.UnitPrice, left/l.Quantity)
			left -= l.UnitPrice * l.Quantity
			l.UnitPrice *= step
			cart.Lines = append(cart.Lines, l)
		}
		return cart
	})
}

// A shape is a kind of cart: given the number of lines, it returns what draws
// the i-th.
type shape func(o CartOptions, lines int) func(t *rapid.T, i int) pricing.Line

var shapes = []shape{ordinary, anything, freeLines, centBesideFortune, equalLines, cents, fortune}

// ordinary is what people buy.
func ordinary(o CartOptions, _ int) func(*rapid.T, int) pricing.Line {
	return func(t *rapid.T, _ int) pricing.Line {
		return priced(t, o, rapid.Int64Range(1, 20_000).Draw(t, "unit price"), rapid.Int64Range(1, 4).Draw(t, "quantity"))
	}
}

// anything is whatever a line can be.
func anything(o CartOptions, _ int) func(*rapid.T, int) pricing.Line {
	line := Line(LineOptions{Kinds: o.Kinds})
	return func(t *rapid.T, _ int) pricing.Line { return line.Draw(t, "line") }
}

// freeLines has lines of price 0 first and last, and some in between.
func freeLines(o CartOptions, lines int) func(*rapid.T, int) pricing.Line {
	return func(t *rapid.T, i int) pricing.Line {
		price := rapid.SampledFrom([]int64{0, 0, 1, 999, 1000}).Draw(t, "unit price")
		if i == 0 || i == lines-1 {
			price = 0
		}
		return priced(t, o, price, rapid.Int64Range(1, 3).Draw(t, "quantity"))
	}
}

// centBesideFortune has lines of one minor unit beside lines of a million.
func centBesideFortune(o CartOptions, _ int) func(*rapid.T, int) pricing.Line {
	return func(t *rapid.T, _ int) pricing.Line {
		return priced(t, o, rapid.SampledFrom([]int64{1, 1_000_000}).Draw(t, "unit price"),
			rapid.SampledFrom([]int64{1, 1, 999}).Draw(t, "quantity"))
	}
}

// equalLines has ties only.
func equalLines(o CartOptions, _ int) func(*rapid.T, int) pricing.Line {
	var price, quantity int64
	return func(t *rapid.T, i int) pricing.Line {
		if i == 0 {
			price = rapid.Int64Range(0, 1000).Draw(t, "unit price")
			quantity = rapid.Int64Range(1, 7).Draw(t, "quantity")
		}
		return priced(t, o, price, quantity)
	}
}

// cents has so little in each line that most shares are below one minor unit.
func cents(o CartOptions, _ int) func(*rapid.T, int) pricing.Line {
	return func(t *rapid.T, _ int) pricing.Line {
		return priced(t, o, rapid.Int64Range(0, 3).Draw(t, "unit price"), 1)
	}
}

// fortune fills the cart to the limit.
func fortune(o CartOptions, lines int) func(*rapid.T, int) pricing.Line {
	return func(t *rapid.T, i int) pricing.Line {
		price := o.maxTotal() / int64(max(lines, 1))
		if i < lines-1 {
			price -= rapid.Int64Range(0, price).Draw(t, "below")
		} else {
			price = math.MaxInt64 // Cart lowers it to what is left
		}
		return priced(t, o, price, 1)
	}
}

func priced(t *rapid.T, o CartOptions, unitPrice, quantity int64) pricing.Line {
	l := product(o.Kinds).Draw(t, "product")
	l.UnitPrice, l.Quantity = unitPrice, quantity
	return l
}

// Eligible draws which lines of the cart a discount covers: all (nil or spelt
// out), none, or some. Shipping lines are among them at times; pricing never
// discounts them.
func Eligible(cart pricing.Cart) *rapid.Generator[[]bool] {
	return rapid.Custom(func(t *rapid.T) []bool {
		choice := rapid.SampledFrom([]string{"nil", "all", "none", "some", "some"}).Draw(t, "coverage")
		if choice == "nil" {
			return nil
		}
		eligible := make([]bool, len(cart.Lines))
		for i := range eligible {
			eligible[i] = choice == "all" || choice == "some" && rapid.Bool().Draw(t, "eligible")
		}
		return eligible
	})
}
