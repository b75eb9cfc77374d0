package pricing

import "math/bits"

// cut lowers the discounts of several coupons on one unit so that their sum is the unit's cost. It
// spreads the cost by largest remainder over the discounts. Ties go to the earlier coupon, and the
// coupons are sorted by ID.
func cut(amounts []int64, cost int64) {
	var sum uint128
	for _, a := range amounts {
		sum = sum.add(uint64(a)) //nolint:gosec // not negative
	}
	var remainders [MaxCoupons]uint128
	spare := cost
	for i, a := range amounts {
		var part uint64
		part, remainders[i] = sum.share(uint64(cost), uint64(a)) //nolint:gosec // not negative
		amounts[i] = int64(part)                                 //nolint:gosec // at most a
		spare -= amounts[i]
	}
	for ; spare > 0; spare-- {
		greatest := 0
		for i := range amounts {
			if remainders[greatest].less(remainders[i]) {
				greatest = i
			}
		}
		amounts[greatest]++
		remainders[greatest] = uint128{}
	}
}

// uint128 is an unsigned integer of 128 bits.
type uint128 struct{ high, low uint64 }

func (n uint128) add(m uint64) uint128 {
	low, carry := bits.Add64(n.low, m, 0)
	return uint128{n.high + carry, low}
}

func (n uint128) less(m uint128) bool {
	return n.high < m.high || n.high == m.high && n.low < m.low
}

// share returns a*b/n and the remainder. a and b must be at most n.
func (n uint128) share(a, b uint64) (quotient uint64, remainder uint128) {
	high, low := bits.Mul64(a, b)
	if n.high == 0 {
		if high < n.low {
			quotient, low = bits.Div64(high, low, n.low)
			return quotient, uint128{0, low}
		}
		return n.low, uint128{} // a and b both equal n
	}
	// The divisor has at most 69 bits: the amounts of 32 coupons.
	for bit := 127; bit >= 0; bit-- {
		next := high >> 63
		high, low = high<<1|low>>63, low<<1
		remainder = uint128{remainder.high<<1 | remainder.low>>63, remainder.low<<1 | next}
		quotient <<= 1
		if !remainder.less(n) {
			var borrow uint64
			remainder.low, borrow = bits.Sub64(remainder.low, n.low, 0)
			remainder.high, _ = bits.Sub64(remainder.high, n.high, borrow)
			quotient |= 1
		}
	}
	return quotient, remainder
}
