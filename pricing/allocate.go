package pricing

import (
	"math/bits"
	"slices"
)

// share is a line's rank in the rounding: the remainder of its exact share after flooring, and the
// line's position.
type share struct {
	remainder uint64
	line      int
}

// before orders shares: the greater remainder first, then the earlier line.
func (s share) before(t share) bool {
	return s.remainder > t.remainder || s.remainder == t.remainder && s.line < t.line
}

func (s share) compare(t share) int {
	if s.before(t) {
		return -1
	}
	return 1 // no two shares belong to one line
}

// ratio is the fraction discount / base.
type ratio struct {
	discount, base uint64
	half           uint64 // the least remainder that is rounded up
	narrow         bool   // products fit 64 bits
}

func newRatio(discount, base int64) ratio {
	d, b := uint64(discount), uint64(base) //nolint:gosec // both positive
	return ratio{d, b, b - b/2, bits.Len64(d)+bits.Len64(b) <= 64}
}

// of returns the exact share of a weight as whole steps and a remainder.
func (r ratio) of(weight int64) (part, remainder uint64) {
	high, low := bits.Mul64(r.discount, uint64(weight)) //nolint:gosec // not negative
	if r.narrow {
		return low / r.base, low % r.base
	}
	// discount < base, so that the high word is below base and Div64 cannot overflow.
	return bits.Div64(high, low, r.base)
}

// allocate spreads discount (0 < discount < base) over the eligible lines by largest remainder and
// stores each line's part. base is the sum of their subtotals. Every amount is a multiple of step; step
// is 1 in a cart without a step. Parts are counted in steps. Subtotals and base may stay in minor
// units, because their ratio is the same. shares is scratch memory, with one entry for each line.
//
// Every share is first rounded half up. The sum of the parts may then miss the discount by a few steps.
// The lines whose remainders are closest to a half are rounded the other way.
func allocate(lines []QuotedLine, discount, base, step int64, shares []share) {
	if step > 1 { // the branch is cheaper than a division by 1
		discount /= step
	}
	r, up, down, excess := newRatio(discount, base), 0, len(lines), -discount
	for i := range lines {
		l := &lines[i]
		if !l.Eligible {
			continue
		}
		whole, remainder := r.of(l.Subtotal)
		part := int64(whole) //nolint:gosec // at most the subtotal
		if remainder >= r.half {
			part++
			shares[up] = share{remainder, i}
			up++
		} else {
			down--
			shares[down] = share{remainder, i}
		}
		excess += part
		l.Discount = part * step
		l.Total = l.Subtotal - l.Discount
	}
	off, by := margin(shares[:up], shares[down:], excess)
	for _, s := range off {
		l := &lines[s.line]
		l.Discount += by * step
		l.Total -= by * step
	}
}

// margin returns the shares that must be rounded the other way, and the correction of each part: -1 or
// +1. The sum of the parts is the discount plus excess. up are the shares that were rounded up.
func margin(up, down []share, excess int64) (off []share, by int64) {
	switch {
	case excess > 0:
		rest := len(up) - int(excess)
		selectFirst(up, rest)
		return up[rest:], -1
	case excess < 0:
		selectFirst(down, int(-excess))
		return down[:-excess], 1
	}
	return nil, 0
}

// largestRemainder spreads discount (0 < discount < base) over weights, whose sum is base. It replaces
// each weight by its part. It rounds like allocate. allocate works on the lines themselves, because
// copying them to weights and back takes a tenth of the time of a quote.
func largestRemainder(weights []int64, discount, base int64, shares []share) []share {
	r, up, down, excess := newRatio(discount, base), 0, len(weights), -discount
	shares = resize(shares, len(weights))
	for i, weight := range weights {
		whole, remainder := r.of(weight)
		part := int64(whole) //nolint:gosec // at most the weight
		if remainder >= r.half {
			part++
			shares[up] = share{remainder, i}
			up++
		} else {
			down--
			shares[down] = share{remainder, i}
		}
		excess += part
		weights[i] = part
	}
	off, by := margin(shares[:up], shares[down:], excess)
	for _, s := range off {
		weights[s.line] += by
	}
	return shares
}

// selectPasses is how often selectFirst may compare every share before it sorts instead. Ordinary carts
// need two or three passes.
const selectPasses = 8

// selectFirst moves the n first shares to the front, in any order. Its cost is linear in the number of
// shares, because it selects and does not sort. A cart built to defeat the choice of pivots costs one
// sort.
func selectFirst(shares []share, n int) {
	switch last := len(shares) - 1; n {
	case 0:
	case 1: // the most frequent values of n need no partition
		at := extreme(shares, true)
		shares[0], shares[at] = shares[at], shares[0]
	case last:
		at := extreme(shares, false)
		shares[last], shares[at] = shares[at], shares[last]
	default:
		if !quickselect(shares, n, selectPasses*len(shares)) {
			slices.SortFunc(shares, share.compare)
		}
	}
}

// extreme returns the position of the first or the last share in the order.
func extreme(shares []share, first bool) (at int) {
	for i := range shares {
		if shares[i].before(shares[at]) == first {
			at = i
		}
	}
	return at
}

// quickselect is selectFirst with a limit on the number of comparisons. Over the limit it returns false
// and leaves the shares in no defined order.
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

// partition sorts shares[low..high] roughly around the middle share. All shares up to left come before
// all shares from right on. If there is a share between left and right, it already has its final
// position.
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

// mulDivRound returns a*b/c rounded half up. The result must fit 63 bits.
func mulDivRound(a, b, c uint64) int64 {
	high, low := bits.Mul64(a, b)
	low, carry := bits.Add64(low, c/2, 0)
	quotient, _ := bits.Div64(high+carry, low, c)
	return int64(quotient) //nolint:gosec // b <= c, so that the quotient is at most a
}
