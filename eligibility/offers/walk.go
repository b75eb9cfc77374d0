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
	address struct{ text, own, domain string }
}

// source is a list of one target that the walk reads.
type source struct {
	cursor cursor
	root   *node
	shelf  uint8
	form   form
	last   uint32 // the key of bound
	bound  int64  // greatest discount of the entries that were not read
	cover  int64  // greatest subtotal that a coupon of the list covers, if no list before it has the coupon
	units  int64
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

// open finds the lists of the cart's and the customer's targets. It opens the lists with forms from first
// to last.
func (w *walk) open(first, last form) {
	w.sources, w.heap = w.sources[:0], w.heap[:0]
	w.items = w.items[:0]
	for i := range w.measures.met {
		switch m := &w.measures.met[i]; m.target.group {
		case ofItem:
			w.items = append(w.items, *m)
		case ofCategory:
			w.read(&m.target, m.hash, w.measures.total, first, last)
		case everything, ofClass, ofKind, ofCustomer:
			w.read(&m.target, m.hash, w.measures.total, first, last)
		}
	}
	w.readCustomer(first, last)
	slices.SortFunc(w.items, func(a, b met) int { return cmp.Compare(b.subtotal, a.subtotal) })
	// A coupon for several items of the cart is in several lists. The list of its greatest item is
	// enough. The other items of the coupon are then further down.
	var rest amounts
	for i := range w.items {
		rest.add(w.items[i].amounts)
	}
	for i := range w.items {
		m := &w.items[i]
		units := w.measures.total.units // items are not ordered by units
		w.read(&m.target, m.hash, amounts{rest.subtotal, units}, first, last)
		rest.subtotal -= m.subtotal
	}
	for i := len(w.heap)/2 - 1; i >= 0; i-- {
		w.sink(i)
	}
}

// readCustomer opens the lists of the customer's address and domain.
func (w *walk) readCustomer(first, last form) {
	a := &w.address
	if a.text != w.question.Customer.Email {
		a.text = w.question.Customer.Email
		a.own, a.domain = email.Entries(a.text)
	}
	for _, entry := range [...]string{a.own, a.domain} {
		if entry != "" {
			t := target{group: ofCustomer, text: entry}
			w.read(&t, t.hash(), w.measures.total, first, last)
		}
	}
}

// read opens the lists of a target.
func (w *walk) read(t *target, hash uint64, cover amounts, first, last form) {
	for i, s := range w.shelves {
		if s == nil {
			continue
		}
		at, found := s.label(t, hash)
		if !found {
			continue
		}
		for _, l := range s.labels.at(at).lists {
			if l.form < first || l.form > last {
				continue
			}
			w.sources = slices.Grow(w.sources, 1)[:len(w.sources)+1]
			src := &w.sources[len(w.sources)-1]
			src.root, src.shelf, src.form, src.cover, src.units = l.root, uint8(i), l.form, cover.subtotal, cover.units
			src.cursor.begin(l.root)
			src.last = src.cursor.leaf[0].key
			src.bound = w.boundOf(src.form, src.last, src.cover, src.units)
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
				s.last = e.key
				if b := w.boundOf(s.form, e.key, s.cover, s.units); b < s.bound {
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

// skip moves a source to the next key.
func (w *walk) skip(s *source) {
	if s.last == 0 {
		s.cursor.leaf, s.cursor.height = nil, 0
		return
	}
	s.cursor.start(s.root, rank{key: s.last - 1})
	if len(s.cursor.leaf) > 0 {
		s.last = s.cursor.leaf[0].key
		s.bound = min(s.bound, w.boundOf(s.form, s.last, s.cover, s.units))
	}
}

// candidate returns the coupon of an entry, unless it surely cannot be used or comes after a place.
func (w *walk) candidate(s *source, e *entry, worst place) (c *coupon.Coupon, bound int64) {
	if e.from > w.day || e.until < w.day || e.gate&w.gate.country == 0 || e.gate&w.gate.channel == 0 {
		return nil, 0
	}
	cover := w.measures.covered(e)
	if e.least > coarse(cover) {
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
