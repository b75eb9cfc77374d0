package offers

import (
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// A shelf has the coupons that can be used in one currency. The shelf of the zero currency has the coupons
// without amounts, which can be used in every currency. A shelf is a persistent value.
type shelf struct {
	currency  pricing.Currency
	coupons   vector[held] // by slot; zero for a free slot
	byID      table        // slots
	freeSlots *position
	labels    vector[*label] // by position; nil for a free position
	byHash    table          // positions of labels
	freeSpots *position
	entries   int
}

// held is a coupon with its hints.
type held struct {
	*coupon.Coupon
	hints
}

// position is a list of free positions.
type position struct {
	at   uint32
	next *position
}

// label has the lists of the targets with one hash. Different targets rarely have the same hash. Their coupons
// are then in the same lists, and a search leaves out those that do not apply.
type label struct {
	hash    uint64
	lists   []list // sorted by kind
	entries int    // in all lists
}

// list has the entries of one kind. It is never empty.
type list struct {
	listKind
	top  uint32 // key of the first entry
	root *node
}

// find returns the slot of a coupon.
func (s *shelf) find(id string) (slot uint32, ok bool) {
	p := s.byID.probe(hashID(id))
	for slot, ok = p.next(); ok; slot, ok = p.next() {
		if s.coupons.at(slot).ID == id {
			return slot, true
		}
	}
	return 0, false
}

// label returns the position of the label with a hash.
func (s *shelf) label(hash uint64) (at uint32, ok bool) {
	p := s.byHash.probe(hash)
	for at, ok = p.next(); ok; at, ok = p.next() {
		if s.labels.at(at).hash == hash {
			return at, true
		}
	}
	return 0, false
}

// set adds a coupon, or replaces the coupon with the same ID.
func (s *shelf) set(c *coupon.Coupon) {
	slot, known := s.find(c.ID)
	if !known {
		s.insert(c)
		return
	}
	before := s.coupons.at(slot).Coupon
	h, now := s.measure(c, slot)
	_, old := s.measure(before, slot)
	s.coupons = s.coupons.set(slot, held{c, h})
	switch {
	case !sameTargets(before, c):
		s.relist(before, old, nil)
		s.relist(c, nil, now)
	case !slices.Equal(old, now):
		s.relist(c, old, now)
	}
}

func (s *shelf) insert(c *coupon.Coupon) {
	var slot uint32
	if f := s.freeSlots; f != nil {
		slot, s.freeSlots = f.at, f.next
	} else {
		s.coupons, slot = s.coupons.add(held{})
	}
	h, now := s.measure(c, slot)
	s.coupons = s.coupons.set(slot, held{c, h})
	s.byID = s.byID.add(hashID(c.ID), slot, func(slot uint32) uint64 { return hashID(s.coupons.at(slot).ID) })
	s.relist(c, nil, now)
}

// remove removes the coupon with an ID, if there is one.
func (s *shelf) remove(id string) {
	p := s.byID.probe(hashID(id))
	for slot, ok := p.next(); ok; slot, ok = p.next() {
		c := s.coupons.at(slot).Coupon
		if c.ID != id {
			continue
		}
		_, old := s.measure(c, slot)
		s.relist(c, old, nil)
		s.byID = s.byID.remove(&p)
		s.coupons = s.coupons.set(slot, held{})
		s.freeSlots = &position{slot, s.freeSlots}
		return
	}
}

// measure returns the hints and the entries of a coupon.
func (s *shelf) measure(c *coupon.Coupon, slot uint32) (hints, []listed) {
	set, items := scopeSet(&c.Scope)
	return hintsOf(c, s.currency), appendListed(nil, c, s.currency, slot, set, items)
}

// relist replaces entries of a coupon under all its targets.
func (s *shelf) relist(c *coupon.Coupon, old, now []listed) {
	for t := range listedUnder(c) {
		hash := t.hash()
		at, known := s.label(hash)
		var lists []list
		entries := len(now) - len(old)
		if known {
			l := s.labels.at(at)
			lists, entries = l.lists, l.entries+entries
		}
		s.entries += len(now) - len(old)
		lists = replace(slices.Clone(lists), old, now)
		switch {
		case known && len(lists) == 0:
			s.removeLabel(hash, at)
		case known:
			s.labels = s.labels.set(at, &label{hash, lists, entries})
		case len(lists) > 0:
			s.addLabel(&label{hash, lists, entries})
		}
	}
}

// replace replaces entries in lists, which it overwrites.
func replace(lists []list, old, now []listed) []list {
	for _, e := range old {
		at, found := slices.BinarySearchFunc(lists, e.listKind, compareKind)
		if !found || slices.Contains(now, e) {
			continue
		}
		if lists[at].root = lists[at].root.cut(e.entry.rank); lists[at].root == nil {
			lists = slices.Delete(lists, at, at+1)
		} else {
			lists[at].top = lists[at].root.first().key
		}
	}
	for _, e := range now {
		if slices.Contains(old, e) {
			continue
		}
		at, found := slices.BinarySearchFunc(lists, e.listKind, compareKind)
		if !found {
			lists = slices.Insert(lists, at, list{listKind: e.listKind})
		}
		lists[at].root = lists[at].root.put(e.entry)
		lists[at].top = lists[at].root.first().key
	}
	return lists
}

func compareKind(l list, k listKind) int { return l.compare(k) }

func (s *shelf) addLabel(l *label) {
	var at uint32
	if f := s.freeSpots; f != nil {
		at, s.freeSpots = f.at, f.next
		s.labels = s.labels.set(at, l)
	} else {
		s.labels, at = s.labels.add(l)
	}
	s.byHash = s.byHash.add(l.hash, at, func(at uint32) uint64 { return s.labels.at(at).hash })
}

func (s *shelf) removeLabel(hash uint64, at uint32) {
	p := s.byHash.probe(hash)
	for found, ok := p.next(); ok; found, ok = p.next() {
		if found == at {
			s.byHash = s.byHash.remove(&p)
			break
		}
	}
	s.labels = s.labels.set(at, nil)
	s.freeSpots = &position{at, s.freeSpots}
}
