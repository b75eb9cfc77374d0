package offers

import (
	"cmp"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// bestOfGroups finds the groups with the greatest bounds. Sets of their best coupons are the first to beat.
func (s *Search) bestOfGroups(x *Index) {
	b := &s.sets
	enough := b.nodes + max(1, b.limit/32)
	level := int64(-1)
	s.walk.begin(x, &s.cart, &s.walk.question)
	s.visit(func() place {
		return place{discount: b.kthOfLanes()} // no coupon with an equal bound
	}, func(c *coupon.Coupon, bound int64) bool {
		if c.Group == "" || !b.isCombinable(c) {
			return true
		}
		own := b.newCandidate(c, bound, s.cart.Currency)
		if isNarrow(&c.Scope) {
			b.lines.measure(&own, &s.cart)
			if own.most <= b.kthOfLanes() && b.check() {
				b.lines.forget(&own)
				return true
			}
		}
		if !b.spend() || b.nodes > enough {
			level = s.walk.top()
			return false
		}
		if s.raise(&own) {
			b.candidates = append(b.candidates, own)
		}
		return true
	})
	if level < 0 {
		level = b.kthOfLanes()
	}
	b.setLevel(level)
	s.tryBestSets()
}

// tryBestSets tries the sets of the candidates with the greatest bounds, for each number of coupons in each lane.
func (s *Search) tryBestSets() {
	b := &s.sets
	slices.SortFunc(b.candidates, func(a, c candidate) int {
		return cmp.Or(cmp.Compare(c.most, a.most), cmp.Compare(a.coupon.ID, c.coupon.ID))
	})
	for n := 2; n <= b.most; n++ {
		for items := range n + 1 {
			s.tryBest(items, n-items)
		}
	}
	b.chosen = b.chosen[:0]
}

// raise raises the bounds of a candidate's group. It returns false if they stay. A bound of the index may be
// above the bounds of coupons that were evaluated. It counts only if the coupon is needed.
func (s *Search) raise(c *candidate) bool {
	l := s.sets.in(c.lane)
	known := func(o share) bool { return o.most >= c.most && o.ratio >= c.ratio }
	if slices.ContainsFunc(l.shares[c.group], known) {
		return false
	}
	if s.judge(c); c.out || slices.ContainsFunc(l.shares[c.group], known) {
		return false
	}
	l.shares[c.group] = append(slices.DeleteFunc(l.shares[c.group], func(o share) bool {
		return c.most >= o.most && c.ratio >= o.ratio
	}), c.share)
	l.raise(c.group, c.most)
	return true
}

// tryBest tries the set of the best coupons of different groups in both lanes.
func (s *Search) tryBest(items, orders int) {
	b := &s.sets
	b.chosen = b.chosen[:0]
	for at := range b.candidates {
		c := &b.candidates[at]
		left := &items
		if c.lane == pricing.OrderLane {
			left = &orders
		}
		if *left > 0 && !b.hasGroup(c.group) {
			*left--
			b.chosen = append(b.chosen, at)
		}
	}
	if items+orders == 0 {
		s.try()
	}
}
