package offers

import (
	"cmp"
	"math"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// Set is a set of coupons that the customer can use together.
type Set struct {
	// Offers are the coupons, sorted by ID. Each Discount is what the coupon takes off in the set.
	Offers []Offer
	// Discount is what the set takes off the cart together with the coupons beside it, in minor units.
	Discount int64
	// Proved reports whether the search has shown that no other set takes more off.
	Proved bool
	// Complete reports whether the search ended before MaxNodes. The set is then proved, and the first of
	// the sets with its discount.
	Complete bool
	// Bound is an upper bound of the discount of every set. If Proved is true, Bound is Discount.
	Bound int64
	// Nodes is the number of nodes that the search has taken; see [SetOptions].
	Nodes int
}

// candidate is a coupon that may be in the best set.
type candidate struct {
	coupon *coupon.Coupon
	lane   pricing.Lane
	group  int  // position in groups
	share       // upper bounds of its discount in any set; the ratio is of what the item lane leaves of the cart
	known  bool // the coupon was evaluated alone
	out    bool // the coupon cannot be used, or is left out
	single bool // it was compared with its twins

	takes   []take // nil if they are not known
	even    bool   // the coupon can take the most of each line at once
	slice   bool   // the coupon takes a percentage of what the item lane has left of each line
	percent int64  // of each line, in parts of one
}

// setSearch is a search by branch and bound. Its memory is reused.
//
// The amount of a coupon in a set is at most its amount alone: coupons of the item lane see list prices,
// and coupons of the order lane see prices that other coupons have lowered. An exception is a coupon of the
// order lane that counts only some units, because other coupons can make its cheapest units free. Its bound
// is the bound of the index. Coupons of one lane take at most the sum of their bounds. A coupon of the order
// lane takes at most its ratio of what the item lane has left; see reach.
//
// Coupons for the same items are bound line by line; see lines.
//
// The search first considers the coupons that add most, until the greatest bounds that are left cannot make a better
// set. Then it considers the sets that may be equal, in the order of their IDs.
type setSearch struct {
	most, limit, nodes int
	total, step        int64 // the price of the goods, and the step of the cart
	ceiling            int64 // an upper bound of the discount of every coupon
	level              int64 // an upper bound of the bounds of all coupons that were not seen
	bound              int64 // an upper bound of the discounts of all sets
	checks, gains      int   // that were computed
	exhausted          bool
	critical           bool         // a candidate may exceed its budget
	twins              map[twin]int // positions of usable candidates
	once               bool         // of twins, only one is considered
	candidates         []candidate
	groups             map[string]int
	lanes              [2]groupBounds // of the item lane and the order lane
	chosen             []int
	pause              int        // the greatest number of nodes for now
	hurried            bool       // only few nodes are left, because no set can be better
	whole              bool       // every coupon that may be in a better set is a candidate
	equal              bool       // the search is for equal sets that come before the best set
	pools, orders      [][]ranked // by the number of chosen candidates
	beside             []eligibility.Candidate
	lines              lines
	byMost             []ranked // positions of candidates, the greatest bound first
	unseen             int64    // an upper bound of the bounds of all coupons that are no candidates
	base               int64    // the sum of the bounds of the coupons beside
	accept             func(*pricing.Quote) bool
	best               Set
	set                []eligibility.Candidate
	tried              []Offer
	result             eligibility.SetResult
}

// twin has what the bounds know of a coupon.
type twin struct {
	group int
	lane  pricing.Lane
	share share
}

// Set returns the best set of coupons that can be combined: the set with the greatest discount, then the
// set with the fewest coupons, then the set with the least IDs, compared one by one. A set counts only if
// [eligibility.EvaluateSet] allows all its coupons. The set is empty if the customer can use no coupon, or if no
// coupon takes anything off beside the others.
//
// Set returns a [*validation.Error] if the cart or an option is invalid, or if the coupons beside the set cannot be
// used together. The result is valid until the next search.
func (s *Search) Set(x *Index, q Query, o SetOptions) (Set, error) {
	if err := o.validate(); err != nil {
		return Set{}, err
	}
	alone, found, err := s.Best(x, q)
	if beside := len(o.Beside) > 0; err != nil || !beside && !found && s.mostBeside == 0 {
		return Set{Proved: err == nil, Complete: err == nil}, err
	}
	b := &s.sets
	b.begin(o, &s.cart, &s.walk.measures)
	s.query = q
	defer s.end()
	if err := s.putBeside(o.Beside); err != nil {
		return Set{}, err
	}
	if found && len(o.Beside) == 0 {
		b.best.Discount, b.best.Offers = alone.Discount, append(b.best.Offers, alone)
	}
	b.ceiling = min(b.total, s.mostInSets(x, alone))
	b.setLevel(b.ceiling)
	if b.most > 1 || len(o.Beside) > 0 {
		s.bestOfGroups(x)
		b.bound = b.reach(b.most)
		if b.bound <= b.best.Discount {
			b.lines.of = b.lines.of[:0] // sharper bounds cannot leave out equal sets
		}
		s.collect(x)
		b.sort()
		s.refine(0)
		s.climb()
	}
	return s.proved(), nil
}

// mostInSets returns an upper bound of the discount of every coupon in a set, after the search for the best coupon
// alone. The bound is the discount of the best coupon with a group. If coupons may take more beside others than
// alone, it is at least their greatest bound.
func (s *Search) mostInSets(x *Index, alone Offer) int64 {
	if alone.Coupon != nil && alone.Coupon.Group == "" {
		s.mostBeside, s.offers = 0, s.offers[:0]
		s.walk.begin(x, &s.cart, &s.walk.question)
		s.search(func(c *coupon.Coupon) bool { return c.Group != "" })
		if alone = (Offer{}); len(s.offers) > 0 {
			alone = s.offers[0]
		}
	}
	return max(alone.Discount, s.mostBeside)
}

// proved returns the best set with what the search has shown.
func (s *Search) proved() Set {
	b := &s.sets
	b.best.Complete, b.best.Nodes = !b.exhausted, b.nodes
	b.best.Bound = b.best.Discount
	if b.exhausted {
		b.best.Bound = max(b.best.Discount, b.bound)
	}
	b.best.Proved = b.best.Bound == b.best.Discount
	return b.best
}

func (b *setSearch) begin(o SetOptions, cart *pricing.Cart, m *measures) {
	b.most, b.limit, b.nodes = cmp.Or(o.MaxCoupons, DefaultMaxCoupons), cmp.Or(o.MaxNodes, DefaultMaxNodes), 1
	b.total, b.step, b.checks, b.gains, b.pause = m.total.subtotal, m.step, 0, 0, math.MaxInt
	b.candidates, b.chosen, b.byMost = b.candidates[:0], b.chosen[:0], b.byMost[:0]
	b.ceiling, b.level, b.bound = b.total, b.total, b.total
	for lane := range b.lanes {
		b.lanes[lane].sorted, b.lanes[lane].other = b.lanes[lane].sorted[:0], b.total
	}
	if b.groups == nil {
		b.groups = map[string]int{}
	}
	clear(b.groups)
	b.exhausted, b.hurried, b.critical, b.once, b.whole, b.equal = false, false, false, false, false, false
	b.beside, b.base, b.accept = b.beside[:0], 0, nil
	b.lines.begin(cart, b.total)
	b.best = Set{Offers: b.best.Offers[:0]}
}

// newCandidate returns a candidate with an upper bound of its discount.
func (b *setSearch) newCandidate(c *coupon.Coupon, most int64, in pricing.Currency) candidate {
	of := candidate{coupon: c, lane: c.Discount.Lane(), group: b.group(c.Group), share: share{min(most, b.ceiling), one}}
	if first, _, two := boundsOf(c, in); !two && of.lane == pricing.OrderLane {
		of.ratio = first.ratio
	}
	return of
}

// group returns the number of a group.
func (b *setSearch) group(name string) int {
	at, known := b.groups[name]
	if !known {
		at = len(b.groups)
		b.groups[name] = at
		for lane := range b.lanes {
			l := &b.lanes[lane]
			l.sorted = append(l.sorted, groupBound{group: at})
			l.rank = append(l.rank[:at], at)
			if at == len(l.shares) {
				l.shares = append(l.shares, nil)
			}
			l.shares[at] = l.shares[at][:0]
		}
	}
	return at
}

// spend counts a node. It returns false if there are no nodes left.
func (b *setSearch) spend() bool {
	if b.best.Discount >= b.bound && !b.hurried {
		b.hurried = true
		b.limit = min(b.limit, b.nodes+b.limit/100)
	}
	if b.nodes >= min(b.limit, b.pause) {
		b.exhausted = true
		return false
	}
	b.nodes++
	return true
}

// collect collects all coupons that may be in a set that is at least as good as the best one. It stops where
// no coupon that was not seen can be in such a set, even beside others that were not seen.
//
// Two coupons are twins if they have the same group and discount, and cover the same lines. A set with the twin of the
// lesser ID takes off as much as one with the other, and comes first. So other twins are left out. That would be wrong
// if a coupon could exceed its budget, because IDs decide who gets the last cent.
func (s *Search) collect(x *Index) {
	b := &s.sets
	level, bound := b.level, b.bound
	if b.critical || !s.collectWith(x, true) {
		b.level, b.bound = level, bound
		s.collectWith(x, false)
	}
}

// collectWith is collect with or without twins. It returns false if twins were left out wrongly.
func (s *Search) collectWith(x *Index, twins bool) bool {
	b := &s.sets
	b.candidates, b.lines.takes = b.candidates[:0], b.lines.takes[:0]
	const few = 4
	next := few
	if b.twins == nil {
		b.twins = map[twin]int{}
	}
	clear(b.twins)
	b.once = twins
	b.setLevel(b.level)
	least := max(1, b.best.Discount-b.reach(b.most-1))
	s.walk.begin(x, &s.cart, &s.walk.question)
	s.visit(func() place {
		if top := s.walk.top(); top < b.level {
			b.setLevel(top)
			least = max(least, b.best.Discount-b.reach(b.most-1))
		}
		return place{discount: least, id: anyID}
	}, func(c *coupon.Coupon, bound int64) bool {
		if c.Group == "" || !b.isCombinable(c) {
			return true
		}
		of := b.newCandidate(c, bound, s.cart.Currency)
		if b.lines.measure(&of, &s.cart); of.most < least {
			b.lines.forget(&of)
			return b.check()
		}
		if !b.check() || b.hurried && !b.spend() {
			return false
		}
		if !c.Limits.Budget.IsZero() {
			s.judge(&of)
		}
		s.raise(&of)
		if b.candidates = append(b.candidates, of); len(b.candidates) == next {
			least, next = max(least, s.refine(s.walk.top())), 2*next
		}
		return !twins || !b.critical
	})
	b.setLevel(0)
	return !twins || !b.critical
}

// isUsable judges a candidate. Of usable twins, only the one with the least ID stays.
func (s *Search) isUsable(at int) bool {
	b := &s.sets
	c := &b.candidates[at]
	if !c.known && !b.spend() {
		return false
	}
	if s.judge(c); !c.out && b.once && !c.single {
		c.single = true
		b.leaveOutTwin(at)
	}
	return !c.out
}

// leaveOutTwin leaves out the usable candidate or its twin.
func (b *setSearch) leaveOutTwin(at int) {
	c := &b.candidates[at]
	if !c.coupon.Limits.Budget.IsZero() {
		return
	}
	key := twin{c.group, c.lane, c.share}
	twin, known := b.twins[key]
	if !known {
		b.twins[key] = at
		return
	}
	other := &b.candidates[twin]
	switch {
	case !c.isTwinOf(other):
	case c.coupon.ID > other.coupon.ID:
		c.out = true
	default:
		other.out = true
		b.twins[key] = at
	}
}

func (c *candidate) isTwinOf(d *candidate) bool {
	return c.coupon.Discount.Equal(d.coupon.Discount) && c.coversAs(d) && c.coupon.Buys.Equal(d.coupon.Buys)
}

// sort leaves out candidates that cannot be in a set as good as the best one, and sorts the others by ID.
func (b *setSearch) sort() {
	for at := range b.candidates {
		b.chosen = append(b.chosen[:0], at)
		if c := &b.candidates[at]; !c.out && b.reach(b.most-1) < b.best.Discount {
			c.out = true
		}
	}
	b.chosen = b.chosen[:0]
	b.candidates = slices.DeleteFunc(b.candidates, func(c candidate) bool { return c.out })
	slices.SortFunc(b.candidates, func(a, c candidate) int { return cmp.Compare(a.coupon.ID, c.coupon.ID) })
	clear(b.twins)
	for at := range b.candidates {
		if c := &b.candidates[at]; c.single {
			b.leaveOutTwin(at)
		}
	}
}

// judge evaluates a coupon alone and lowers its bound.
func (s *Search) judge(c *candidate) {
	if c.known {
		return
	}
	c.known = true
	usage := s.usage(c.coupon)
	s.set[0] = eligibility.Candidate{Coupon: c.coupon, Usage: usage}
	if s.result.Reevaluate(s.set[:], s.cart, s.walk.question) != nil {
		c.out = true
		return
	}
	d := &s.result.Coupons[0]
	switch {
	case d.Decision.Allowed():
		if !countsSomeUnits(&c.coupon.Discount) {
			c.most = min(c.most, d.Discount)
			if c.lane == pricing.ItemLane {
				c.settle(&s.result.Quote)
			}
		} else if !c.coupon.Limits.Budget.IsZero() {
			s.sets.critical = true
		}
	case d.Decision.Without(coupon.BudgetExhausted).Allowed(): // with other coupons it may take less
		s.sets.critical = true
	default:
		c.out = true
	}
}

// countsSomeUnits reports whether the discount counts only some units at prices that other coupons have
// lowered.
func countsSomeUnits(d *pricing.Discount) bool {
	return d.Lane() == pricing.OrderLane && d.MaxUnits() > 0
}

// compareIDs compares the IDs of the chosen candidates with those at the beginning of the best set.
func (b *setSearch) compareIDs() int {
	for i, at := range b.chosen {
		if order := cmp.Compare(b.candidates[at].coupon.ID, b.best.Offers[i].Coupon.ID); order != 0 {
			return order
		}
	}
	return 0
}

// try evaluates the set of the chosen candidates, and keeps it if it is better than the best set.
func (s *Search) try() {
	b := &s.sets
	b.set = append(b.set[:0], b.beside...)
	for _, at := range b.chosen {
		c := b.candidates[at].coupon
		b.set = append(b.set, eligibility.Candidate{Coupon: c, Usage: s.usage(c)})
	}
	if b.result.Reevaluate(b.set, s.cart, s.walk.question) != nil {
		return
	}
	for i := range b.result.Coupons {
		if !b.result.Coupons[i].Decision.Allowed() {
			return
		}
	}
	discount := b.result.Quote.Discount
	order := cmp.Or(cmp.Compare(b.best.Discount, discount), cmp.Compare(len(b.chosen), len(b.best.Offers)))
	if order > 0 || b.accept != nil && !b.accept(&b.result.Quote) {
		return
	}
	b.tried = b.tried[:0]
	for i := range b.result.Coupons { // sorted by ID
		o := &b.result.Coupons[i]
		at := slices.IndexFunc(b.chosen, func(at int) bool { return b.candidates[at].coupon.ID == o.CouponID })
		if at >= 0 { // not beside
			b.tried = append(b.tried, Offer{b.candidates[b.chosen[at]].coupon, o.Discount})
		}
	}
	if order == 0 {
		order = slices.CompareFunc(b.tried, b.best.Offers, func(o, p Offer) int { return cmp.Compare(o.Coupon.ID, p.Coupon.ID) })
	}
	if order < 0 {
		b.best.Discount, b.best.Offers = discount, append(b.best.Offers[:0], b.tried...)
	}
}
