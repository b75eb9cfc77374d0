package offers

import (
	"math"

	"github.com/couponkit/couponkit/pricing"
)

// groupBounds has the greatest bound of each group in a lane.
type groupBounds struct {
	sorted []groupBound // by bound, the greatest first
	rank   []int        // by group: its position in sorted
	shares [][]share    // by group: for each coupon that was seen, a share that is at least as great
	other  int64        // the greatest bound of coupons that were not seen, whatever their group
}

type groupBound struct {
	group int
	most  int64
}

// share is the greatest discount of a coupon, and its greatest part of what is left of the cart.
type share struct{ most, ratio int64 }

// of returns the greatest discount if some amount is left. slack is what rounding may add.
func (s share) of(left, slack, step int64) int64 {
	if s.ratio == one {
		return min(s.most, left)
	}
	return min(s.most, left, plus(part(left, s.ratio, step), slack))
}

// in returns the bounds of a lane.
func (b *setSearch) in(lane pricing.Lane) *groupBounds { return &b.lanes[lane-pricing.ItemLane] }

// raise raises the bound of a group.
func (l *groupBounds) raise(group int, most int64) {
	at := l.rank[group]
	if l.sorted[at].most >= most {
		return
	}
	l.sorted[at].most = most
	for ; at > 0 && l.sorted[at-1].most < most; at-- {
		l.sorted[at-1], l.sorted[at] = l.sorted[at], l.sorted[at-1]
		l.rank[l.sorted[at].group] = at
	}
	l.rank[group] = at
}

// reach returns an upper bound of the discount of a set with the chosen candidates, up to n other coupons and
// the coupons beside the set.
//
// The bound grows with the discount of the item lane, so that an upper bound of that discount can take its
// place: if the order lane takes less than all that is left, it loses less than the item lane takes more.
// Only rounding is lost, at most two steps for each coupon of the order lane.
func (b *setSearch) reach(n int) (most int64) {
	item := int64(0)
	for _, at := range b.chosen {
		if c := &b.candidates[at]; c.lane == pricing.ItemLane {
			item = plus(item, c.most)
		}
	}
	for items := 0; items <= n && most < b.total; items++ {
		taken := min(plus(item, b.rest(pricing.ItemLane, items, b.total, 0)), b.total)
		left, slack := b.total-taken, int64(0)
		if taken > 0 {
			slack = 2 * b.step
		}
		order := b.rest(pricing.OrderLane, n-items, left, slack)
		for _, at := range b.chosen {
			if c := &b.candidates[at]; c.lane == pricing.OrderLane {
				order = plus(order, c.of(left, slack, b.step))
			}
		}
		most = max(most, taken+min(left, order))
	}
	return min(b.total, plus(b.base, most))
}

// rest returns the sum of the greatest bounds of n groups in a lane if some amount is left. Of the groups of
// the chosen candidates, it takes none.
func (b *setSearch) rest(lane pricing.Lane, n int, left, slack int64) (sum int64) {
	if n == 0 {
		return 0
	}
	l := b.in(lane)
	other, known := min(l.other, left), 0
	var greatest [pricing.MaxCoupons]int64
	for _, g := range l.sorted {
		if g.most <= other || known == n && g.most <= greatest[n-1] {
			break
		}
		if b.hasGroup(g.group) {
			continue
		}
		value := other
		for _, s := range l.shares[g.group] {
			value = max(value, s.of(left, slack, b.step))
		}
		if known == n && greatest[n-1] >= value {
			continue
		}
		known = min(known+1, n)
		at := known - 1
		for ; at > 0 && greatest[at-1] < value; at-- {
			greatest[at] = greatest[at-1]
		}
		greatest[at] = value
	}
	for _, value := range greatest[:known] {
		sum = plus(sum, value)
	}
	return plus(sum, product(other, int64(n-known)))
}

// plus adds amounts that are not negative. A sum that is too large becomes math.MaxInt64.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// setLevel sets an upper bound of the bounds of all coupons that were not seen.
func (b *setSearch) setLevel(level int64) {
	b.level = min(b.level, level)
	for lane := range b.lanes {
		b.lanes[lane].other = b.level
	}
}

// kthOfLanes returns a bound for coupons in a set of the largest size. A coupon must exceed the bound to be one of
// the best in a lane. One lane with enough groups gives a bound.
func (b *setSearch) kthOfLanes() (least int64) {
	least = 1
	for lane := range b.lanes {
		if l := &b.lanes[lane]; len(l.sorted) >= b.most {
			least = max(least, l.sorted[b.most-1].most)
		}
	}
	return least
}
