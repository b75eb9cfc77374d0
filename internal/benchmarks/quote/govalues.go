package quote

import (
	"slices"

	"github.com/govalues/decimal"
)

// goValues is govalues/decimal: 19 digits without allocations, and an error beside
// every result. Quotients are rounded to those digits, so that remainders are
// computed back from the products, which are exact.
type goValues struct {
	lines           []goValuesLine
	percent, amount decimal.Decimal
	hundred, cent   decimal.Decimal
	discounts       []decimal.Decimal
	total           decimal.Decimal
}

type goValuesLine struct{ price, quantity decimal.Decimal }

type goValuesClaim struct {
	remainder decimal.Decimal
	line      int
}

func newGoValues(b Basket) (_ Pricing, err error) {
	g := &goValues{hundred: decimal.Hundred, cent: decimal.MustNew(1, 2)}
	if g.percent, err = decimal.New(b.Percent, 4); err != nil {
		return nil, err
	}
	if g.amount, err = decimal.New(b.Amount, 2); err != nil {
		return nil, err
	}
	for _, l := range b.Lines {
		var line goValuesLine
		if line.price, err = decimal.New(l.Price, 2); err != nil {
			return nil, err
		}
		if line.quantity, err = decimal.New(l.Quantity, 0); err != nil {
			return nil, err
		}
		g.lines = append(g.lines, line)
	}
	return g, nil
}

func (g *goValues) Answer() Answer {
	a := Answer{Total: cents(g.total)}
	for _, d := range g.discounts {
		a.Discounts = append(a.Discounts, cents(d))
	}
	return a
}

func cents(d decimal.Decimal) int64 {
	whole, fraction, _ := d.Int64(2)
	return whole*100 + fraction
}

func (g *goValues) Price() (err error) {
	subtotals := make([]decimal.Decimal, len(g.lines))
	base := decimal.Zero
	for i, l := range g.lines {
		if subtotals[i], err = l.price.Mul(l.quantity); err != nil {
			return err
		}
		if base, err = base.Add(subtotals[i]); err != nil {
			return err
		}
	}
	discount, err := g.discount(base)
	if err != nil {
		return err
	}
	if err := g.spread(subtotals, base, discount); err != nil {
		return err
	}
	g.total, err = base.Sub(discount)
	return err
}

func (g *goValues) discount(base decimal.Decimal) (decimal.Decimal, error) {
	if !g.percent.IsPos() {
		return g.amount.Min(base), nil
	}
	product, err := base.Mul(g.percent)
	if err != nil {
		return decimal.Decimal{}, err
	}
	exact, err := product.Quo(g.hundred)
	if err != nil {
		return decimal.Decimal{}, err
	}
	// Round is half to even; a spare half cent is added so that it is half-up.
	return halfUp(exact)
}

func halfUp(exact decimal.Decimal) (decimal.Decimal, error) {
	raised, err := exact.Add(decimal.MustNew(5, 3))
	return raised.Trunc(2), err
}

func (g *goValues) spread(subtotals []decimal.Decimal, base, discount decimal.Decimal) error {
	g.discounts = make([]decimal.Decimal, len(subtotals))
	claims := make([]goValuesClaim, len(subtotals))
	spare := discount
	for i, subtotal := range subtotals {
		part, remainder, err := share(discount, subtotal, base)
		if err != nil {
			return err
		}
		g.discounts[i], claims[i] = part, goValuesClaim{remainder: remainder, line: i}
		if spare, err = spare.Sub(part); err != nil {
			return err
		}
	}
	slices.SortStableFunc(claims, func(a, b goValuesClaim) int { return b.remainder.Cmp(a.remainder) })
	for _, c := range claims {
		if !spare.IsPos() {
			return nil
		}
		var err error
		if g.discounts[c.line], err = g.discounts[c.line].Add(g.cent); err != nil {
			return err
		}
		if spare, err = spare.Sub(g.cent); err != nil {
			return err
		}
	}
	return nil
}

// share returns the line's part in whole cents, and what is left of its share,
// times base.
func share(discount, subtotal, base decimal.Decimal) (part, remainder decimal.Decimal, err error) {
	product, err := discount.Mul(subtotal)
	if err != nil {
		return part, remainder, err
	}
	exact, err := product.Quo(base)
	if err != nil {
		return part, remainder, err
	}
	part = exact.Trunc(2)
	remainder, err = product.SubMul(part, base)
	return part, remainder, err
}
