package pricing

import (
	"math/bits"
	"slices"
)

// share is one line's claim to a spare step: the remainder that flooring its exact
// share left, and the line's position.
type share struct {
	remainder uint64
	line      int
}

// before orders claims: the greater remainder first, then the earlier line.
func (s share) before(t share) bool {
	return s.remainder > t.remainder || s.remainder == t.remainder && s.line < t.line
}

func (s share) compare(t share) int {
	if s.before(t) {
		return -1
	}
	return 1 // no two claims are of one line
}

// allocate spreads discount (0 < discount < base) over the eligible lines by
// largest remainder and stores each line's part. base is the sum of their
// subtotals. Every amount is a multiple of step, which is 1 where there is none:
// parts and spares are counted in steps, and a line's share of the discount is the
// same whether its subtotal and base are. shares is scratch memory, returned for
// reuse.
func allocate(lines []QuotedLine, discount, base, step int64, shares []share) []share {
	shares = slices.Grow(shares[:0], len(lines))
	spare := discount
	if step > 1 { // a division is worth a branch
		spare /= step
	}
	d, b := uint64(spare), uint64(base) //nolint:gosec // both positive
	narrow := bits.Len64(d)+bits.Len64(b) <= 64
	for i := range lines {
		l := &lines[i]
		if !l.Eligible || l.Subtotal == 0 {
			continue
		}
		high, low := bits.Mul64(d, uint64(l.Subtotal)) //nolint:gosec // not negative
		var part, remainder uint64
		if narrow {
			part, remainder = low/b, low%b
		} else {
			// d < b, so that the high word is below b and Div64 cannot overflow.
			part, remainder = bits.Div64(high, low, b)
		}
		spare -= int64(part)            //nolint:gosec // part <= subtotal
		l.Discount = int64(part) * step //nolint:gosec // <= subtotal
		l.Total = l.Subtotal - l.Discount
		shares = append(shares, share{remainder: remainder, line: i})
	}
	if spare > 0 { // nothing is left of a single line, nor of round numbers
		selectFirst(shares, int(spare))
	}
	for _, s := range shares[:spare] {
		l := &lines[s.line]
		l.Discount += step
		l.Total -= step
	}
	return shares
}

// selectPasses is how often selectFirst may look at every claim before it turns
// to sorting. Ordinary carts need two to three.
const selectPasses = 8

// selectFirst moves the n first claims to the front, in any order. It selects
// and does not sort, so that the cost is linear in the number of claims; a cart
// made to defeat the choice of pivots costs one sort.
func selectFirst(shares []share, n int) {
	if !quickselect(shares, n, selectPasses*len(shares)) {
		slices.SortFunc(shares, share.compare)
	}
}

// quickselect is selectFirst with a budget of claims to look at. When that runs
// out it reports false, and the claims are in no order.
func quickselect(shares []share, n, budget int) bool {
	for low, high := 0, len(shares)-1; low < high; {
		if budget -= high - low; budget < 0 {
			return false
		}
		left, right := partition(shares, low, high)
		switch {
		case n <= left:
			high = left
		case n > right:
			low = right
		default:
			return true
		}
	}
	return true
}

// partition orders shares[low..high] around the middle claim: those up to left
// come before those from right on, and a claim between the two is in its place.
func partition(shares []share, low, high int) (left, right int) {
	pivot := shares[(low+high)/2]
	right, left = low, high
	for right <= left {
		for shares[right].before(pivot) {
			right++
		}
		for pivot.before(shares[left]) {
			left--
		}
		if right <= left {
			shares[right], shares[left] = shares[left], shares[right]
			right++
			left--
		}
	}
	return left, right
}

// mulDivRound returns a*b/c rounded half-up, where the result fits 63 bits.
func mulDivRound(a, b, c uint64) int64 {
	high, low := bits.Mul64(a, b)
	low, carry := bits.Add64(low, c/2, 0)
	quotient, _ := bits.Div64(high+carry, low, c)
	return int64(quotient) //nolint:gosec // b <= c, so that the quotient is at most a
}
