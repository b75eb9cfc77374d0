package offers

import (
	"math"
	"slices"

	"github.com/couponkit/couponkit/coupon"
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
	var has amounts
	for i := range cart.Lines {
		if of := &cart.Lines[i]; of.UnitPrice > 0 && c.coupon.Scope.Covers(of) {
			l.takes = append(l.takes, take{i, l.of[i].price})
			has.add(amounts{l.of[i].price, of.Quantity})
		}
	}
	c.takes = l.takes[first:len(l.takes):len(l.takes)]
	b, of := boundsIn(c.coupon, cart.Currency, has)
	sum, least := int64(0), int64(0)
	for i := range c.takes {
		t := &c.takes[i]
		slack := t.lower(&b, cart.Lines[t.line].Quantity, l.step)
		sum, least = sum+t.most, least+t.most-slack
	}
	c.most = min(c.most, b.cap, part(has.subtotal, b.ratio, l.step), sum)
	c.even, c.percent = c.most >= least, b.each
	if c.slice = c.lane == pricing.OrderLane && of == pricing.Percentage; c.slice {
		c.ratio = min(c.ratio, b.ratio)
	}
}

// boundsIn returns the bound of a coupon in a cart where it covers some amounts. The type is that of a discount that
// takes as much there: tiers are a percentage or an amount.
func boundsIn(c *coupon.Coupon, in pricing.Currency, has amounts) (b bound, of pricing.DiscountType) {
	b, _, _ = boundsOf(c, in)
	of = c.Discount.Type()
	switch {
	case of == pricing.Tiered:
		t := c.Discount.Terms()
		b.ratio, b.cap = one, t.MaxDiscount
		if b.cap == 0 {
			b.cap = math.MaxInt64
		}
		of = b.tier(&t, has)
		b.each = b.ratio
	case c.Discount.Simple():
		b.each = b.ratio
	}
	return b, of
}

// tier adds the highest tier that some amounts reach. It returns the type of discount that takes as much.
func (b *bound) tier(t *pricing.DiscountTerms, has amounts) pricing.DiscountType {
	basis := has.units
	if t.TierBasis == pricing.ByAmount {
		basis = has.subtotal
	}
	for _, tier := range slices.Backward(t.Tiers) {
		switch {
		case tier.From > basis:
		case tier.Percent.IsZero():
			b.cap = min(b.cap, tier.Amount)
			return pricing.FixedAmount
		default:
			b.ratio = tier.Percent.Of(one)
			return pricing.Percentage
		}
	}
	b.cap = 0
	return pricing.FixedAmount
}

// lower lowers what a coupon with a bound takes off a line. It returns what rounding may have added.
func (t *take) lower(b *bound, quantity, step int64) (slack int64) {
	switch {
	case b.each < one:
		slack = step // a coupon's amount and each line's share of it are rounded
		t.most = min(t.most, part(t.most, b.each, step)+slack)
	case b.unit < math.MaxInt64:
		t.most = min(t.most, product(b.unit, quantity))
	case b.price > 0:
		t.most = max(t.most-product(b.price, quantity), 0)
	}
	return slack
}

// settle gives a candidate of the item lane what it takes off each line in any set, from its quote alone.
func (c *candidate) settle(alone *pricing.Quote) {
	for i := range c.takes {
		c.takes[i].most = alone.Lines[c.takes[i].line].Discount
	}
	c.even = c.takes != nil
}

// coversAs reports whether two candidates cover the same lines that cost something.
func (c *candidate) coversAs(d *candidate) bool {
	if c.takes == nil || d.takes == nil {
		return c.coupon.Scope.Equal(d.coupon.Scope)
	}
	return slices.EqualFunc(c.takes, d.takes, func(t, u take) bool { return t.line == u.line })
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

// further returns an upper bound of what n coupons of groups without a chosen candidate add to the value: the
// greatest gains of different groups, or the bound of coupons that are no candidates yet.
func (b *setSearch) further(pool []ranked, n int) (sum int64) {
	if n == 0 {
		return 0
	}
	var kept [pricing.MaxCoupons]ranked
	for i := range n {
		kept[i] = ranked{-1, b.unseen}
	}
	for _, r := range pool {
		if r.gain <= kept[n-1].gain { //nolint:gosec // n is at most MaxCoupons
			break
		}
		c := &b.candidates[r.at]
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

// value puts the chosen candidates on the lines, those with a cap last.
func (b *setSearch) value() {
	b.lines.clear()
	for _, even := range [...]bool{true, false} {
		for _, at := range b.chosen {
			if c := &b.candidates[at]; c.even == even {
				b.lines.choose(c)
			}
		}
	}
}

// refine compares the candidates line by line, looks for good sets, and finds a lower bound of a coupon in a better set.
//
// unseen is an upper bound of the bounds of all coupons that are no candidates yet, but for those that cannot be in such
// a set.
func (s *Search) refine(unseen int64) (least int64) {
	b := &s.sets
	if len(b.lines.of) == 0 {
		return 0
	}
	b.first()
	b.unseen = min(unseen, b.ceiling)
	others := product(b.unseen, int64(b.most-1)) // an upper bound of all coupons of a set but one
	for i, r := range b.byMost {
		if b.most == 1 || plus(r.gain, product(max(b.byMost[0].gain, b.unseen), int64(b.most-2))) <= others {
			break
		}
		b.chosen = append(b.chosen[:0], r.at)
		b.value()
		others = max(others, plus(b.lines.value, b.further(b.byMost[i:], b.most-2)))
		if !b.check() {
			break
		}
	}
	b.chosen = b.chosen[:0]
	if b.exhausted {
		return 0
	}
	s.improve()
	return b.best.Discount - plus(b.base, others)
}

// improve looks for better sets of the candidates, for a while.
func (s *Search) improve() {
	const few, many = 32, 16
	b := &s.sets
	b.pause = b.nodes + few + len(b.byMost)/many
	b.equal = false
	s.extend(b.first())
	b.pause, b.chosen, b.exhausted = math.MaxInt, b.chosen[:0], b.nodes >= b.limit
}
