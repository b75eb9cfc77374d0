package pricing

import "math/bits"

// share is one line's claim to a spare minor unit: the remainder that flooring
// its exact share left, and the line's position.
type share struct {
	remainder uint64
	line      int
}

// before orders claims: the greater remainder first, then the earlier line.
func (s share) before(t share) bool {
	return s.remainder > t.remainder || s.remainder == t.remainder && s.line < t.line
}

// allocate spreads discount (0 < discount < base) over the eligible lines by
// largest remainder and stores each line's part. base is the sum of their
// subtotals. shares is scratch memory, returned for reuse.
func allocate(lines []QuotedLine, discount, base int64, shares []share) []share {
	shares = shares[:0]
	d, b := uint64(discount), uint64(base) //nolint:gosec // both positive
	narrow := bits.Len64(d)+bits.Len64(b) <= 64
	spare := discount
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
		l.Discount = int64(part) //nolint:gosec // part <= subtotal
		spare -= l.Discount
		shares = append(shares, share{remainder: remainder, line: i})
	}
	selectFirst(shares, int(spare))
	for _, s := range shares[:spare] {
		lines[s.line].Discount++
	}
	return shares
}

// selectFirst moves the n first claims to the front, in any order. It selects
// and does not sort, so that the cost is linear in the number of claims.
func selectFirst(shares []share, n int) {
	low, high := 0, len(shares)
	for n > low && n < high {
		middle := partition(shares[low:high]) + low
		if middle >= n {
			high = middle
		} else {
			low = middle + 1
		}
	}
}

// partition puts a pivot in its place, the claims before it in front, and
// returns the place. The pivot is the median of the first, middle and last.
func partition(shares []share) int {
	last := len(shares) - 1
	if mid := last / 2; shares[mid].before(shares[0]) {
		shares[mid], shares[0] = shares[0], shares[mid]
	}
	if shares[last].before(shares[0]) {
		shares[last], shares[0] = shares[0], shares[last]
	}
	if mid := last / 2; shares[mid].before(shares[last]) {
		shares[mid], shares[last] = shares[last], shares[mid]
	}
	pivot, place := shares[last], 0
	for i := range last {
		if shares[i].before(pivot) {
			shares[i], shares[place] = shares[place], shares[i]
			place++
		}
	}
	shares[last], shares[place] = shares[place], shares[last]
	return place
}

// mulDivRound returns a*b/c rounded half-up, where the result fits 63 bits.
func mulDivRound(a, b, c uint64) int64 {
	high, low := bits.Mul64(a, b)
	low, carry := bits.Add64(low, c/2, 0)
	quotient, _ := bits.Div64(high+carry, low, c)
	return int64(quotient) //nolint:gosec // b <= c, so that the quotient is at most a
}
