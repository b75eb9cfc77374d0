package offers

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/couponkit/couponkit/pricing"
)

// amounts are list prices and numbers of units of some lines. Units of price 0 do not count.
type amounts struct{ subtotal, units int64 }

func (a *amounts) add(b amounts) {
	a.subtotal += b.subtotal
	a.units += b.units
}

// met is a target that lines of a cart belong to, with the amounts of these lines.
type met struct {
	target target
	hash   uint64
	amounts
}

// measures are the amounts of a cart by target. They tell how much a coupon with a hashed set of targets
// covers at most. The memory is reused.
type measures struct {
	total    amounts // of all goods
	dearest  int64   // greatest price of a unit
	step     int64
	met      []met    // each target once
	places   []uint32 // hash table of positions in met, plus 1
	huge     bool     // sums of categories may overflow
	dear     []dear
	items    weights
	category weights
}

// dear is a line in descending order of prices. Its amounts are those of the lines before.
type dear struct {
	price, quantity int64
	amounts
}

// weights are the amounts of the targets by their bit in hashed sets. If there are few bits, list has their
// subtotals. Otherwise sums has the subtotals for each byte of a set.
type weights struct {
	used bool
	few  bool
	list []weight
	bits [128]amounts
	sums [16][256]int64
}

// weight is the subtotal of one bit.
type weight struct {
	bit      uint8
	subtotal int64
}

// fewBits is the greatest number of bits that are added one by one. Tables of sums for few bits take longer to
// compute than most searches.
const fewBits = 16

// clear prepares the weights for another cart.
func (w *weights) clear() {
	if w.used {
		w.bits, w.used = [128]amounts{}, false
	}
}

func (w *weights) add(hash uint64, a amounts) {
	w.used = true
	w.bits[bitOf(hash)].add(a)
}

// sum makes the list, or computes the sums of all bytes.
func (w *weights) sum() {
	if !w.used {
		return
	}
	w.list = w.list[:0]
	for bit := range w.bits {
		if w.bits[bit] != (amounts{}) {
			w.list = append(w.list, weight{uint8(bit), w.bits[bit].subtotal})
		}
	}
	if w.few = len(w.list) <= fewBits; w.few {
		return
	}
	for b := range w.sums {
		sums := &w.sums[b]
		for bit := range 8 {
			first, subtotal := 1<<bit, w.bits[8*b+bit].subtotal
			for set := range first {
				sums[(first+set)&255] = sums[set] + subtotal
			}
		}
	}
}

// subtotal returns the sum of the subtotals of a hashed set. The list and the sums of unused weights may
// still be those of an earlier cart.
func (w *weights) subtotal(set *hashedSet) (sum int64) {
	switch {
	case !w.used:
		return 0
	case w.few:
		for i := range w.list {
			if l := &w.list[i]; set[l.bit>>6]>>(l.bit&63)&1 != 0 {
				sum += l.subtotal
			}
		}
		return sum
	}
	s, a, b := &w.sums, set[0], set[1]
	return s[0][a&255] + s[1][a>>8&255] + s[2][a>>16&255] + s[3][a>>24&255] +
		s[4][a>>32&255] + s[5][a>>40&255] + s[6][a>>48&255] + s[7][a>>56] +
		s[8][b&255] + s[9][b>>8&255] + s[10][b>>16&255] + s[11][b>>24&255] +
		s[12][b>>32&255] + s[13][b>>40&255] + s[14][b>>48&255] + s[15][b>>56]
}

// units returns the sum of the units of a hashed set.
func (w *weights) units(set *hashedSet) (sum int64) {
	for half, rest := range set {
		for ; rest != 0; rest &= rest - 1 {
			sum += w.bits[64*half+bits.TrailingZeros64(rest)].units
		}
	}
	return sum
}

// take measures a valid cart.
func (m *measures) take(cart *pricing.Cart) {
	m.total, m.dearest, m.step, m.met, m.dear = amounts{}, 0, max(cart.Step, 1), m.met[:0], m.dear[:0]
	clear(m.places)
	m.items.clear()
	m.category.clear()
	for i := range cart.Lines {
		l := &cart.Lines[i]
		class := l.ClassOf()
		if class == pricing.ShippingClass {
			continue
		}
		m.dear = append(m.dear, dear{price: l.UnitPrice, quantity: l.Quantity})
		m.dearest = max(m.dearest, l.UnitPrice)
		a := amounts{subtotal: l.UnitPrice * l.Quantity}
		if l.UnitPrice > 0 {
			a.units = l.Quantity
		}
		m.total.add(a)
		m.meet(target{}, a)
		m.meet(target{group: ofClass, class: class}, a)
		m.meet(target{group: ofKind, kind: l.Kind}, a)
		switch l.Kind { //nolint:exhaustive // no other kind has a selection
		case pricing.Plan, pricing.Device, pricing.Accessory:
			m.meet(target{group: ofItem, kind: l.Kind, text: l.ItemID}, a)
		}
		if !l.Categories.IsEmpty() {
			m.meetCategories(l.Categories, a)
		}
	}
	for i := range m.met {
		switch t := &m.met[i]; t.target.group { //nolint:exhaustive // the other groups are wide
		case ofItem:
			m.items.add(t.hash, t.amounts)
		case ofCategory:
			m.category.add(t.hash, t.amounts)
		}
	}
	slices.SortFunc(m.dear, func(a, b dear) int { return cmp.Compare(b.price, a.price) })
	for i := 1; i < len(m.dear); i++ {
		m.dear[i].amounts = m.dear[i-1].amounts
		m.dear[i].add(amounts{m.dear[i-1].price * m.dear[i-1].quantity, m.dear[i-1].quantity})
	}
	const most = math.MaxInt64 / (pricing.MaxCategories * 2)
	m.huge = m.total.subtotal > most || m.total.units > most
	m.items.sum()
	if !m.huge {
		m.category.sum()
	}
}

func (m *measures) meetCategories(names pricing.Categories, a amounts) {
	names.Any(func(name string) bool {
		m.meet(target{group: ofCategory, text: name}, a)
		return false
	})
}

// meet adds the amounts of a line to a target.
func (m *measures) meet(t target, a amounts) {
	hash := t.hash()
	if 2*len(m.met) >= len(m.places) {
		m.spread()
	}
	mask := len(m.places) - 1
	at := int(hash) & mask //nolint:gosec // only the low bits matter
	for ; m.places[at] != 0; at = (at + 1) & mask {
		if known := &m.met[m.places[at]-1]; known.hash == hash && known.target == t {
			known.add(a)
			return
		}
	}
	m.met = append(m.met, met{t, hash, a})
	m.places[at] = uint32(len(m.met)) //nolint:gosec // at most 35 targets for each line
}

// spread makes room in the hash table.
func (m *measures) spread() {
	m.places = make([]uint32, max(2*len(m.places), 512))
	for i := range m.met {
		at := int(m.met[i].hash) & (len(m.places) - 1) //nolint:gosec // only the low bits matter
		for m.places[at] != 0 {
			at = (at + 1) & (len(m.places) - 1)
		}
		m.places[at] = uint32(i + 1)
	}
}

// covered returns the greatest subtotal that a coupon with an entry can cover.
func (m *measures) covered(e *entry, of size) int64 {
	if w := m.weightsOf(e, of); w != nil {
		return min(w.subtotal(&e.scope), m.total.subtotal)
	}
	return m.total.subtotal
}

// unitsOf returns the greatest number of units that a coupon with an entry can cover.
func (m *measures) unitsOf(e *entry, of size) int64 {
	if w := m.weightsOf(e, of); w != nil {
		return min(w.units(&e.scope), m.total.units)
	}
	return m.total.units
}

// weightsOf returns the weights of the targets of an entry, or nil if only the whole cart is a bound.
func (m *measures) weightsOf(e *entry, of size) *weights {
	switch {
	case e.scope == wide:
		return nil
	case of < ofCategories:
		return &m.items
	case m.huge && m.category.used:
		return nil
	}
	return &m.category
}

// pieces returns an upper bound of the discount of a coupon with a key of the form byPieces. The result
// may be above the subtotal.
func (m *measures) pieces(key uint32) int64 {
	price := m.dearest/10_000 + 1
	if price > math.MaxInt64/math.MaxUint32 {
		return math.MaxInt64
	}
	if m.dearest <= math.MaxInt64/math.MaxUint32 {
		return m.dearest*int64(key)/10_000 + m.step + 1
	}
	return price*int64(key) + m.step + 1
}

// above returns what the units of all goods cost above a price.
func (m *measures) above(price int64) int64 {
	low, high := 0, len(m.dear)
	for low < high {
		if middle := (low + high) / 2; m.dear[middle].price > price {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 {
		return 0
	}
	last := &m.dear[low-1]
	return last.subtotal + last.price*last.quantity - price*(last.units+last.quantity)
}
