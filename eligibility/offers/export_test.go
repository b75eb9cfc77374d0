package offers

import (
	"fmt"
	"slices"
)

// Entries returns the number of entries in the lists, and how many of them belong to coupons. It returns an error
// if an entry is missing, in a wrong list or out of order.
func (x *Index) Entries() (all, live int, err error) {
	for i := range x.shelves {
		s := &x.shelves[i]
		want := s.expected()
		own := 0
		for _, n := range want {
			own += n
		}
		if own != s.entries {
			return 0, 0, fmt.Errorf("the shelf counts %d entries, not %d", s.entries, own)
		}
		live += own
		for at := range uint32(s.labels.size) {
			l := s.labels.at(at)
			if _, found, ok := s.label(l.hash); !ok || found != at {
				return 0, 0, fmt.Errorf("label %d is not found", at)
			}
			n, err := s.entriesOf(l, want)
			if err != nil {
				return 0, 0, err
			}
			all += n
		}
		if len(want) > 0 {
			return 0, 0, fmt.Errorf("%d entries are in no list", len(want))
		}
	}
	return all, live, nil
}

// Slots returns the number of slots for coupons.
func (x *Index) Slots() (n int) {
	for i := range x.shelves {
		n += x.shelves[i].coupons.size
	}
	return n
}

// listedUnderHash is an entry with its list.
type listedUnderHash struct {
	hash uint64
	listed
}

// expected returns the entries of all coupons.
func (s *shelf) expected() map[listedUnderHash]int {
	want := map[listedUnderHash]int{}
	for slot := range uint32(s.coupons.size) {
		c := s.coupons.at(slot).Coupon
		if c == nil {
			continue
		}
		_, entries := s.measure(c, slot)
		for t := range listedUnder(c) {
			for _, e := range entries {
				want[listedUnderHash{t.hash(), e}]++
			}
		}
	}
	return want
}

// entriesOf takes the entries of a label from those that are wanted. It returns their number with those of empty slots.
func (s *shelf) entriesOf(l *label, want map[listedUnderHash]int) (n int, err error) {
	for _, of := range l.lists {
		var before *entry
		var c cursor
		for c.begin(of.root); len(c.leaf) > 0; c.advance() {
			for i := range c.leaf {
				e := &c.leaf[i]
				n++
				if before != nil && e.before(before.rank) || before == nil && e.key != of.top {
					return 0, fmt.Errorf("the entry %v is out of order", e.rank)
				}
				before = e
				key := listedUnderHash{l.hash, listed{of.listKind, *e}}
				if s.coupons.at(e.slot).Coupon == nil {
					continue
				}
				if want[key]--; want[key] < 0 {
					return 0, fmt.Errorf("the entry %v is not of the coupon in its slot", e.rank)
				}
				if want[key] == 0 {
					delete(want, key)
				}
			}
		}
	}
	if n != l.entries || !slices.IsSortedFunc(l.lists, func(a, b list) int { return a.compare(b.listKind) }) {
		return 0, fmt.Errorf("the label %x has %d entries", l.hash, n)
	}
	return n, nil
}
