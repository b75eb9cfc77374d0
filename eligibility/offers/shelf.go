package offers

import (
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// A shelf has the coupons that can be used in one currency. The shelf of the zero currency has the coupons
// without amounts, which can be used in every currency. A shelf is a persistent value.
//
// A coupon whose entries change moves to another slot. The entries of its old slot stay in their lists until
// sweep takes them out. A search leaves them out, because the slot is empty.
type shelf struct {
	edit     *edit // the current change
	currency pricing.Currency
	coupons  vector[held] // by slot; zero for an empty slot
	byID     table        // slots
	labels   vector[*label]
	byHash   table // positions of labels
	entries  int   // of the coupons
	empty    emptySlots
	swept    uint32 // position of the next label to sweep
	due      int    // labels to sweep, times entries
}

// emptySlots are the slots without a coupon. A slot is free if no list has an entry of it.
type emptySlots struct {
	free    *positions
	waiting *position // free after the current round of sweeps
	left    *position // free after the next round
}

// endRound frees slots at the end of a round of sweeps.
func (e *emptySlots) endRound() {
	if e.waiting != nil {
		e.free = &positions{e.waiting, e.free}
	}
	e.waiting, e.left = e.left, nil
}

// take returns a free slot, if there is one.
func (e *emptySlots) take() (slot uint32, ok bool) {
	f := e.free
	if f == nil {
		return 0, false
	}
	if e.free = f.next; f.first.next != nil {
		e.free = &positions{f.first.next, f.next}
	}
	return f.first.at, true
}

// held is a coupon with its hints. The hints of an empty slot admit no purchase.
type held struct {
	*coupon.Coupon
	hints
}

// position is a list of positions.
type position struct {
	at   uint32
	next *position
}

// positions is a list of lists.
type positions struct {
	first *position
	next  *positions
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

// find returns the slot of a coupon, and the probe that found it.
func (s *shelf) find(id string) (p probe, slot uint32, ok bool) {
	p = s.byID.probe(hashID(id))
	for slot, ok = p.next(); ok; slot, ok = p.next() {
		if s.coupons.ref(slot).ID == id {
			return p, slot, true
		}
	}
	return p, 0, false
}

// label returns the position of the label with a hash, and the probe that found it.
func (s *shelf) label(hash uint64) (p probe, at uint32, ok bool) {
	p = s.byHash.probe(hash)
	for at, ok = p.next(); ok; at, ok = p.next() {
		if s.labels.at(at).hash == hash {
			return p, at, true
		}
	}
	return p, 0, false
}

// set adds a coupon, or replaces the coupon with the same ID.
func (s *shelf) set(c *coupon.Coupon) {
	p, slot, known := s.find(c.ID)
	h, entries := s.measure(c, slot)
	if known {
		before := s.coupons.at(slot).Coupon
		if _, old := s.measure(before, slot); sameTargets(before, c) && slices.Equal(old, entries) {
			s.coupons = s.coupons.set(s.edit, slot, held{c, h})
			return
		}
		s.leave(slot)
	}
	if slot = s.add(held{c, h}); known {
		s.byID = s.byID.move(s.edit, &p, slot)
	} else {
		s.byID = s.byID.add(s.edit, hashID(c.ID), slot, func(slot uint32) uint64 { return hashID(s.coupons.at(slot).ID) })
	}
	for i := range entries {
		entries[i].entry.slot = slot
	}
	for t := range listedUnder(c) {
		s.list(t.hash(), entries)
	}
	s.sweep()
}

// add puts a coupon into a free slot.
func (s *shelf) add(h held) uint32 {
	slot, ok := s.empty.take()
	if ok {
		s.coupons = s.coupons.set(s.edit, slot, h)
	} else {
		s.coupons, slot = s.coupons.add(s.edit, h)
	}
	return slot
}

// remove removes the coupon with an ID, if there is one.
func (s *shelf) remove(id string) {
	if p, slot, ok := s.find(id); ok {
		s.byID = s.byID.remove(s.edit, &p)
		s.leave(slot)
		s.sweep()
	}
}

// leave empties a slot.
func (s *shelf) leave(slot uint32) {
	c := s.coupons.at(slot).Coupon
	_, entries := s.measure(c, slot)
	n := 0
	for range listedUnder(c) {
		n += len(entries)
	}
	s.coupons = s.coupons.set(s.edit, slot, held{})
	s.empty.left = &position{slot, s.empty.left}
	s.entries -= n
	s.due += n * s.labels.size * roundsPerChange
}

// measure returns the hints and the entries of a coupon.
func (s *shelf) measure(c *coupon.Coupon, slot uint32) (hints, []listed) {
	set, items := scopeSet(&c.Scope)
	return hintsOf(c, s.currency), appendListed(nil, c, s.currency, slot, set, items)
}

// list adds entries to the lists of the label with a hash.
func (s *shelf) list(hash uint64, entries []listed) {
	s.entries += len(entries)
	_, at, known := s.label(hash)
	if !known {
		s.labels, at = s.labels.add(s.edit, &label{hash: hash})
		s.byHash = s.byHash.add(s.edit, hash, at, func(at uint32) uint64 { return s.labels.at(at).hash })
	}
	s.labels = s.labels.set(s.edit, at, s.labels.at(at).with(entries))
}

// with returns the label with further entries.
func (l *label) with(entries []listed) *label {
	next := &label{l.hash, append(make([]list, 0, len(l.lists)+1), l.lists...), l.entries + len(entries)}
	for _, e := range entries {
		at, found := slices.BinarySearchFunc(next.lists, e.listKind, func(l list, k listKind) int { return l.compare(k) })
		if !found {
			next.lists = slices.Insert(next.lists, at, list{listKind: e.listKind})
		}
		of := &next.lists[at]
		of.top, of.root = max(of.top, e.entry.key), of.root.put(e.entry)
	}
	return next
}

// roundsPerChange is the number of rounds of sweeps while as many entries leave as the coupons have. So the lists
// have at most about a quarter more entries than the coupons.
const roundsPerChange = 4

// sweep takes entries of empty slots out of the lists, one label after another. It looks at each label once at most.
func (s *shelf) sweep() {
	for range s.labels.size {
		if s.due <= 0 {
			return
		}
		s.due -= s.entries
		if int(s.swept) >= s.labels.size {
			s.swept = 0
			s.empty.endRound()
		}
		old := s.labels.at(s.swept)
		switch l := old.swept(&s.coupons); {
		case l == nil:
			s.removeLabel(s.swept)
		case l != old:
			s.labels = s.labels.set(s.edit, s.swept, l)
			fallthrough
		default:
			s.swept++
		}
	}
	s.due = 0
}

// swept returns the label without the entries of empty slots. It returns nil if no entry is left.
func (l *label) swept(coupons *vector[held]) *label {
	next := &label{hash: l.hash, lists: make([]list, 0, len(l.lists))}
	kept := make([]entry, 0, l.entries)
	var c cursor
	for _, of := range l.lists {
		first := len(kept)
		for c.begin(of.root); len(c.leaf) > 0; c.advance() {
			for _, e := range c.leaf {
				if coupons.ref(e.slot).Coupon != nil {
					kept = append(kept, e)
				}
			}
		}
		if own := kept[first:len(kept):len(kept)]; len(own) > 0 {
			next.lists = append(next.lists, list{of.listKind, own[0].key, treeOf(own)})
		}
	}
	switch next.entries = len(kept); next.entries {
	case l.entries:
		return l
	case 0:
		return nil
	}
	return next
}

// removeLabel removes a label. The last label takes its position.
func (s *shelf) removeLabel(at uint32) {
	p, _, _ := s.label(s.labels.at(at).hash)
	s.byHash = s.byHash.remove(s.edit, &p)
	if last := uint32(s.labels.size - 1); at != last { //nolint:gosec // a position
		l := s.labels.at(last)
		p, _, _ = s.label(l.hash)
		s.byHash = s.byHash.move(s.edit, &p, at)
		s.labels = s.labels.set(s.edit, at, l)
	}
	s.labels = s.labels.pop(s.edit)
}
