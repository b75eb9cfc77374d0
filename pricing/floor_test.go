package pricing_test

// The floor is the fastest honest way to do the sums: int64, largest remainder
// by selection, buffers of the caller, and not one check. It serves the
// benchmarks as the measure of what our checks and copies cost, and the tests as
// a second opinion.

type floorLine struct{ price, quantity int64 }

type floorClaim struct {
	remainder int64
	line      int
}

type floorPricer struct {
	subtotals, discounts []int64
	claims               []floorClaim
}

func newFloorPricer(lines int) *floorPricer {
	return &floorPricer{
		subtotals: make([]int64, lines),
		discounts: make([]int64, lines),
		claims:    make([]floorClaim, lines),
	}
}

// percentage takes tenThousandths of a percent off and returns the total.
func (f *floorPricer) percentage(lines []floorLine, tenThousandths int64) int64 {
	base := f.sum(lines)
	return base - f.spread(base, (base*tenThousandths+500_000)/1_000_000)
}

// fixed takes an amount off and returns the total.
func (f *floorPricer) fixed(lines []floorLine, amount int64) int64 {
	base := f.sum(lines)
	return base - f.spread(base, min(amount, base))
}

func (f *floorPricer) sum(lines []floorLine) int64 {
	base := int64(0)
	for i, l := range lines {
		f.subtotals[i] = l.price * l.quantity
		base += f.subtotals[i]
	}
	return base
}

func (f *floorPricer) spread(base, discount int64) int64 {
	spare := discount
	for i, subtotal := range f.subtotals {
		product := subtotal * discount
		f.discounts[i] = product / base
		f.claims[i] = floorClaim{remainder: product % base, line: i}
		spare -= f.discounts[i]
	}
	floorSelect(f.claims, int(spare))
	for _, c := range f.claims[:spare] {
		f.discounts[c.line]++
	}
	return discount
}

func floorSelect(claims []floorClaim, n int) {
	low, high := 0, len(claims)-1
	for low < high {
		pivot, i, j := claims[(low+high)/2], low, high
		for i <= j {
			for floorBefore(claims[i], pivot) {
				i++
			}
			for floorBefore(pivot, claims[j]) {
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

func floorBefore(a, b floorClaim) bool {
	return a.remainder > b.remainder || a.remainder == b.remainder && a.line < b.line
}
