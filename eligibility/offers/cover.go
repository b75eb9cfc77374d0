package offers

import (
	"math"
	"math/bits"

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
	step     int64
	met      []met    // each target once
	places   []uint32 // hash table of positions in met, plus 1
	huge     bool     // sums of categories may overflow
	goods    []pricing.Line
	items    weights
	category weights
}

// weights are the amounts of the targets by their bit in hashed sets. sums has the sums for each byte of
// a set.
type weights struct {
	used  bool
	bits  [64]amounts
	sums  [8][256]int64
	units [8][256]int64
}

// clear prepares the weights for another cart.
func (w *weights) clear() {
	if w.used {
		w.bits, w.used = [64]amounts{}, false
	}
}

func (w *weights) add(hash uint64, a amounts) {
	w.used = true
	w.bits[hash>>58].add(a)
}

// sum computes the sums of all bytes.
func (w *weights) sum() {
	if !w.used {
		return
	}
	for b := range w.sums {
		sums, units := &w.sums[b], &w.units[b]
		for set := 1; set < len(sums); set++ {
			low := bits.TrailingZeros8(uint8(set))
			rest := set & (set - 1)
			sums[set] = sums[rest] + w.bits[8*b+low].subtotal
			units[set] = units[rest] + w.bits[8*b+low].units
		}
	}
}

// subtotal returns the sum of the amounts of a hashed set.
func (w *weights) subtotal(set uint64) int64 {
	s := &w.sums
	return s[0][set&255] + s[1][set>>8&255] + s[2][set>>16&255] + s[3][set>>24&255] +
		s[4][set>>32&255] + s[5][set>>40&255] + s[6][set>>48&255] + s[7][set>>56]
}

func (w *weights) unitsOf(set uint64) int64 {
	s := &w.units
	return s[0][set&255] + s[1][set>>8&255] + s[2][set>>16&255] + s[3][set>>24&255] +
		s[4][set>>32&255] + s[5][set>>40&255] + s[6][set>>48&255] + s[7][set>>56]
}

// take measures a valid cart.
func (m *measures) take(cart *pricing.Cart) {
	m.total, m.step, m.met, m.goods = amounts{}, max(cart.Step, 1), m.met[:0], m.goods[:0]
	clear(m.places)
	m.items.clear()
	m.category.clear()
	for i := range cart.Lines {
		l := &cart.Lines[i]
		class := l.ClassOf()
		if class == pricing.ShippingClass {
			continue
		}
		m.goods = append(m.goods, *l)
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

// covered returns the greatest amounts that a coupon with an entry can cover.
func (m *measures) covered(e *entry) int64 {
	if e.scope == wide {
		return m.total.subtotal
	}
	w := &m.items
	if e.gate&categoryGate != 0 {
		w = &m.category
	}
	switch {
	case !w.used:
		return 0
	case m.huge && w == &m.category:
		return m.total.subtotal
	}
	return min(w.subtotal(e.scope), m.total.subtotal)
}

// unitsOf returns the greatest number of units that a coupon with an entry can cover.
func (m *measures) unitsOf(e *entry) int64 {
	if e.scope == wide {
		return m.total.units
	}
	w := &m.items
	if e.gate&categoryGate != 0 {
		w = &m.category
	}
	switch {
	case !w.used:
		return 0
	case m.huge && w == &m.category:
		return m.total.units
	}
	return min(w.unitsOf(e.scope), m.total.units)
}

// above returns what the units of all goods cost above a price.
func (m *measures) above(price int64) (sum int64) {
	for i := range m.goods {
		if l := &m.goods[i]; l.UnitPrice > price {
			sum += (l.UnitPrice - price) * l.Quantity
		}
	}
	return sum
}
