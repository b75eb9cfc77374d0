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
	coupons   vector[*coupon.Coupon] // by slot; nil for a free slot
	byID      table                  // slots
	freeSlots *position
	labels    vector[*label] // by position; nil for a free position
	byTarget  table          // positions of labels
	freeSpots *position
	entries   int
}

// position is a list of free positions.
type position struct {
	at   uint32
	next *position
}

// label is a target with its lists.
type label struct {
	target target
	lists  []list // sorted by kind
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

// label returns the position of a target.
func (s *shelf) label(t *target, hash uint64) (at uint32, ok bool) {
	p := s.byTarget.probe(hash)
	for at, ok = p.next(); ok; at, ok = p.next() {
		if s.labels.at(at).target == *t {
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
	before := s.coupons.at(slot)
	s.coupons = s.coupons.set(slot, c)
	old, now := s.listedOf(before, slot), s.listedOf(c, slot)
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
		s.coupons = s.coupons.set(slot, c)
	} else {
		s.coupons, slot = s.coupons.add(c)
	}
	s.byID = s.byID.add(hashID(c.ID), slot, func(slot uint32) uint64 { return hashID(s.coupons.at(slot).ID) })
	s.relist(c, nil, s.listedOf(c, slot))
}

// remove removes the coupon with an ID, if there is one.
func (s *shelf) remove(id string) {
	p := s.byID.probe(hashID(id))
	for slot, ok := p.next(); ok; slot, ok = p.next() {
		c := s.coupons.at(slot)
		if c.ID != id {
			continue
		}
		s.relist(c, s.listedOf(c, slot), nil)
		s.byID = s.byID.remove(&p)
		s.coupons = s.coupons.set(slot, nil)
		s.freeSlots = &position{slot, s.freeSlots}
		return
	}
}

func (s *shelf) listedOf(c *coupon.Coupon, slot uint32) []listed {
	set, items := scopeSet(&c.Scope)
	return appendListed(nil, c, s.currency, slot, set, items)
}

// relist replaces entries of a coupon under all its targets.
func (s *shelf) relist(c *coupon.Coupon, old, now []listed) {
	for t := range listedUnder(c) {
		hash := t.hash()
		at, known := s.label(&t, hash)
		var lists []list
		if known {
			lists = s.labels.at(at).lists
		}
		lists = s.replace(slices.Clone(lists), old, now)
		switch {
		case known && len(lists) == 0:
			s.removeLabel(&t, hash, at)
		case known:
			s.labels = s.labels.set(at, &label{t, lists})
		case len(lists) > 0:
			s.addLabel(&label{t, lists}, hash)
		}
	}
}

// replace replaces entries in lists, which it overwrites.
func (s *shelf) replace(lists []list, old, now []listed) []list {
	for _, e := range old {
		at, found := slices.BinarySearchFunc(lists, e.listKind, compareKind)
		kept := slices.ContainsFunc(now, func(n listed) bool { return n.listKind == e.listKind && n.entry.rank == e.entry.rank })
		if !found || kept {
			continue
		}
		s.entries--
		if lists[at].root = lists[at].root.cut(e.entry.rank); lists[at].root == nil {
			lists = slices.Delete(lists, at, at+1)
		} else {
			lists[at].top = lists[at].root.first().key
		}
	}
	for _, e := range now {
		at, found := slices.BinarySearchFunc(lists, e.listKind, compareKind)
		if !found {
			lists = slices.Insert(lists, at, list{listKind: e.listKind})
		}
		lists[at].root = lists[at].root.put(e.entry)
		lists[at].top = lists[at].root.first().key
		if !slices.ContainsFunc(old, func(o listed) bool { return o.listKind == e.listKind && o.entry.rank == e.entry.rank }) {
			s.entries++
		}
	}
	return lists
}

func compareKind(l list, k listKind) int { return l.compare(k) }

func (s *shelf) addLabel(l *label, hash uint64) {
	var at uint32
	if f := s.freeSpots; f != nil {
		at, s.freeSpots = f.at, f.next
		s.labels = s.labels.set(at, l)
	} else {
		s.labels, at = s.labels.add(l)
	}
	s.byTarget = s.byTarget.add(hash, at, func(at uint32) uint64 { return s.labels.at(at).target.hash() })
}

func (s *shelf) removeLabel(t *target, hash uint64, at uint32) {
	p := s.byTarget.probe(hash)
	for found, ok := p.next(); ok; found, ok = p.next() {
		if s.labels.at(found).target == *t {
			s.byTarget = s.byTarget.remove(&p)
			break
		}
	}
	s.labels = s.labels.set(at, nil)
	s.freeSpots = &position{at, s.freeSpots}
}
