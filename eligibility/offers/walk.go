package offers

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/pricing"
)

// A walk returns the coupons that could apply to a cart, roughly those with the greatest bound first. The
// memory is reused.
type walk struct {
	measures measures
	question eligibility.Question
	shelves  [2]*shelf // those of the cart's currency, and of all currencies; nil if there are none

	day  uint16
	gate struct{ country, channel uint16 }

	sources []source
	heap    []uint32 // positions of sources, as a heap with the greatest bound first
	seen    seen
	items   []met
	sums    []int64 // of the subtotals of items
	first   form
	last    form
	address struct{ text, own, domain string }
}

// source is a list of one target that the walk reads.
type source struct {
	cursor cursor
	root   *node
	shelf  uint8
	form   form
	whole  bool   // each coupon covers all goods
	last   uint32 // the key of bound
	bound  int64  // greatest discount of the entries that were not read
	cover  int64  // greatest subtotal of a coupon that has to be found in the list
	need   int64  // a coupon with the last key that covers less than need has a discount below reach
	reach  int64
}

// A place is the position of an offer in the order of offers. An entry that surely comes later is left
// out.
type place struct {
	discount int64
	id       uint64
}

// begin starts a walk for a valid cart.
func (w *walk) begin(x *Index, cart *pricing.Cart, q *eligibility.Question) {
	w.question = *q
	w.measures.take(cart)
	w.day = dayOf(q.At)
	w.gate.country, w.gate.channel = countryBit(q.Facts.Country), channelBit(q.Facts.Channel)
	w.seen.clear()
	w.shelves = [2]*shelf{x.shelf(cart.Currency), x.shelf(pricing.Currency{})}
}

func (x *Index) shelf(c pricing.Currency) *shelf {
	if at, found := slices.BinarySearchFunc(x.shelves, c, compareCurrency); found {
		return &x.shelves[at]
	}
	return nil
}

// open opens the lists of the cart's categories, kinds and classes, and of the customer, with forms from
// first to last. openItems has to follow.
func (w *walk) open(first, last form) {
	w.sources, w.heap, w.items = w.sources[:0], w.heap[:0], w.items[:0]
	w.first, w.last = first, last
	for i := range w.measures.met {
		if m := &w.measures.met[i]; m.target.group == ofItem {
			w.items = append(w.items, *m)
		} else {
			w.read(&m.target, m.hash, nil, 0)
		}
	}
	w.openCustomer()
	w.order()
}

// openItems opens the lists of the cart's items. It leaves out lists that have no coupon before a place.
//
// A coupon for several items of the cart is in several lists. It has to be found only in the list of its
// greatest item. There, its other items are among the next items.
func (w *walk) openItems(worst place) {
	slices.SortFunc(w.items, func(a, b met) int { return cmp.Compare(b.subtotal, a.subtotal) })
	w.sums = append(w.sums[:0], 0)
	for i := range w.items {
		w.sums = append(w.sums, w.sums[i]+w.items[i].subtotal)
	}
	for i := range w.items {
		var covers [len(sizes) + 1]int64
		for size := range covers {
			end := len(w.items)
			if size < len(sizes) {
				end = min(end, i+sizes[size])
			}
			covers[size] = w.sums[end] - w.sums[i]
		}
		w.read(&w.items[i].target, w.items[i].hash, &covers, worst.discount)
	}
	w.order()
}

// order makes the heap.
func (w *walk) order() {
	for i := len(w.heap)/2 - 1; i >= 0; i-- {
		w.sink(i)
	}
}

// openCustomer opens the lists of the customer's address and domain.
func (w *walk) openCustomer() {
	a := &w.address
	if a.text != w.question.Customer.Email {
		a.text = w.question.Customer.Email
		a.own, a.domain = email.Entries(a.text)
	}
	for _, entry := range [...]string{a.own, a.domain} {
		if entry != "" {
			t := target{group: ofCustomer, text: entry}
			w.read(&t, t.hash(), nil, 0)
		}
	}
}

// read opens the lists of a target whose bounds are not below the least. covers has the greatest subtotals
// by the size of coupons. If covers is nil, it is the subtotal of the cart.
func (w *walk) read(t *target, hash uint64, covers *[len(sizes) + 1]int64, least int64) {
	for i, s := range w.shelves {
		if s == nil {
			continue
		}
		at, found := s.label(t, hash)
		if !found {
			continue
		}
		for _, l := range s.labels.at(at).lists {
			if l.form < w.first || l.form > w.last {
				continue
			}
			cover := w.measures.total.subtotal
			if covers != nil {
				cover = covers[l.size]
			}
			bound := w.boundOf(l.form, l.top, cover, w.measures.total.units)
			if bound < least {
				continue
			}
			w.sources = slices.Grow(w.sources, 1)[:len(w.sources)+1]
			src := &w.sources[len(w.sources)-1]
			src.root, src.shelf, src.form, src.cover, src.last, src.bound = l.root, uint8(i), l.form, cover, l.top, bound
			src.reach, src.whole = -1, t.group == everything && l.size == 0
			src.cursor.begin(l.root)
			w.heap = append(w.heap, uint32(len(w.sources)-1)) //nolint:gosec // two shelves, few forms, few targets
		}
	}
}

// boundOf returns the greatest discount of a coupon with a key that covers at most some amounts.
func (w *walk) boundOf(f form, key uint32, cover, units int64) int64 {
	switch f { //nolint:exhaustive // the other forms are byCap and those after it
	case byRatio:
		return part(cover, int64(key), w.measures.step)
	case byUnit:
		return min(cover, product(amount(key), units))
	case byPieces:
		if key < math.MaxUint32 {
			cover = min(cover, w.measures.pieces(key))
		}
		return cover
	case byPrice:
		return min(cover, w.measures.above(int64(^key)))
	case byMinimum, byQuantity:
		return cover
	}
	return min(amount(key), part(cover, ratioOf(f), w.measures.step))
}

// next returns the next coupon that could come before a place. It returns nil if there is no such coupon.
// A coupon is returned once.
func (w *walk) next(worst place) (c *coupon.Coupon, bound int64) {
	for len(w.heap) > 0 {
		s := &w.sources[w.heap[0]]
		if s.bound < worst.discount {
			return nil, 0
		}
		if c, bound = w.nextOf(s, worst); c != nil {
			return c, bound
		}
		if len(s.cursor.leaf) == 0 {
			last := len(w.heap) - 1
			w.heap[0], w.heap = w.heap[last], w.heap[:last]
		}
		if len(w.heap) > 0 {
			w.sink(0)
		}
	}
	return nil, 0
}

// nextOf is next for a source. It stops where the bound of the source becomes lower.
func (w *walk) nextOf(s *source, worst place) (c *coupon.Coupon, bound int64) {
	for len(s.cursor.leaf) > 0 {
		for len(s.cursor.leaf) > 0 {
			e := &s.cursor.leaf[0]
			if e.key != s.last {
				s.last, s.reach = e.key, -1
				if b := w.boundOf(s.form, e.key, s.cover, w.measures.total.units); b < s.bound {
					s.bound = b
					return nil, 0
				}
			}
			if s.bound == worst.discount && e.id > worst.id {
				w.skip(s)
				return nil, 0
			}
			s.cursor.leaf = s.cursor.leaf[1:]
			if c, bound = w.candidate(s, e, worst); c != nil {
				if len(s.cursor.leaf) == 0 {
					s.cursor.advance()
				}
				return c, bound
			}
		}
		s.cursor.advance()
	}
	return nil, 0
}

// setNeed computes need, so that most entries need no division.
func (s *source) setNeed(reach, step int64) {
	s.reach, s.need = reach, reach
	if s.form == byRatio && s.last > 0 {
		if below := product(max(reach-step, 0), one); below < math.MaxInt64 {
			s.need = below / int64(s.last)
		}
	}
}

// skip moves a source to the next key.
func (w *walk) skip(s *source) {
	if s.last == 0 {
		s.cursor.leaf, s.cursor.height = nil, 0
		return
	}
	s.cursor.start(s.root, rank{key: s.last - 1})
	if len(s.cursor.leaf) > 0 {
		s.last, s.reach = s.cursor.leaf[0].key, -1
		s.bound = min(s.bound, w.boundOf(s.form, s.last, s.cover, w.measures.total.units))
	}
}

// candidate returns the coupon of an entry, unless it surely cannot be used or comes after a place.
func (w *walk) candidate(s *source, e *entry, worst place) (c *coupon.Coupon, bound int64) {
	if !w.admits(e) {
		return nil, 0
	}
	cover := w.measures.covered(e)
	if e.least > coarse(cover) {
		return nil, 0
	}
	if s.reach != worst.discount {
		s.setNeed(worst.discount, w.measures.step)
	}
	if cover < s.need {
		return nil, 0
	}
	units := int64(0)
	if s.form == byUnit {
		units = w.measures.unitsOf(e)
	}
	bound = w.boundOf(s.form, e.key, cover, units)
	if bound < worst.discount || bound == worst.discount && e.id > worst.id {
		return nil, 0
	}
	if !w.seen.add(uint64(s.shelf)<<32 | uint64(e.slot)) {
		return nil, 0
	}
	c = w.shelves[s.shelf].coupons.at(e.slot)
	if !w.isOpen(c) {
		return nil, 0
	}
	return c, bound
}

// admits reports whether the hints of an entry allow the day and the facts.
func (w *walk) admits(e *entry) bool {
	return e.from <= w.day && e.until >= w.day && e.gate&w.gate.country != 0 && e.gate&w.gate.channel != 0
}

// isOpen reports whether the coupon may be open to the customer at the instant.
func (w *walk) isOpen(c *coupon.Coupon) bool {
	q := &w.question
	return isWithin(c, q.At) && c.Conditions.CustomerTags.Match(q.Customer.Tags) &&
		(c.Conditions.Countries.Len() == 0 || c.Conditions.Countries.Has(q.Facts.Country)) &&
		(c.Conditions.Channels.Len() == 0 || c.Conditions.Channels.Has(q.Facts.Channel)) &&
		(c.Conditions.Schedule.IsZero() || c.Conditions.Schedule.Contains(q.At))
}

func isWithin(c *coupon.Coupon, at time.Time) bool {
	return (c.StartsAt.IsZero() || !at.Before(c.StartsAt)) && (c.ExpiresAt.IsZero() || at.Before(c.ExpiresAt))
}

// sink restores the order of the heap below a position.
func (w *walk) sink(i int) {
	for {
		greatest := i
		for kid := 2*i + 1; kid <= 2*i+2 && kid < len(w.heap); kid++ {
			if w.sources[w.heap[kid]].bound > w.sources[w.heap[greatest]].bound {
				greatest = kid
			}
		}
		if greatest == i {
			return
		}
		w.heap[i], w.heap[greatest] = w.heap[greatest], w.heap[i]
		i = greatest
	}
}

// seen is a set of numbers. Clearing it takes no time.
type seen struct {
	cells []seenCell
	count int
	round uint32
}

type seenCell struct {
	number uint64
	round  uint32
}

func (s *seen) clear() {
	s.count = 0
	if s.round++; s.round == 0 || s.cells == nil {
		s.cells, s.round = make([]seenCell, 1024), 1
	}
}

// add adds a number. It returns false if the number is in the set.
func (s *seen) add(number uint64) bool {
	if 2*s.count >= len(s.cells) {
		s.grow()
	}
	at := s.find(number)
	if s.cells[at].round == s.round {
		return false
	}
	s.cells[at] = seenCell{number, s.round}
	s.count++
	return true
}

func (s *seen) find(number uint64) int {
	mask := len(s.cells) - 1
	at := int(number*0x9e3779b97f4a7c15>>32) & mask
	for s.cells[at].round == s.round && s.cells[at].number != number {
		at = (at + 1) & mask
	}
	return at
}

func (s *seen) grow() {
	old := s.cells
	s.cells = make([]seenCell, 2*len(old))
	for _, c := range old {
		if c.round == s.round {
			s.cells[s.find(c.number)] = c
		}
	}
}

const anyID = math.MaxUint64
