package quote

import "github.com/Rhymond/go-money"

// goMoney measures Rhymond/go-money with its method Allocate. Allocate spreads an amount by ratios. It
// gives the remaining cents to the first lines, not to those with the largest remainders. go-money has
// no percentages. Like its users, goMoney computes them from the amount in cents.
type goMoney struct {
	prices     []*money.Money
	quantities []int64
	basket     Basket
	discounts  []*money.Money
	total      *money.Money
}

func newGoMoney(b Basket) (Pricing, error) {
	g := &goMoney{basket: b}
	for _, l := range b.Lines {
		g.prices = append(g.prices, money.New(l.Price, money.EUR))
		g.quantities = append(g.quantities, l.Quantity)
	}
	return g, nil
}

func (g *goMoney) Answer() Answer {
	a := Answer{Total: g.total.Amount()}
	for _, d := range g.discounts {
		a.Discounts = append(a.Discounts, d.Amount())
	}
	return a
}

func (g *goMoney) Price() (err error) {
	ratios := make([]int, len(g.prices))
	base := money.New(0, money.EUR)
	for i, price := range g.prices {
		subtotal := price.Multiply(g.quantities[i])
		ratios[i] = int(subtotal.Amount())
		if base, err = base.Add(subtotal); err != nil {
			return err
		}
	}
	discount := g.discount(base)
	if g.discounts, err = discount.Allocate(ratios...); err != nil {
		return err
	}
	g.total, err = base.Subtract(discount)
	return err
}

func (g *goMoney) discount(base *money.Money) *money.Money {
	if g.basket.Percent > 0 {
		return money.New((base.Amount()*g.basket.Percent+percentScale/2)/percentScale, money.EUR)
	}
	return money.New(min(g.basket.Amount, base.Amount()), money.EUR)
}
