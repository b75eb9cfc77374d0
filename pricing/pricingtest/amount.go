package pricingtest

import (
	"math/big"
	"slices"

	"github.com/couponkit/couponkit/pricing"
)

// checkDiscount compares the discount with the definition of its type in contract section 2.
func checkDiscount(tb TB, discount pricing.Discount, quote pricing.Quote) {
	tb.Helper()
	if discount.IsZero() {
		equal(tb, "cap: no discount", quote.Discount, new(big.Int))
		return
	}
	e := exact{terms: discount.Terms(), quote: quote}
	want, rounded := e.discount()
	switch got := big.NewInt(quote.Discount); {
	case got.Cmp(want) == 0:
	case rounded:
		tb.Errorf("rounding: the discount is %d, want %s: %s of %d, rounded half-up", quote.Discount, want, discount, quote.EligibleSubtotal)
	default:
		tb.Errorf("cap: the discount %s takes off %d, want %s", discount, quote.Discount, want)
	}
}

// exact computes one discount with numbers of any size.
type exact struct {
	terms pricing.DiscountTerms
	quote pricing.Quote
}

// amounts returns the amount and the maximum in the currency of the quote.
func (e exact) amounts() (amount, most int64) {
	for _, o := range e.terms.Others {
		if o.Currency == e.quote.Currency {
			return o.Amount, o.MaxDiscount
		}
	}
	return e.terms.Amount, e.terms.MaxDiscount
}

// discount returns the discount, and whether it is a rounded percentage.
func (e exact) discount() (off *big.Int, rounded bool) {
	amount, most := e.amounts()
	sum := e.sum(e.counted(amount), amount)
	switch kind := e.terms.Type; {
	case kind.HasPercent():
		off, rounded = e.percentOf(sum, e.terms.Percent), true
	case kind == pricing.FixedAmount:
		off = smaller(sum, big.NewInt(amount))
	case kind == pricing.Tiered:
		off, rounded = e.tier(sum)
	default:
		off = sum
	}
	if limit := big.NewInt(most - most%stepOf(e.quote)); most > 0 && off.Cmp(limit) > 0 {
		return limit, false
	}
	return off, rounded
}

// percentOf returns a percentage of a sum, rounded half up once to a whole step.
func (e exact) percentOf(sum *big.Int, p pricing.Percent) *big.Int {
	share := new(big.Rat).Mul(new(big.Rat).SetInt(sum), p.Decimal().Rat())
	steps := halfUp(share.Quo(share, big.NewRat(100, 1)).Quo(share, big.NewRat(stepOf(e.quote), 1)))
	return steps.Mul(steps, big.NewInt(stepOf(e.quote)))
}

// gives returns the uncapped discount of a unit of an eligible line.
func (e exact) gives(l pricing.QuotedLine, amount int64) int64 {
	switch e.terms.Type { //nolint:exhaustive // a unit gives its price otherwise
	case pricing.FixedAmountPerUnit:
		return min(l.UnitPrice, amount)
	case pricing.FixedUnitPrice:
		return max(l.UnitPrice-amount, 0)
	}
	return l.UnitPrice
}

// giving returns the eligible lines with a discount, the cheapest first.
func (e exact) giving(amount int64) (lines []pricing.QuotedLine) {
	for _, l := range e.quote.Lines {
		if l.Eligible && e.gives(l, amount) > 0 {
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b pricing.QuotedLine) int { return big.NewInt(a.UnitPrice).Cmp(big.NewInt(b.UnitPrice)) })
	return lines
}

// counted returns how many of the cheapest units are discounted.
func (e exact) counted(amount int64) *big.Int {
	units := new(big.Int)
	for _, l := range e.giving(amount) {
		units.Add(units, big.NewInt(l.Quantity))
	}
	t := e.terms
	switch {
	case t.Type == pricing.CheapestUnits:
		return smaller(units, big.NewInt(t.Units))
	case t.Type == pricing.BuyXGetY:
		times := new(big.Int).Div(units, big.NewInt(t.BuyQuantity+t.GetQuantity))
		if t.MaxApplications > 0 {
			times = smaller(times, big.NewInt(t.MaxApplications))
		}
		return times.Mul(times, big.NewInt(t.GetQuantity))
	case t.MaxUnits > 0:
		return smaller(units, big.NewInt(t.MaxUnits))
	}
	return units
}

// sum returns the discount of the cheapest units together.
func (e exact) sum(units *big.Int, amount int64) *big.Int {
	sum, left := new(big.Int), new(big.Int).Set(units)
	for _, l := range e.giving(amount) {
		of := smaller(left, big.NewInt(l.Quantity))
		left.Sub(left, of)
		sum.Add(sum, of.Mul(of, big.NewInt(e.gives(l, amount))))
	}
	return sum
}

// tier returns the discount of the highest reached tier.
func (e exact) tier(sum *big.Int) (off *big.Int, rounded bool) {
	basis := e.counted(0)
	if e.terms.TierBasis == pricing.ByAmount {
		basis = sum
	}
	off = new(big.Int)
	for _, tier := range e.terms.Tiers {
		switch {
		case big.NewInt(tier.From).Cmp(basis) > 0:
			return off, rounded
		case tier.Percent.IsZero():
			off, rounded = smaller(sum, big.NewInt(tier.Amount)), false
		default:
			off, rounded = e.percentOf(sum, tier.Percent), true
		}
	}
	return off, rounded
}

func smaller(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return new(big.Int).Set(a)
	}
	return new(big.Int).Set(b)
}
