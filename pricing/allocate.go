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

// ratio is the exact share of a discount that a weight gets: discount / base.
type ratio struct {
	discount, base uint64
	narrow         bool // products fit 64 bits
}

func newRatio(discount, base int64) ratio {
	d, b := uint64(discount), uint64(base) //nolint:gosec // both positive
	return ratio{d, b, bits.Len64(d)+bits.Len64(b) <= 64}
}

// of returns the whole steps of a weight's share, and the remainder.
func (r ratio) of(weight int64) (part, remainder uint64) {
	high, low := bits.Mul64(r.discount, uint64(weight)) //nolint:gosec // not negative
	if r.narrow {
		return low / r.base, low % r.base
	}
	// discount < base, so that the high word is below base and Div64 cannot overflow.
	return bits.Div64(high, low, r.base)
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
	r := newRatio(spare, base)
	for i := range lines {
		l := &lines[i]
		if !l.Eligible || l.Subtotal == 0 {
			continue
		}
		part, remainder := r.of(l.Subtotal)
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

// largestRemainder spreads discount (0 < discount < base) over claims with weights above 0,
// whose sum is base. It counts in steps, as the claims do.
func largestRemainder(claims []claim, discount, base int64, shares []share) []share {
	shares = slices.Grow(shares[:0], len(claims))
	r, spare := newRatio(discount, base), discount
	for i := range claims {
		part, remainder := r.of(claims[i].weight)
		claims[i].part = int64(part) //nolint:gosec // at most the weight
		spare -= claims[i].part
		shares = append(shares, share{remainder: remainder, line: i})
	}
	if spare > 0 {
		selectFirst(shares, int(spare))
	}
	for _, s := range shares[:spare] {
		claims[s.line].part++
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
