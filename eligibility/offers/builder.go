package offers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// builder collects the coupons of a new index. It sorts the entries of a kind at once, and then deals them to
// their lists.
type builder struct {
	limits  Limits
	read    int
	held    int
	entries int
	shelves []shelfBuilder
	single  [1]pricing.Currency
	late    []*coupon.Coupon // coupons whose ID came before
}

// shelfBuilder collects the coupons of one currency.
type shelfBuilder struct {
	currency pricing.Currency
	coupons  []held
	slots    lookup    // by ID
	labels   lookup    // by the hash of targets
	under    []uint32  // positions of the labels of each coupon, one coupon after another
	until    []uint32  // by slot: the end of its part of under
	kinds    [][]entry // by position; see listKind.position
	listed   []listed  // memory
	order    []uint32  // memory: the positions of entries, label by label
}

// lookup is a hash table that is not persistent. Its cells are those of a table.
type lookup struct {
	cells  []uint64
	hashes []uint64
}

// room doubles the memory of a slice that is nearly full. The growth of append is slower for long slices.
func room[T any](s []T) []T {
	const most = 4 // entries of a coupon
	if cap(s)-len(s) < most {
		s = slices.Grow(s, len(s)+most)
	}
	return s
}

func (l *lookup) add(hash uint64) {
	if len(l.hashes)*3 >= len(l.cells)*2 {
		l.cells = make([]uint64, max(2*len(l.cells), leastCells))
		for i, h := range l.hashes {
			putCell(l.cells, h, uint32(i))
		}
	}
	putCell(l.cells, hash, uint32(len(l.hashes))) //nolint:gosec // below MaxCoupons
	l.hashes = append(room(l.hashes), hash)
}

func (l *lookup) table() table {
	return table{cells: vectorOf(l.cells), live: len(l.hashes), taken: len(l.hashes)}
}

// add adds a coupon to the shelves of its currencies.
func (b *builder) add(c *coupon.Coupon) error {
	if err := check(c); err != nil {
		var faults validation.Error
		faults.Merge(fmt.Sprintf("coupons[%d]", b.read), err)
		return faults.Err()
	}
	b.read++
	if b.known(c.ID) {
		b.late = append(b.late, c)
		return nil
	}
	for _, currency := range b.currenciesOf(c) {
		at := slices.IndexFunc(b.shelves, func(s shelfBuilder) bool { return s.currency == currency })
		if at < 0 {
			at = len(b.shelves)
			b.shelves = append(b.shelves, shelfBuilder{currency: currency})
		}
		s := &b.shelves[at]
		before := len(s.under)
		own := s.add(c)
		b.held++
		b.entries += (len(s.under) - before) * own
	}
	return b.limits.Check(b.held, b.entries)
}

// known reports whether a coupon with the ID was added.
func (b *builder) known(id string) bool {
	hash := hashID(id)
	for i := range b.shelves {
		s := &b.shelves[i]
		mask := len(s.slots.cells) - 1
		if mask < 0 {
			continue
		}
		for at := int(hash) & mask; s.slots.cells[at] != free; at = (at + 1) & mask { //nolint:gosec // only the low bits matter
			c := s.slots.cells[at]
			if slot := uint32(c) - marks; (c^hash)>>32 == 0 && s.coupons[slot].ID == id { //nolint:gosec // the low half
				return true
			}
		}
	}
	return false
}

// currenciesOf is currenciesOf without memory for the most frequent result.
func (b *builder) currenciesOf(c *coupon.Coupon) []pricing.Currency {
	if c.State == coupon.Active && c.Accepts(pricing.Currency{}) {
		b.single[0] = pricing.Currency{}
		return b.single[:]
	}
	return currenciesOf(c)
}

// add adds a coupon. It returns the number of entries under each target.
func (s *shelfBuilder) add(c *coupon.Coupon) (entries int) {
	slot := uint32(len(s.coupons)) //nolint:gosec // below MaxCoupons
	s.slots.add(hashID(c.ID))
	var set hashedSet
	size := 0
	for t := range listedUnder(c) {
		hash := t.hash()
		if t.group == ofItem || t.group == ofCategory {
			set.add(hash)
			size++
		} else if t.group != ofCustomer {
			set, size = scopeSet(&c.Scope)
		}
		s.under = append(room(s.under), s.position(hash))
	}
	if c.Distribution != coupon.General {
		set, size = scopeSet(&c.Scope)
	}
	s.coupons = append(room(s.coupons), held{c, hintsOf(c, s.currency)})
	s.until = append(room(s.until), uint32(len(s.under))) //nolint:gosec // below the maximum number of entries
	s.listed = appendListed(s.listed[:0], c, s.currency, slot, set, size)
	for i := range s.listed {
		e := &s.listed[i]
		for e.position() >= len(s.kinds) {
			s.kinds = append(s.kinds, nil)
		}
		of := &s.kinds[e.position()]
		*of = append(room(*of), e.entry)
	}
	return len(s.listed)
}

// position returns the position of the label with a hash, and adds the label if it is new.
func (s *shelfBuilder) position(hash uint64) uint32 {
	if mask := len(s.labels.cells) - 1; mask > 0 {
		for at := int(hash) & mask; s.labels.cells[at] != free; at = (at + 1) & mask { //nolint:gosec // only the low bits matter
			c := s.labels.cells[at]
			if position := uint32(c) - marks; (c^hash)>>32 == 0 && s.labels.hashes[position] == hash { //nolint:gosec // the low half
				return position
			}
		}
	}
	s.labels.add(hash)
	return uint32(len(s.labels.hashes) - 1) //nolint:gosec // below the maximum number of entries
}

// build returns the index. It adds the coupons whose ID came before at the end, in their order.
func (b *builder) build() (*Index, error) {
	x := &Index{limits: b.limits}
	slices.SortFunc(b.shelves, func(a, b shelfBuilder) int { return cmp.Compare(a.currency.Code(), b.currency.Code()) })
	for i := range b.shelves {
		x.shelves = append(x.shelves, b.shelves[i].build())
	}
	if len(b.late) > 0 {
		return x.With(b.late...)
	}
	return x, nil
}

func (s *shelfBuilder) build() shelf {
	labels, entries := s.deal()
	return shelf{
		currency: s.currency, coupons: vectorOf(s.coupons), byID: s.slots.table(),
		labels: vectorOf(labels), byHash: s.labels.table(), entries: entries,
	}
}

// deal sorts the entries of each kind and deals them to the lists of their labels.
func (s *shelfBuilder) deal() (labels []*label, entries int) {
	all := make([]label, len(s.labels.hashes))
	labels = make([]*label, len(all))
	for i := range all {
		all[i].hash, labels[i] = s.labels.hashes[i], &all[i]
	}
	counts, ends := make([]uint32, len(all)), make([]uint32, len(all))
	for at, of := range s.kinds {
		if len(of) > 0 {
			entries += s.dealKind(kindAt(at), of, all, counts, ends)
			s.kinds[at] = nil // the next kinds use the memory
		}
	}
	return labels, entries
}

// dealKind deals the entries of one kind. It uses counts, whose values are 0 before and after, and ends.
func (s *shelfBuilder) dealKind(kind listKind, of []entry, labels []label, counts, ends []uint32) (entries int) {
	for i := range of { // before sorting, where the labels are read in order
		for _, at := range s.labelsOf(of[i].slot) {
			counts[at]++
			entries++
		}
	}
	slices.SortFunc(of, func(a, b entry) int {
		if a.before(b.rank) {
			return -1
		}
		return 1
	})
	end := uint32(0)
	for at, n := range counts {
		ends[at] = end
		end += n
	}
	s.order = slices.Grow(s.order[:0], entries)[:entries]
	for i := range of {
		for _, at := range s.labelsOf(of[i].slot) {
			s.order[ends[at]] = uint32(i)
			ends[at]++
		}
	}
	dealt := make([]entry, entries) // from first to last, because entries are larger than caches
	for i, from := range s.order {
		dealt[i] = of[from]
	}
	for at, n := range counts {
		if n > 0 {
			own := dealt[ends[at]-n : ends[at] : ends[at]]
			l := &labels[at]
			l.lists = append(l.lists, list{kind, own[0].key, treeOf(own)})
			l.entries += int(n)
			counts[at] = 0
		}
	}
	return entries
}

// labelsOf returns the positions of the labels of a slot.
func (s *shelfBuilder) labelsOf(slot uint32) []uint32 {
	first := uint32(0)
	if slot > 0 {
		first = s.until[slot-1]
	}
	return s.under[first:s.until[slot]]
}
