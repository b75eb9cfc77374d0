package quote

import "slices"

// floor is the fastest correct way to compute the amounts. It uses int64, the largest remainder by
// selection, reused memory, and no checks. Products that overflow 64 bits give wrong results without an
// error. The difference to floor is the cost of our checks and copies.
type floor struct {
	basket               Basket
	subtotals, discounts []int64
	claims               []claim
	total                int64
}

// claim has the remainder of a line. The lines with the greatest remainders get an extra cent.
type claim struct {
	remainder int64
	line      int
}

func newFloor(b Basket) (Pricing, error) {
	n := len(b.Lines)
	return &floor{basket: b, subtotals: make([]int64, n), discounts: make([]int64, n), claims: make([]claim, n)}, nil
}

func (f *floor) Answer() Answer {
	return Answer{Discounts: slices.Clone(f.discounts), Total: f.total}
}

func (f *floor) Price() error {
	base := int64(0)
	for i, l := range f.basket.Lines {
		f.subtotals[i] = l.Price * l.Quantity
		base += f.subtotals[i]
	}
	discount := min(f.basket.Amount, base)
	if f.basket.Percent > 0 {
		discount = (base*f.basket.Percent + percentScale/2) / percentScale
	}
	f.spread(base, discount)
	f.total = base - discount
	return nil
}

func (f *floor) spread(base, discount int64) {
	spare := discount
	for i, subtotal := range f.subtotals {
		product := subtotal * discount
		f.discounts[i] = product / base
		f.claims[i] = claim{remainder: product % base, line: i}
		spare -= f.discounts[i]
	}
	selectFirst(f.claims, int(spare))
	for _, c := range f.claims[:spare] {
		f.discounts[c.line]++
	}
}

// selectFirst moves the n greatest claims to the front.
func selectFirst(claims []claim, n int) {
	low, high := 0, len(claims)-1
	for low < high {
		pivot, i, j := claims[(low+high)/2], low, high
		for i <= j {
			for claims[i].before(pivot) {
				i++
			}
			for pivot.before(claims[j]) {
				j--
			}
			if i <= j {
				claims[i], claims[j] = claims[j], claims[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			high = j
		case n >= i:
			low = i
		default:
			return
		}
	}
}

func (c claim) before(d claim) bool {
	return c.remainder > d.remainder || c.remainder == d.remainder && c.line < d.line
}
