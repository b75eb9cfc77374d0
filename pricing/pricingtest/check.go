package pricingtest

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/couponkit/couponkit/pricing"
)

// TB is the part of [testing.TB] that the checks use. [*testing.T] and the T of rapid
// implement it.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// CheckQuote reports an error to tb for every rule of package pricing that the quote
// breaks. cart is the argument of [pricing.Price], and discount and eligible are those of its
// only [pricing.Terms]. What is bought for a discount of type BUY_X_GET_Y is bought from the eligible
// lines. Each error begins with the name of the rule:
//
//   - cart: the quote has the currency and the lines of the cart, in the same order
//   - eligible: the covered lines are the eligible lines except shipping
//   - subtotal: a line subtotal is price times quantity; they sum to the quote's
//     subtotal
//   - rounding: the percentage of a discount is rounded half up to a whole step
//   - cap: an amount is at most what the counted units give, and at most the maximum
//   - sum: the line discounts sum to the discount
//   - share: a line discount is less than one step from its exact share
//   - bounds: a line discount is between 0 and the line's subtotal
//   - bounds: a line discount is 0 on a line that is free or not eligible
//   - tie: spare steps go to the greatest remainders, then to earlier lines
//   - total: a total is subtotal minus discount, plus shipping for the quote
//   - step: the step is the cart's step, and every amount is a multiple of it
//   - units: the rules of [CheckUnits]
//
// The rules share and tie hold for simple discounts only, as do the two prices of the rule units;
// see pricing.Discount.Simple. They are not checked for other discounts. Without a step the rules
// count in minor units.
func CheckQuote(tb TB, cart pricing.Cart, discount pricing.Discount, eligible []bool, quote pricing.Quote) {
	tb.Helper()
	if !checkCart(tb, cart, eligible, quote) {
		return
	}
	checkSteps(tb, cart, quote)
	checkSubtotals(tb, quote)
	checkDiscount(tb, discount, quote)
	checkSpread(tb, quote)
	checkTotals(tb, quote)
	if discount.IsZero() || discount.Simple() {
		checkShares(tb, quote)
		checkTies(tb, quote)
	}
	for i := range quote.Lines {
		if discount.IsZero() || discount.Simple() {
			CheckUnits(tb, quote, i, quote.Units(i))
		} else {
			checkGroups(tb, quote, i, quote.Units(i))
		}
	}
}

// checkCart reports whether the lines of the quote can be compared with the lines of the cart.
func checkCart(tb TB, cart pricing.Cart, eligible []bool, quote pricing.Quote) bool {
	tb.Helper()
	switch {
	case quote.Currency != cart.Currency:
		tb.Errorf("cart: the quote is in %q, the cart in %q", quote.Currency, cart.Currency)
		return false
	case len(quote.Lines) != len(cart.Lines):
		tb.Errorf("cart: the quote has %d lines, the cart %d", len(quote.Lines), len(cart.Lines))
		return false
	case eligible != nil && len(eligible) != len(cart.Lines):
		tb.Errorf("eligible: %d entries for %d lines", len(eligible), len(cart.Lines))
		return false
	}
	for i, l := range quote.Lines {
		if l.Line != cart.Lines[i] {
			tb.Errorf("cart: line %d is %+v, in the cart %+v", i, l.Line, cart.Lines[i])
		}
		if want := l.ClassOf() != pricing.ShippingClass && (eligible == nil || eligible[i]); l.Eligible != want {
			tb.Errorf("eligible: line %d (%s) has %t, want %t", i, l.Kind, l.Eligible, want)
		}
	}
	return true
}

// stepOf returns the step of the quote's amounts, or 1 without a step.
func stepOf(quote pricing.Quote) int64 { return max(quote.Step, 1) }

func checkSteps(tb TB, cart pricing.Cart, quote pricing.Quote) {
	tb.Helper()
	step := stepOf(quote)
	if step != max(cart.Step, 1) {
		tb.Errorf("step: the quote has %d, the cart %d", quote.Step, cart.Step)
	}
	whole := func(what string, amount int64) {
		if amount%step != 0 {
			tb.Errorf("step: %s is %d, which is no multiple of %d", what, amount, step)
		}
	}
	whole("the discount", quote.Discount)
	whole("the total", quote.Total)
	for i, l := range quote.Lines {
		whole(fmt.Sprintf("the price of line %d", i), l.UnitPrice)
		whole(fmt.Sprintf("the discount of line %d", i), l.Discount)
	}
}

func checkSubtotals(tb TB, quote pricing.Quote) {
	tb.Helper()
	subtotal, eligible, shipping := new(big.Int), new(big.Int), new(big.Int)
	for i, l := range quote.Lines {
		exact := new(big.Int).Mul(big.NewInt(l.UnitPrice), big.NewInt(l.Quantity))
		equal(tb, "subtotal: of a line", l.Subtotal, exact)
		if l.ClassOf() == pricing.ShippingClass {
			shipping.Add(shipping, exact)
		} else {
			subtotal.Add(subtotal, exact)
		}
		if quote.Lines[i].Eligible {
			eligible.Add(eligible, exact)
		}
	}
	equal(tb, "subtotal", quote.Subtotal, subtotal)
	equal(tb, "subtotal: eligible", quote.EligibleSubtotal, eligible)
	equal(tb, "subtotal: shipping", quote.Shipping, shipping)
}

// halfUp rounds a number of at least 0 to the nearest whole number, halves up.
func halfUp(exact *big.Rat) *big.Int { return floor(new(big.Rat).Add(exact, big.NewRat(1, 2))) }

func floor(exact *big.Rat) *big.Int { return new(big.Int).Div(exact.Num(), exact.Denom()) }

// exactShare returns a line's share of the discount before rounding to steps.
func exactShare(quote pricing.Quote, l pricing.QuotedLine) *big.Rat {
	if !l.Eligible || l.Subtotal == 0 || quote.EligibleSubtotal == 0 {
		return new(big.Rat)
	}
	share := new(big.Rat).SetFrac(big.NewInt(l.Subtotal), big.NewInt(quote.EligibleSubtotal))
	return share.Mul(share, new(big.Rat).SetInt64(quote.Discount))
}

func checkSpread(tb TB, quote pricing.Quote) {
	tb.Helper()
	sum := new(big.Int)
	for i, l := range quote.Lines {
		sum.Add(sum, big.NewInt(l.Discount))
		switch {
		case l.Discount < 0 || l.Discount > l.Subtotal:
			tb.Errorf("bounds: line %d has a discount of %d on %d", i, l.Discount, l.Subtotal)
		case l.Discount != 0 && !l.Eligible:
			tb.Errorf("bounds: line %d is not eligible and has a discount of %d", i, l.Discount)
		}
	}
	equal(tb, "sum: of the line discounts", quote.Discount, sum)
}

func checkShares(tb TB, quote pricing.Quote) {
	tb.Helper()
	for i, l := range quote.Lines {
		share := exactShare(quote, l)
		off := new(big.Rat).Sub(new(big.Rat).SetInt64(l.Discount), share)
		if off.Abs(off).Cmp(big.NewRat(stepOf(quote), 1)) >= 0 {
			tb.Errorf("share: line %d has a discount of %d, exactly it would be %s", i, l.Discount, share.FloatString(4))
		}
	}
}

// checkTies distributes the steps left after flooring by the rule, and compares.
func checkTies(tb TB, quote pricing.Quote) {
	tb.Helper()
	type claim struct {
		line      int
		remainder *big.Rat
		floor     int64 // in steps, like spare
	}
	var claims []claim
	step := stepOf(quote)
	spare := quote.Discount / step
	for i, l := range quote.Lines {
		share := exactShare(quote, l)
		whole := floor(share.Quo(share, big.NewRat(step, 1)))
		spare -= whole.Int64()
		claims = append(claims, claim{i, share.Sub(share, new(big.Rat).SetInt(whole)), whole.Int64()})
	}
	slices.SortStableFunc(claims, func(a, b claim) int { return b.remainder.Cmp(a.remainder) })
	for place, c := range claims {
		want := c.floor
		if int64(place) < spare {
			want++
		}
		if got := quote.Lines[c.line].Discount; got != want*step {
			tb.Errorf("tie: line %d has a discount of %d, want %d: its remainder, %s, has rank %d of the spare units, which are %d",
				c.line, got, want*step, c.remainder.RatString(), place+1, spare)
		}
	}
}

func checkTotals(tb TB, quote pricing.Quote) {
	tb.Helper()
	total := new(big.Int)
	for _, l := range quote.Lines {
		equal(tb, "total: of a line", l.Total, new(big.Int).Sub(big.NewInt(l.Subtotal), big.NewInt(l.Discount)))
		total.Add(total, big.NewInt(l.Total))
	}
	equal(tb, "total: sum of the lines", quote.Total, total)
	sums := new(big.Int).Sub(big.NewInt(quote.Subtotal), big.NewInt(quote.Discount))
	equal(tb, "total", quote.Total, sums.Add(sums, big.NewInt(quote.Shipping)))
}

// CheckUnits reports an error to tb if groups are no correct split of a line of the quote:
//
//   - the quantities sum to the line's quantity, and the prices to its total
//   - there are at most two prices, one step apart, and the higher price comes first
//   - no group is empty, negative or off the step
//
// Use it on the lines that you send to a payment processor.
func CheckUnits(tb TB, quote pricing.Quote, line int, groups []pricing.UnitGroup) {
	tb.Helper()
	checkGroups(tb, quote, line, groups)
	step := stepOf(quote)
	for i, g := range groups {
		if i > 0 && g.UnitPrice != groups[i-1].UnitPrice-step {
			tb.Errorf("units: group %d costs %d after %d, want %d less", i, g.UnitPrice, groups[i-1].UnitPrice, step)
		}
	}
	if len(groups) > 2 {
		tb.Errorf("units: %d prices, want at most two", len(groups))
	}
}

// checkGroups checks rules for the units of every line that hold for all discount types.
func checkGroups(tb TB, quote pricing.Quote, line int, groups []pricing.UnitGroup) {
	tb.Helper()
	quantity, total := new(big.Int), new(big.Int)
	step := stepOf(quote)
	for i, g := range groups {
		if g.Quantity < 1 || g.UnitPrice < 0 {
			tb.Errorf("units: group %d is %d units at %d", i, g.Quantity, g.UnitPrice)
		}
		if g.UnitPrice%step != 0 {
			tb.Errorf("units: group %d costs %d, which is no multiple of %d", i, g.UnitPrice, step)
		}
		quantity.Add(quantity, big.NewInt(g.Quantity))
		total.Add(total, new(big.Int).Mul(big.NewInt(g.Quantity), big.NewInt(g.UnitPrice)))
	}
	equal(tb, "units: quantity", quote.Lines[line].Quantity, quantity)
	equal(tb, "units: total", quote.Lines[line].Total, total)
}

func equal(tb TB, rule string, got int64, want *big.Int) {
	tb.Helper()
	if big.NewInt(got).Cmp(want) != 0 {
		tb.Errorf("%s: got %d, want %s", rule, got, want)
	}
}
