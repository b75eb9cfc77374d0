package offers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// builder collects the coupons of a new index. It sorts all entries of a shelf at once, and then deals
// them to their lists.
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
	coupons  []*coupon.Coupon
	slots    lookup // by ID
	targets  []target
	labels   lookup   // positions of targets
	under    []uint32 // positions of the targets of each coupon, one coupon after another
	until    []int    // by slot: the end of its part of under
	listed   []listed
}

// lookup is a hash table that is not persistent. Its cells are those of a table.
type lookup struct {
	cells  []uint64
	hashes []uint64
}

func (l *lookup) add(hash uint64) {
	if len(l.hashes)*3 >= len(l.cells)*2 {
		l.cells = make([]uint64, max(2*len(l.cells), leastCells))
		for i, h := range l.hashes {
			putCell(l.cells, h, uint32(i))
		}
	}
	putCell(l.cells, hash, uint32(len(l.hashes))) //nolint:gosec // below MaxCoupons
	l.hashes = append(l.hashes, hash)
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
	return b.limits.check(b.held, b.entries)
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
	s.coupons = append(s.coupons, c)
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
		s.under = append(s.under, s.position(&t, hash))
	}
	if c.Distribution != coupon.General {
		set, size = scopeSet(&c.Scope)
	}
	s.until = append(s.until, len(s.under))
	before := len(s.listed)
	s.listed = appendListed(s.listed, c, s.currency, slot, set, size)
	return len(s.listed) - before
}

// position returns the position of a target, and adds the target if it is new.
func (s *shelfBuilder) position(t *target, hash uint64) uint32 {
	if mask := len(s.labels.cells) - 1; mask > 0 {
		for at := int(hash) & mask; s.labels.cells[at] != free; at = (at + 1) & mask { //nolint:gosec // only the low bits matter
			c := s.labels.cells[at]
			if position := uint32(c) - marks; (c^hash)>>32 == 0 && s.targets[position] == *t { //nolint:gosec // the low half
				return position
			}
		}
	}
	s.labels.add(hash)
	s.targets = append(s.targets, *t)
	return uint32(len(s.targets) - 1) //nolint:gosec // below the maximum number of entries
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
		labels: vectorOf(labels), byTarget: s.labels.table(), entries: entries,
	}
}

// deal sorts the entries and deals them to the lists of their targets.
func (s *shelfBuilder) deal() (labels []*label, entries int) {
	slices.SortFunc(s.listed, func(a, b listed) int {
		switch {
		case a.listKind != b.listKind:
			return a.compare(b.listKind)
		case a.entry.before(b.entry.rank):
			return -1
		}
		return 1
	})
	all := make([]label, len(s.targets))
	labels = make([]*label, len(s.targets))
	for i := range all {
		all[i].target, labels[i] = s.targets[i], &all[i]
	}
	counts, ends := make([]uint32, len(s.targets)), make([][]entry, len(s.targets))
	var touched []uint32
	for first := 0; first < len(s.listed); {
		kind, last := s.listed[first].listKind, first
		for ; last < len(s.listed) && s.listed[last].listKind == kind; last++ {
			for _, at := range s.targetsOf(s.listed[last].entry.slot) {
				if counts[at] == 0 {
					touched = append(touched, at)
				}
				counts[at]++
			}
		}
		for _, at := range touched {
			ends[at] = make([]entry, 0, counts[at])
			entries += int(counts[at])
			counts[at] = 0
		}
		for i := range s.listed[first:last] {
			e := &s.listed[first+i].entry
			for _, at := range s.targetsOf(e.slot) {
				ends[at] = append(ends[at], *e)
			}
		}
		for _, at := range touched {
			all[at].lists = append(all[at].lists, list{kind, ends[at][0].key, treeOf(ends[at])})
			ends[at] = nil
		}
		touched, first = touched[:0], last
	}
	return labels, entries
}

// targetsOf returns the positions of the targets of a slot.
func (s *shelfBuilder) targetsOf(slot uint32) []uint32 {
	first := 0
	if slot > 0 {
		first = s.until[slot-1]
	}
	return s.under[first:s.until[slot]]
}
