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
	narrow  []narrow
	all     bool // the lists of items and categories were opened
	first   form
	last    form
	address struct{ text, own, domain string }
}

// source is a list of one target that the walk reads.
type source struct {
	cursor cursor
	root   *node
	opened bool // the cursor is in the tree
	shelf  uint8
	form   form
	size   size
	whole  bool   // each coupon covers all goods
	last   uint32 // the key of bound
	bound  int64  // greatest discount of the entries that were not read
	cover  int64  // greatest subtotal of a coupon that only this list finds
	need   int64  // a coupon with the last key that covers less than need has a discount below reach
	reach  int64
}

// narrow is an item or a category of the cart with its lists in both shelves.
type narrow struct {
	labels [2]*label
	amounts
	covers [len(sizes) + 1]int64 // greatest subtotals of coupons by their size; see openNarrow
	worth  int64                 // the subtotal for each entry of the lists
}

// A place is the position of an offer in the order of offers. An entry that surely comes later is left
// out.
type place struct {
	discount int64
	id       uint64
}

// begin starts a walk for a valid cart.
func (w *walk) begin(x *Index, cart *pricing.Cart, q *eligibility.Question) {
	w.question, w.all = *q, false
	w.measures.take(cart)
	w.day = dayOf(q.At)
	w.gate.country, w.gate.channel = countryBit(q.Facts.Country), channelBit(q.Facts.Channel)
	w.seen.clear()
	w.shelves = [2]*shelf{x.shelf(cart.Currency), x.shelf(pricing.Currency{})}
}

func (x *Index) shelf(c pricing.Currency) *shelf {
	if x == nil {
		return nil
	}
	if at, found := slices.BinarySearchFunc(x.shelves, c, compareCurrency); found {
		return &x.shelves[at]
	}
	return nil
}

// open opens the lists of the cart's kinds and classes, and of the customer, with forms from first to last.
// openNarrow has to follow.
func (w *walk) open(first, last form) {
	w.sources, w.heap = w.sources[:0], w.heap[:0]
	w.first, w.last = first, last
	for i := range w.measures.met {
		if m := &w.measures.met[i]; m.target.group < ofItem {
			w.openWide(m.hash, m.target.group == everything)
		}
	}
	w.openCustomer()
	w.order()
}

// openWide opens the lists of a target of coupons that can cover the whole cart.
func (w *walk) openWide(hash uint64, everything bool) {
	first := len(w.sources)
	for i, l := range w.labelsOf(hash) {
		if l != nil {
			w.read(l, i, nil, 0)
		}
	}
	for i := range w.sources[first:] {
		s := &w.sources[first+i]
		s.whole = everything && s.size == 0
	}
}

func (w *walk) labelsOf(hash uint64) (of [2]*label) {
	for i, s := range w.shelves {
		if s == nil {
			continue
		}
		if _, at, found := s.label(hash); found {
			of[i] = s.labels.at(at)
		}
	}
	return of
}

// openNarrow opens the lists of the cart's items and categories. It leaves out lists that have no coupon
// before a place.
func (w *walk) openNarrow(worst place) {
	w.openGroup(ofItem, worst)
	w.openGroup(ofCategory, worst)
	w.order()
	w.all = true
}

// top returns an upper bound of the bounds of all coupons that were neither returned nor left out.
func (w *walk) top() int64 {
	switch {
	case !w.all:
		return w.measures.total.subtotal
	case len(w.heap) == 0:
		return 0
	}
	return w.sources[w.heap[0]].bound
}

// openGroup is openNarrow for items or categories.
//
// A coupon for several items of the cart is in several lists. It has to be found only in the first of them.
// So in a list it covers at most this item and those of the following lists. The longest lists come last,
// where coupons cover so little that most of these lists need not be read.
func (w *walk) openGroup(g group, worst place) {
	w.narrow = w.narrow[:0]
	for i := range w.measures.met {
		m := &w.measures.met[i]
		if m.target.group != g {
			continue
		}
		n := narrow{labels: w.labelsOf(m.hash), amounts: m.amounts}
		entries := 0
		for _, l := range n.labels {
			if l != nil {
				entries += l.entries
			}
		}
		if entries > 0 {
			n.worth = product(n.subtotal, 1024) / int64(entries)
			w.narrow = append(w.narrow, n)
		}
	}
	slices.SortFunc(w.narrow, func(a, b narrow) int { return cmp.Compare(b.worth, a.worth) })
	w.cover()
	for i := range w.narrow {
		n := &w.narrow[i]
		for at, l := range n.labels {
			if l != nil {
				w.read(l, at, &n.covers, worst.discount)
			}
		}
	}
}

// cover computes the covers: the subtotal of the target and the greatest subtotals of targets after it.
func (w *walk) cover() {
	const most = 19           // one less than the greatest size
	var after [most + 1]int64 // sorted, the greatest first
	known, rest := 0, int64(0)
	for i := range slices.Backward(w.narrow) {
		n := &w.narrow[i]
		sum, taken := n.subtotal, 0
		for size, targets := range sizes {
			for ; taken < min(targets-1, known); taken++ {
				sum = plus(sum, after[taken])
			}
			n.covers[size] = min(sum, w.measures.total.subtotal)
		}
		rest = plus(rest, n.subtotal)
		n.covers[len(sizes)] = min(rest, w.measures.total.subtotal)
		at := known
		for ; at > 0 && after[at-1] < n.subtotal; at-- {
			after[at] = after[at-1]
		}
		if at < most {
			after[at], known = n.subtotal, min(known+1, most)
		}
	}
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
			w.openWide(t.hash(), false)
		}
	}
}

// read opens the lists of a label whose bounds are not below the least. covers has the greatest subtotals
// by the size of coupons. If covers is nil, it is the subtotal of the cart.
func (w *walk) read(of *label, shelf int, covers *[len(sizes) + 1]int64, least int64) {
	for i := range of.lists {
		l := &of.lists[i]
		if l.form < w.first || l.form > w.last {
			continue
		}
		cover := w.measures.total.subtotal
		if covers != nil {
			cover = covers[l.size%ofCategories]
		}
		if cover < least {
			continue
		}
		bound := w.boundOf(l.form, l.top, cover, w.measures.total.units)
		if bound < least {
			continue
		}
		w.sources = slices.Grow(w.sources, 1)[:len(w.sources)+1]
		src := &w.sources[len(w.sources)-1]
		src.root, src.shelf, src.form, src.size, src.whole = l.root, uint8(shelf), l.form, l.size, false //nolint:gosec // 0 or 1
		src.cover, src.last, src.bound, src.reach = cover, l.top, bound, -1
		src.opened = false
		w.heap = append(w.heap, uint32(len(w.sources)-1)) //nolint:gosec // two shelves, few forms, few targets
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
	case byMinimum, byQuantity, byContents:
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
		if !s.opened { // few lists are read at all
			s.cursor.begin(s.root)
			s.opened = true
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
	cover := w.measures.covered(e, s.size)
	if s.reach != worst.discount {
		s.setNeed(worst.discount, w.measures.step)
	}
	if cover < s.need {
		return nil, 0
	}
	units := int64(0)
	if s.form == byUnit {
		units = w.measures.unitsOf(e, s.size)
	}
	bound = w.boundOf(s.form, e.key, cover, units)
	if bound < worst.discount || bound == worst.discount && e.id > worst.id {
		return nil, 0
	}
	of := w.shelves[s.shelf].coupons.ref(e.slot)
	if of.least > coarse(cover) || !w.admits(&of.hints) || !w.seen.add(uint64(s.shelf)<<32|uint64(e.slot)) || !w.isOpen(of.Coupon) {
		return nil, 0
	}
	return of.Coupon, bound
}

// admits reports whether the hints of a coupon allow the day and the facts.
func (w *walk) admits(h *hints) bool {
	return h.from <= w.day && h.until >= w.day && h.gate&w.gate.country != 0 && h.gate&w.gate.channel != 0
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
