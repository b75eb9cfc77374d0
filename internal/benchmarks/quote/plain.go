package quote

import (
	"cmp"
	"slices"
)

// plain is the simplest int64 code. It allocates slices where it needs them, and sorts the lines to
// distribute the remaining cents.
type plain struct {
	basket    Basket
	discounts []int64
	total     int64
}

func newPlain(b Basket) (Pricing, error) { return &plain{basket: b}, nil }

func (p *plain) Answer() Answer { return Answer{Discounts: p.discounts, Total: p.total} }

func (p *plain) Price() error {
	subtotals := make([]int64, len(p.basket.Lines))
	base := int64(0)
	for i, l := range p.basket.Lines {
		subtotals[i] = l.Price * l.Quantity
		base += subtotals[i]
	}
	discount := min(p.basket.Amount, base)
	if p.basket.Percent > 0 {
		discount = (base*p.basket.Percent + percentScale/2) / percentScale
	}
	p.discounts = spreadSorted(subtotals, base, discount)
	p.total = base - discount
	return nil
}

func spreadSorted(subtotals []int64, base, discount int64) []int64 {
	discounts := make([]int64, len(subtotals))
	claims := make([]claim, len(subtotals))
	spare := discount
	for i, subtotal := range subtotals {
		discounts[i] = subtotal * discount / base
		claims[i] = claim{remainder: subtotal * discount % base, line: i}
		spare -= discounts[i]
	}
	slices.SortStableFunc(claims, func(a, b claim) int { return cmp.Compare(b.remainder, a.remainder) })
	for _, c := range claims[:spare] {
		discounts[c.line]++
	}
	return discounts
}
