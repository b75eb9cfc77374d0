package quote

import (
	"slices"

	"github.com/shopspring/decimal"
)

// shopspringPlaces is the default number of decimals of Div.
const shopspringPlaces = 16

// shopspring measures shopspring/decimal in the usual way. Prices are decimals, shares are multiplied
// and divided, and a sort distributes the remaining cents.
type shopspring struct {
	lines               []shopspringLine
	percent, amount     decimal.Decimal
	hundred, cent, zero decimal.Decimal
	discounts           []decimal.Decimal
	total               decimal.Decimal
}

type shopspringLine struct {
	price    decimal.Decimal
	quantity int64
}

type shopspringClaim struct {
	remainder decimal.Decimal
	line      int
}

func newShopspring(b Basket) (Pricing, error) {
	s := &shopspring{
		percent: decimal.New(b.Percent, -4), amount: decimal.New(b.Amount, -2),
		hundred: decimal.NewFromInt(100), cent: decimal.New(1, -2),
	}
	for _, l := range b.Lines {
		s.lines = append(s.lines, shopspringLine{price: decimal.New(l.Price, -2), quantity: l.Quantity})
	}
	return s, nil
}

func (s *shopspring) Answer() Answer {
	a := Answer{Total: s.total.Shift(2).IntPart()}
	for _, d := range s.discounts {
		a.Discounts = append(a.Discounts, d.Shift(2).IntPart())
	}
	return a
}

func (s *shopspring) Price() error {
	subtotals := make([]decimal.Decimal, len(s.lines))
	base := s.zero
	for i, l := range s.lines {
		subtotals[i] = l.price.Mul(decimal.NewFromInt(l.quantity))
		base = base.Add(subtotals[i])
	}
	discount := decimal.Min(s.amount, base)
	if s.percent.IsPositive() {
		discount = base.Mul(s.percent).DivRound(s.hundred, shopspringPlaces).Round(2)
	}
	s.spread(subtotals, base, discount)
	s.total = base.Sub(discount)
	return nil
}

func (s *shopspring) spread(subtotals []decimal.Decimal, base, discount decimal.Decimal) {
	s.discounts = make([]decimal.Decimal, len(subtotals))
	claims := make([]shopspringClaim, len(subtotals))
	spare := discount
	for i, subtotal := range subtotals {
		share := discount.Mul(subtotal).DivRound(base, shopspringPlaces)
		s.discounts[i] = share.Truncate(2)
		claims[i] = shopspringClaim{remainder: share.Sub(s.discounts[i]), line: i}
		spare = spare.Sub(s.discounts[i])
	}
	slices.SortStableFunc(claims, func(a, b shopspringClaim) int { return b.remainder.Cmp(a.remainder) })
	for _, c := range claims {
		if !spare.IsPositive() {
			return
		}
		s.discounts[c.line] = s.discounts[c.line].Add(s.cent)
		spare = spare.Sub(s.cent)
	}
}
