package offers

import (
	"cmp"
	"math"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// DefaultMaxNodes is the value of [SetOptions].MaxNodes if it is 0.
const DefaultMaxNodes = 10_000

// SetOptions restricts a search for a set of coupons.
type SetOptions struct {
	// MaxCoupons is the maximum number of coupons of the set, from 1 to [pricing.MaxCoupons].
	MaxCoupons int
	// MaxNodes is the maximum number of coupons and of sets that the search considers. A MaxNodes of 0
	// means [DefaultMaxNodes].
	MaxNodes int
}

// Set is a set of coupons that the customer can use together.
type Set struct {
	// Offers are the coupons, sorted by ID. Each Discount is what the coupon takes off in the set.
	Offers []Offer
	// Discount is what the set takes off the cart, in minor units.
	Discount int64
	// Proved reports whether the search has shown that no other set takes more off.
	Proved bool
	// Complete reports whether the search ended before MaxNodes. The set is then proved, and the first of
	// the sets with its discount.
	Complete bool
	// Bound is an upper bound of the discount of every set. If Proved is true, Bound is Discount.
	Bound int64
	// Nodes is the number of coupons and of sets that the search has considered.
	Nodes int
}

// Gap returns the greatest amount by which another set may be better, in minor units.
func (s Set) Gap() int64 { return s.Bound - s.Discount }

// candidate is a coupon that may be in the best set.
type candidate struct {
	coupon *coupon.Coupon
	group  int   // position in groups
	most   int64 // an upper bound of its discount in any set
	known  bool  // the coupon was evaluated alone
	out    bool  // the coupon cannot be used
}

// setSearch is a search by branch and bound. Its memory is reused.
//
// The amount of a coupon in a set is at most its amount alone: coupons of the item lane see list prices,
// and coupons of the order lane see prices that other coupons have lowered. An exception is a coupon of the
// order lane that counts only some units, because other coupons can make its cheapest units free. Its bound
// is the bound of the index. So a set takes off at most the sum of the bounds of its coupons, and at most
// the price of the goods.
//
// The search considers sets in the order of their IDs. It skips all sets that begin with some coupons if
// the greatest bounds of other groups cannot make such a set better.
type setSearch struct {
	most, limit, nodes int
	exhausted          bool
	bounded            bool // the bounds of groups hold for all coupons
	candidates         []candidate
	groups             map[string]int
	bounds             []groupBound // sorted by bound, the greatest first
	rank               []int        // by group: its position in bounds
	chosen             []int
	beside             []eligibility.Candidate
	base               int64 // the sum of the bounds of the coupons beside
	accept             func(*pricing.Quote) bool
	best               Set
	set                []eligibility.Candidate
	tried              []Offer
	result             eligibility.SetResult
}

// groupBound is the greatest bound of the coupons of a group.
type groupBound struct {
	group int
	most  int64
}

// Set returns the best set of coupons that can be combined: the set with the greatest discount, then the
// set with the fewest coupons, then the set with the least IDs, compared one by one. A set counts only if
// [eligibility.EvaluateSet] allows all its coupons. The set is empty if the customer can use no coupon.
//
// Set returns a [*validation.Error] if the cart or an option is invalid. The result is valid until the next
// search.
func (s *Search) Set(x *Index, q Query, o SetOptions) (Set, error) {
	if err := o.validate(); err != nil {
		return Set{}, err
	}
	s.overBudget = false
	alone, found, err := s.Best(x, q)
	if err != nil || !found && !s.overBudget {
		return Set{Proved: err == nil, Complete: err == nil}, err
	}
	b := &s.sets
	b.begin(o)
	if found {
		b.best.Discount, b.best.Offers = alone.Discount, append(b.best.Offers, alone)
	}
	s.query = q
	defer s.end()
	if o.MaxCoupons > 1 {
		s.bestOfGroups(x)
		b.bounded = !b.exhausted
		s.collect(x)
		b.sort()
		s.descend(0)
	}
	return s.proved(), nil
}

// proved returns the best set with what the search has shown.
func (s *Search) proved() Set {
	b := &s.sets
	b.best.Complete, b.best.Nodes = !b.exhausted, b.nodes
	b.best.Bound = b.best.Discount
	if b.exhausted {
		b.best.Bound = s.walk.measures.total.subtotal
		if b.bounded {
			b.best.Bound = max(b.best.Discount, min(b.best.Bound, plus(b.base, b.rest(nil, b.most))))
		}
	}
	b.best.Proved = b.best.Bound == b.best.Discount
	return b.best
}

func (o SetOptions) validate() error {
	var faults validation.Error
	faults.Merge("", within("maxCoupons", o.MaxCoupons, pricing.MaxCoupons))
	if o.MaxNodes < 0 {
		faults.Add("maxNodes", validation.TooSmall, "must not be negative")
	}
	return faults.Err()
}

func (b *setSearch) begin(o SetOptions) {
	b.most, b.limit, b.nodes = o.MaxCoupons, cmp.Or(o.MaxNodes, DefaultMaxNodes), 1
	b.exhausted, b.bounded = false, false
	b.candidates, b.bounds, b.chosen = b.candidates[:0], b.bounds[:0], b.chosen[:0]
	if b.groups == nil {
		b.groups = map[string]int{}
	}
	clear(b.groups)
	b.beside, b.base, b.accept = b.beside[:0], 0, nil
	b.best = Set{Offers: b.best.Offers[:0]}
}

// group returns the number of a group.
func (b *setSearch) group(name string) int {
	at, known := b.groups[name]
	if !known {
		at = len(b.groups)
		b.groups[name] = at
		b.bounds = append(b.bounds, groupBound{group: at})
		b.rank = append(b.rank[:at], at)
	}
	return at
}

// raise raises the bound of a group.
func (b *setSearch) raise(group int, most int64) {
	at := b.rank[group]
	if b.bounds[at].most >= most {
		return
	}
	b.bounds[at].most = most
	for ; at > 0 && b.bounds[at-1].most < most; at-- {
		b.bounds[at-1], b.bounds[at] = b.bounds[at], b.bounds[at-1]
		b.rank[b.bounds[at].group] = at
	}
	b.rank[group] = at
}

// rest returns the sum of the greatest bounds of n groups. Of the groups of the candidates used, it takes
// none.
func (b *setSearch) rest(used []int, n int) (sum int64) {
	for i := 0; i < len(b.bounds) && n > 0; i++ {
		group := b.bounds[i].group
		if slices.ContainsFunc(used, func(at int) bool { return b.candidates[at].group == group }) {
			continue
		}
		sum = plus(sum, b.bounds[i].most)
		n--
	}
	return sum
}

// plus adds amounts that are not negative. A sum that is too large becomes math.MaxInt64.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// spend counts a node. It returns false if there are no nodes left.
func (b *setSearch) spend() bool {
	if b.nodes >= b.limit {
		b.exhausted = true
		return false
	}
	b.nodes++
	return true
}

// bestOfGroups finds the groups with the greatest bounds. A set of their best coupons is the first to
// beat.
func (s *Search) bestOfGroups(x *Index) {
	b := &s.sets
	s.walk.begin(x, &s.cart, &s.walk.question)
	s.visit(func() place {
		if len(b.bounds) < b.most {
			return place{discount: 1, id: anyID}
		}
		return place{discount: b.bounds[b.most-1].most} // no coupon with an equal bound
	}, func(c *coupon.Coupon, bound int64) bool {
		if c.Group == "" {
			return true
		}
		if !b.spend() {
			return false
		}
		own := candidate{coupon: c, most: bound}
		if s.judge(&own); own.out {
			return true
		}
		own.group = b.group(c.Group)
		if own.most > b.bounds[b.rank[own.group]].most {
			b.candidates = slices.DeleteFunc(b.candidates, func(c candidate) bool { return c.group == own.group })
			b.candidates = append(b.candidates, own)
			b.raise(own.group, own.most)
		}
		return true
	})
	slices.SortFunc(b.candidates, func(a, c candidate) int {
		return cmp.Or(cmp.Compare(c.most, a.most), cmp.Compare(a.coupon.ID, c.coupon.ID))
	})
	for n := 2; n <= min(b.most, len(b.candidates)); n++ {
		b.chosen = append(b.chosen[:0], make([]int, n)...)
		for i := range b.chosen {
			b.chosen[i] = i
		}
		s.try()
	}
	b.chosen = b.chosen[:0]
}

// collect collects all coupons that may be in a set that is better than the best one.
func (s *Search) collect(x *Index) {
	b := &s.sets
	b.candidates = b.candidates[:0]
	least := max(1, b.best.Discount-b.rest(nil, b.most-1))
	s.walk.begin(x, &s.cart, &s.walk.question)
	s.visit(func() place { return place{discount: least, id: anyID} }, func(c *coupon.Coupon, bound int64) bool {
		if c.Group == "" {
			return true
		}
		if !b.spend() {
			return false
		}
		b.candidates = append(b.candidates, candidate{coupon: c, group: b.group(c.Group), most: bound})
		return true
	})
	for i := range b.candidates {
		// A bound of the index may be above the bounds of coupons that were evaluated. It counts only
		// if the coupon is needed.
		c := &b.candidates[i]
		if rank := b.rank[c.group]; c.most > b.bounds[rank].most {
			s.judge(c)
		}
		if !c.out {
			b.raise(c.group, c.most)
		}
	}
}

// sort sorts the candidates by ID.
func (b *setSearch) sort() {
	slices.SortFunc(b.candidates, func(a, c candidate) int { return cmp.Compare(a.coupon.ID, c.coupon.ID) })
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
		}
	case d.Decision.Without(coupon.BudgetExhausted).Allowed(): // with other coupons it may take less
	default:
		c.out = true
	}
}

// countsSomeUnits reports whether the discount counts only some units at prices that other coupons have
// lowered.
func countsSomeUnits(d *pricing.Discount) bool {
	return d.Lane() == pricing.OrderLane && !d.Simple() && d.Terms().MaxUnits > 0
}

// descend tries all sets that begin with the chosen candidates and go on with candidates from first on.
func (s *Search) descend(first int) {
	b := &s.sets
	sum := b.base
	for _, at := range b.chosen {
		sum = plus(sum, b.candidates[at].most)
	}
	for at := first; at < len(b.candidates); at++ {
		c := &b.candidates[at]
		if c.out || slices.ContainsFunc(b.chosen, func(other int) bool { return b.candidates[other].group == c.group }) {
			continue
		}
		b.chosen = append(b.chosen, at)
		if s.mayWin(sum, c) {
			s.judge(c)
			if !c.out && s.mayWin(sum, c) {
				if !b.spend() {
					return
				}
				if plus(sum, c.most) >= b.best.Discount {
					s.try()
				}
				if len(b.chosen) < b.most {
					s.descend(at + 1)
				}
			}
		}
		if b.exhausted {
			return
		}
		b.chosen = b.chosen[:len(b.chosen)-1]
	}
}

// mayWin reports whether a set that begins with the chosen candidates may be better than the best set. The
// sum is that of the bounds of all chosen candidates but the last.
func (s *Search) mayWin(sum int64, last *candidate) bool {
	b := &s.sets
	sum = plus(sum, last.most)
	reach := func(size int) int64 {
		return min(s.walk.measures.total.subtotal, plus(sum, b.rest(b.chosen, size-len(b.chosen))))
	}
	size := len(b.best.Offers)
	switch most := reach(b.most); {
	case most != b.best.Discount:
		return most > b.best.Discount
	case len(b.chosen) > size:
		return false
	case b.compareIDs() <= 0:
		return true
	}
	return len(b.chosen) < size && reach(size-1) >= b.best.Discount
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
