package pricingtest

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
)

// ItemsPerKind is the number of different items of each kind in generated lines. Items
// are named "plan-1" to "plan-5", "device-1" to "device-5", and so on.
const ItemsPerKind = 5

// Currency draws an ISO 4217 currency. Half of the draws are one of EUR, JPY, KWD and
// CLF, which have 2, 0, 3 and 4 decimals.
func Currency() *rapid.Generator[pricing.Currency] {
	var exponents []pricing.Currency
	for _, code := range []string{"EUR", "JPY", "KWD", "CLF"} {
		c, _ := pricing.ParseCurrency(code) // the codes are known, so there is no error
		exponents = append(exponents, c)
	}
	return rapid.OneOf(rapid.SampledFrom(exponents), rapid.SampledFrom(pricing.Currencies()))
}

// Category draws the name of a category, "category-1" to "category-3". [Line] draws the same
// categories.
func Category() *rapid.Generator[string] {
	return rapid.Map(rapid.IntRange(1, 3), func(n int) string { return fmt.Sprintf("category-%d", n) })
}

// Percent draws a percentage from 0.0001 to 100. Edge cases and percentages with
// remainders, such as 33.33, are frequent.
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

// Step draws a step in minor units: 1, 5, 7, 10, 100 or 1000. Half of the draws are 0,
// which means no step.
func Step() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Just[int64](0), rapid.SampledFrom([]int64{1, 5, 7, 10, 100, 1000}))
}

// SimpleDiscount draws a percentage or a fixed amount without further terms, so that
// pricing.Discount.Simple is true. The amount is between 1 and math.MaxInt64 minor units.
// The zero discount is never drawn.
func SimpleDiscount(c pricing.Currency) *rapid.Generator[pricing.Discount] {
	return SimpleDiscountFor(pricing.Cart{Currency: c})
}

// SimpleDiscountFor draws a discount that fits the cart. It behaves like [SimpleDiscount],
// except that amounts are multiples of the cart's step.
func SimpleDiscountFor(cart pricing.Cart) *rapid.Generator[pricing.Discount] {
	return rapid.Custom(func(t *rapid.T) pricing.Discount {
		if rapid.Bool().Draw(t, "percentage") {
			return pricing.PercentOff(Percent().Draw(t, "percent"))
		}
		minor := amountOf(t, cart.Step)
		d, err := pricing.AmountOff(pricing.NewMoney(minor, cart.Currency))
		if err != nil {
			t.Fatalf("drew an impossible amount %d %s: %v", minor, cart.Currency, err)
		}
		return d
	})
}

// amountOf draws a positive amount that is a multiple of the step.
func amountOf(t *rapid.T, step int64) int64 {
	step = max(step, 1)
	most := math.MaxInt64 / step
	return step * rapid.OneOf(
		rapid.Int64Range(1, 10),
		rapid.Int64Range(1, 1_000_000),
		rapid.Int64Range(1, most),
		rapid.Just(most),
	).Draw(t, "amount")
}

// LineOptions bounds the lines that [Line] draws. The zero value sets no bounds.
type LineOptions struct {
	// Kinds are the kinds to draw from; empty means all four.
	Kinds []pricing.LineKind
	// MaxSubtotal is the maximum of price times quantity in minor units; 0 means
	// math.MaxInt64.
	MaxSubtotal int64
}

// Line draws a valid line. Most lines have ordinary prices and quantities. Edge cases
// are a price of 0 or 1, a quantity of 999 and the maximum subtotal. The ID is empty;
// [Cart] sets it.
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

// product draws a line without price and quantity.
func product(kinds []pricing.LineKind) *rapid.Generator[pricing.Line] {
	if len(kinds) == 0 {
		kinds = []pricing.LineKind{pricing.Plan, pricing.Device, pricing.Accessory, pricing.Shipping}
	}
	return rapid.Custom(func(t *rapid.T) pricing.Line {
		l := pricing.Line{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		l.ItemID = fmt.Sprintf("%s-%d", l.Kind, rapid.IntRange(1, ItemsPerKind).Draw(t, "item"))
		if rapid.IntRange(0, 4).Draw(t, "categorized") == 0 {
			categories, err := pricing.NewCategories(rapid.SliceOfN(Category(), 1, 2).Draw(t, "categories")...)
			if err != nil {
				t.Fatalf("drew impossible categories: %v", err)
			}
			l.Categories = categories
		}
		if l.Kind == pricing.Plan {
			l.Recurs = rapid.SampledFrom([]pricing.Interval{
				pricing.Once, pricing.Daily, pricing.Weekly, pricing.Monthly, pricing.Yearly,
			}).Draw(t, "recurs")
		}
		return l
	})
}

// CartOptions bounds the carts that [Cart] draws. The zero value draws any currency and
// 0 to 40 lines of every kind.
type CartOptions struct {
	// Currency is the currency of the cart; the zero value draws one.
	Currency pricing.Currency
	// Step is the step of the cart in minor units; 0 means no step.
	Step int64
	// Kinds are the kinds of line to draw from; empty means all four.
	Kinds []pricing.LineKind
	// MinLines is the minimum number of lines.
	MinLines int
	// MaxLines is the maximum number of lines; 0 means 40. A greater MinLines replaces
	// it.
	MaxLines int
	// MaxTotal is the maximum sum of all lines in minor units; 0 means math.MaxInt64.
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

// Cart draws a valid cart. Lines have the IDs "L1", "L2" and so on. Beside ordinary
// carts it draws edge cases:
//
//   - lines of price 0, first, last or everywhere
//   - lines of 1 minor unit beside lines of a million
//   - quantities of 999
//   - gifts beside goods of few prices
//   - equal lines
//   - lines of a few minor units
//   - totals near the maximum
func Cart(o CartOptions) *rapid.Generator[pricing.Cart] {
	return rapid.Custom(func(t *rapid.T) pricing.Cart {
		cart := pricing.Cart{Currency: o.Currency, Step: o.Step}
		if cart.Currency.IsZero() {
			cart.Currency = Currency().Draw(t, "currency")
		}
		lineCount := rapid.IntRange(o.MinLines, o.maxLines()).Draw(t, "line count")
		// The shapes draw prices in steps. A cart with a step gets the same difficult numbers as one
		// without.
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

// A shape is a kind of cart. For a number of lines, it returns a function that draws line i.
type shape func(o CartOptions, lines int) func(t *rapid.T, i int) pricing.Line

var shapes = []shape{ordinary, anything, freeLines, gifts, centBesideFortune, equalLines, cents, fortune}

// ordinary draws lines that customers commonly buy.
func ordinary(o CartOptions, _ int) func(*rapid.T, int) pricing.Line {
	return func(t *rapid.T, _ int) pricing.Line {
		return priced(t, o, rapid.Int64Range(1, 20_000).Draw(t, "unit price"), rapid.Int64Range(1, 4).Draw(t, "quantity"))
	}
}

// anything draws any valid line.
func anything(o CartOptions, _ int) func(*rapid.T, int) pricing.Line {
	line := Line(LineOptions{Kinds: o.Kinds})
	return func(t *rapid.T, _ int) pricing.Line { return line.Draw(t, "line") }
}

// freeLines draws lines of price 0 first, last, and sometimes between.
func freeLines(o CartOptions, lines int) func(*rapid.T, int) pricing.Line {
	return func(t *rapid.T, i int) pricing.Line {
		price := rapid.SampledFrom([]int64{0, 0, 1, 999, 1000}).Draw(t, "unit price")
		if i == 0 || i == lines-1 {
			price = 0
		}
		return priced(t, o, price, rapid.Int64Range(1, 3).Draw(t, "quantity"))
	}
}

// gifts draws few different prices, so that many units cost the same. A third of the lines is free.
func gifts(o CartOptions, _ int) func(*rapid.T, int) pricing.Line {
	return func(t *rapid.T, _ int) pricing.Line {
		price := rapid.SampledFrom([]int64{0, 0, 999, 999, 1250, 9900}).Draw(t, "unit price")
		return priced(t, o, price, rapid.Int64Range(1, 4).Draw(t, "quantity"))
	}
}

// centBesideFortune draws lines of one minor unit beside lines of a million.
func centBesideFortune(o CartOptions, _ int) func(*rapid.T, int) pricing.Line {
	return func(t *rapid.T, _ int) pricing.Line {
		return priced(t, o, rapid.SampledFrom([]int64{1, 1_000_000}).Draw(t, "unit price"),
			rapid.SampledFrom([]int64{1, 1, 999}).Draw(t, "quantity"))
	}
}

// equalLines draws the same line again and again, so that all remainders tie.
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

// cents draws lines so cheap that most shares are below one minor unit.
func cents(o CartOptions, _ int) func(*rapid.T, int) pricing.Line {
	return func(t *rapid.T, _ int) pricing.Line {
		return priced(t, o, rapid.Int64Range(0, 3).Draw(t, "unit price"), 1)
	}
}

// fortune draws prices that bring the cart to its maximum total.
func fortune(o CartOptions, lines int) func(*rapid.T, int) pricing.Line {
	return func(t *rapid.T, i int) pricing.Line {
		price := o.maxTotal() / int64(max(lines, 1))
		if i < lines-1 {
			price -= rapid.Int64Range(0, price).Draw(t, "below")
		} else {
			price = math.MaxInt64 // Cart lowers the price to the rest of the maximum
		}
		return priced(t, o, price, 1)
	}
}

func priced(t *rapid.T, o CartOptions, unitPrice, quantity int64) pricing.Line {
	l := product(o.Kinds).Draw(t, "product")
	l.UnitPrice, l.Quantity = unitPrice, quantity
	return l
}

// Eligible draws the eligible argument of [pricing.Price] for the cart: nil, all, none
// or some of the lines. Shipping lines may be marked, too.
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
