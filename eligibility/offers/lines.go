package offers

import (
	"cmp"
	"slices"

	"github.com/couponkit/couponkit/pricing"
)

// lines bound the discount of a set line by line: no coupon takes more off a line than others have left of it.
// So coupons for the same items are worth less together than the sum of their discounts.
//
// The value of chosen coupons is an upper bound of their discount. A further coupon adds at most its gain, which
// only becomes less when other coupons are chosen. So the value and the greatest gains of other groups bound every
// set with the chosen coupons.
type lines struct {
	step  int64
	of    []lineValue // by position in the cart
	takes []take      // of the candidates, one candidate after another
	value int64       // of the chosen coupons
}

// lineValue is a line of the cart with what chosen coupons take off at most.
type lineValue struct {
	price int64 // of all units
	off   int64 // what coupons of the item lane take
	ratio int64 // what coupons of the order lane take of the rest, in parts of one
}

// take is what a coupon takes off a line at most, alone.
type take struct {
	line int
	most int64
}

// These constants are upper bounds of what lines measures. Products of amounts and ratios then fit an int64, and
// the memory of a search stays small. Beyond them, lines do not restrict the bounds.
const (
	mostOfLines = 1 << 42
	mostTakes   = 1 << 18
)

// begin prepares the lines for a cart. A cart that is too large has none.
func (l *lines) begin(cart *pricing.Cart, total int64) {
	l.of, l.takes, l.step = l.of[:0], l.takes[:0], max(cart.Step, 1)
	if total > mostOfLines {
		return
	}
	for i := range cart.Lines {
		l.of = append(l.of, lineValue{price: cart.Lines[i].UnitPrice * cart.Lines[i].Quantity})
	}
}

// clear forgets the chosen coupons.
func (l *lines) clear() {
	l.value = 0
	for i := range l.of {
		l.of[i].off, l.of[i].ratio = 0, 0
	}
}

// measure measures what a candidate takes off each line, and lowers the bound of its discount.
func (l *lines) measure(c *candidate, cart *pricing.Cart) {
	first := len(l.takes)
	if len(l.of) == 0 || first+len(cart.Lines) > mostTakes {
		return
	}
	b, second, two := boundsOf(c.coupon, cart.Currency)
	kind := c.coupon.Discount.Type()
	has, sum, least := int64(0), int64(0), int64(0)
	for i := range cart.Lines {
		of := &cart.Lines[i]
		if of.UnitPrice == 0 || !c.coupon.Scope.Covers(of) {
			continue
		}
		t := take{i, l.of[i].price}
		has += t.most
		switch kind { //nolint:exhaustive // the other types may take a whole line
		case pricing.Percentage:
			most := part(t.most, b.ratio, l.step)
			least += most - l.step
			t.most = min(t.most, most+l.step) // a coupon's amount and each line's share of it are rounded
		case pricing.FixedAmountPerUnit:
			t.most = min(t.most, product(b.unit, of.Quantity))
			least += t.most
		case pricing.FixedUnitPrice:
			t.most = max(t.most-product(b.price, of.Quantity), 0)
			least += t.most
		default:
			least += t.most
		}
		sum += t.most
		l.takes = append(l.takes, t)
	}
	most := min(b.cap, part(has, b.ratio, l.step))
	if two {
		most = max(most, min(second.cap, part(has, second.ratio, l.step)))
	}
	c.most = min(c.most, most, sum)
	c.takes = l.takes[first:len(l.takes):len(l.takes)]
	c.even, c.percent = c.most >= least, b.ratio
	c.slice = c.lane == pricing.OrderLane && kind == pricing.Percentage
}

// forget forgets the lines of the candidate that was measured last.
func (l *lines) forget(c *candidate) { l.takes = l.takes[:len(l.takes)-len(c.takes)] }

// gain returns what a candidate adds at most to the value of the chosen coupons.
func (l *lines) gain(c *candidate) int64 {
	if c.takes == nil {
		return c.most
	}
	return min(c.most, l.all(c))
}

// all returns what the lines of a candidate add at most.
func (l *lines) all(c *candidate) (sum int64) {
	for i := range c.takes {
		t := &c.takes[i]
		of := &l.of[t.line]
		left := of.price - of.off
		switch {
		case c.slice:
			sum += min(scaled(left, min(c.percent, one-of.ratio))+l.step*3/2, scaled(left, one-of.ratio))
		case c.lane == pricing.OrderLane:
			sum += min(scaled(left, one-of.ratio), t.most)
		default:
			sum += scaled(min(left, t.most), one-of.ratio)
		}
	}
	return sum
}

// scaled returns a ratio of an amount, rounded up.
func scaled(amount, ratio int64) int64 { return (amount*ratio + one - 1) / one }

// choose adds a candidate to the chosen coupons. What a coupon with a cap takes off each line is open, so that it
// takes nothing from the gains of others.
func (l *lines) choose(c *candidate) {
	if c.takes == nil || !c.even || c.lane == pricing.OrderLane && !c.slice {
		l.value += l.gain(c)
		return
	}
	l.value += l.all(c)
	for i := range c.takes {
		t := &c.takes[i]
		if of := &l.of[t.line]; c.slice {
			of.ratio = min(of.ratio+c.percent, one)
		} else {
			of.off = min(of.off+t.most, of.price)
		}
	}
}

// ranked is a group or a candidate with its greatest gain.
type ranked struct {
	at   int
	gain int64
}

// further returns an upper bound of what n coupons of groups without a chosen candidate add to the value: the
// greatest gains of different groups, or the bound of coupons that are no candidates yet.
func (b *setSearch) further(n int) (sum int64) {
	if n == 0 {
		return 0
	}
	var kept [pricing.MaxCoupons]ranked
	for i := range n {
		kept[i] = ranked{-1, b.unseen}
	}
	for i := range b.byMost {
		if b.byMost[i].gain <= kept[n-1].gain { //nolint:gosec // n is at most MaxCoupons
			break
		}
		c := &b.candidates[b.byMost[i].at]
		if c.out || b.hasGroup(c.group) {
			continue
		}
		gain, at := b.lines.gain(c), n-1
		if same := slices.IndexFunc(kept[:n], func(k ranked) bool { return k.at == c.group }); same >= 0 {
			at = same
		}
		if gain <= kept[at].gain {
			continue
		}
		for ; at > 0 && kept[at-1].gain < gain; at-- {
			kept[at] = kept[at-1]
		}
		kept[at] = ranked{c.group, gain}
	}
	for _, k := range kept[:n] {
		sum = plus(sum, k.gain)
	}
	return sum
}

// hasGroup reports whether a chosen candidate has the group.
func (b *setSearch) hasGroup(group int) bool {
	return slices.ContainsFunc(b.chosen, func(at int) bool { return b.candidates[at].group == group })
}

// value puts the chosen candidates on the lines.
func (b *setSearch) value() {
	b.lines.clear()
	for _, at := range b.chosen {
		b.lines.choose(&b.candidates[at])
	}
}

// within returns an upper bound, as reach does, from the lines.
func (b *setSearch) within(n int) int64 {
	b.value()
	return min(b.total, plus(b.base, plus(b.lines.value, b.further(n))))
}

// gainsFrom returns the gains of the candidates from first on, and an upper bound of the rest: of the chosen
// candidates and of those that follow one of these. The gains are nil if no candidate is chosen.
func (b *setSearch) gainsFrom(first int) (gains []int64, rest int64) {
	depth := len(b.chosen)
	if depth == 0 || len(b.byMost) == 0 {
		return nil, 0
	}
	for len(b.gains) <= depth {
		b.gains = append(b.gains, nil)
	}
	b.value()
	rest = plus(b.base, plus(b.lines.value, b.further(b.most-depth-1)))
	gains = slices.Grow(b.gains[depth][:0], len(b.candidates))[:len(b.candidates)]
	b.gains[depth] = gains
	for at := first; at < len(gains); at++ {
		c := &b.candidates[at]
		if gains[at] = c.most; !c.out && plus(c.most, rest) >= b.best.Discount {
			gains[at] = b.lines.gain(c)
		}
	}
	return gains, rest
}

// refine compares the candidates line by line. It leaves out those that cannot be in a set as good as the best one,
// tries a good set, and finds a lower bound of a coupon in a better set.
//
// unseen is an upper bound of the bounds of all coupons that are no candidates yet, but for those that cannot be in such
// a set.
func (s *Search) refine(unseen int64) (least int64) {
	b := &s.sets
	if len(b.lines.of) == 0 {
		return 0
	}
	b.byMost, b.unseen = b.byMost[:0], min(unseen, b.ceiling)
	for at := range b.candidates {
		if !b.candidates[at].out {
			b.byMost = append(b.byMost, ranked{at, b.candidates[at].most})
		}
	}
	slices.SortFunc(b.byMost, func(a, c ranked) int { return cmp.Or(cmp.Compare(c.gain, a.gain), cmp.Compare(a.at, c.at)) })
	others, bound, start := product(b.unseen, int64(b.most-1)), plus(b.base, product(b.unseen, int64(b.most))), -1
	for _, c := range slices.Backward(b.byMost) {
		b.chosen = append(b.chosen[:0], c.at)
		b.value()
		most := plus(b.base, plus(b.lines.value, b.further(b.most-1)))
		if most < b.best.Discount {
			b.candidates[c.at].out = true
			continue
		}
		if most > bound {
			bound, start = most, c.at
		}
		if b.most > 1 {
			others = max(others, plus(b.lines.value, b.further(b.most-2)))
		}
		if !b.check() {
			break
		}
	}
	b.chosen = b.chosen[:0]
	if b.exhausted {
		return 0
	}
	b.bound = min(b.bound, max(bound, b.best.Discount))
	if start >= 0 {
		s.tryFrom(start)
	}
	return b.best.Discount - plus(b.base, others)
}

// tryFrom tries the set of a candidate and those that add the greatest gains.
func (s *Search) tryFrom(at int) {
	b := &s.sets
	for at >= 0 && len(b.chosen) < b.most {
		if s.judge(&b.candidates[at]); !b.candidates[at].out {
			b.chosen = append(b.chosen, at)
		}
		b.value()
		at = -1
		greatest := int64(0)
		for i := range b.byMost {
			if b.byMost[i].gain <= greatest {
				break
			}
			c := &b.candidates[b.byMost[i].at]
			if c.out || b.hasGroup(c.group) {
				continue
			}
			if gain := b.lines.gain(c); gain > greatest {
				at, greatest = b.byMost[i].at, gain
			}
		}
	}
	if len(b.chosen) > 0 && b.spend() {
		s.try()
	}
	b.chosen = b.chosen[:0]
}
