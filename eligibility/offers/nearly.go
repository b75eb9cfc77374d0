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

// NearOptions restricts a search for coupons that the customer nearly gets.
type NearOptions struct {
	// Most is the maximum number of results, at most [MaxOffers]. A Most of 0 means [MaxOffers].
	Most int
	// From is the part of a minimum that the cart must have reached. With 80 %, a minimum of 50.00 is
	// shown from 40.00 on. With the zero Percent, a coupon is shown as soon as it covers a unit of the
	// cart.
	From pricing.Percent
	// Beside are the coupons that the customer uses for the cart. A coupon that cannot be combined with
	// one of them is not shown.
	Beside []*coupon.Coupon
}

// Near is a coupon that the customer gets by buying a little more. Either Missing or Pieces is above 0.
type Near struct {
	Coupon *coupon.Coupon
	// Missing is the amount to add, in minor units. One further unit at this price, of the same item as
	// the first line that the coupon covers, meets the minimum purchase. A lower price does not. In a cart
	// with a step, Missing is rounded up to a step.
	Missing int64
	// Contained is true if the coupon requires the amount of certain units; see [coupon.Conditions].Contains.
	// The further unit is then of the same item as the first line with such units. The coupon may not cover
	// it.
	Contained bool
	// Pieces is the number of units to add. So many further units of the cheapest line that the coupon
	// covers, or of the first such line, meet the minimum quantity and let a [pricing.BuyXGetY] discount apply.
	// Fewer units do not.
	Pieces int64
	// Discount is what the coupon alone then takes off the cart, in minor units.
	Discount int64
	// ShownFrom is the eligible subtotal in minor units, or the number of eligible units, from which the
	// coupon is shown. If Contained is true, it is the list price of the required units.
	ShownFrom int64
}

// compare orders results: the greatest discount first, then the least ID.
func (n Near) compare(m Near) int {
	return cmp.Or(cmp.Compare(m.Discount, n.Discount), cmp.Compare(n.Coupon.ID, m.Coupon.ID))
}

// nearSearch has the memory of a search for coupons that the customer nearly gets.
type nearSearch struct {
	found []Near
	lines []pricing.Line
}

// Nearly returns the coupons that the customer gets by adding an amount or some units. Only one of the coupon's
// [eligibility.Minimums] or the amount of required units is not met. The coupon with the greatest discount after the
// addition comes first, then the one with the least ID. The result has no coupon that is refused for another reason,
// that lacks an amount and units, or that covers no unit of the cart with a price above 0. A cart without a required
// unit is not near their amount.
//
// The time depends on the coupons with a minimum within reach. Nearly returns a [*validation.Error] if the
// cart is invalid, or Most is out of bounds. The result is valid until the next search.
func (s *Search) Nearly(x *Index, q Query, o NearOptions) ([]Near, error) {
	var faults validation.Error
	o.Most = cmp.Or(o.Most, MaxOffers)
	faults.Merge("", within("most", o.Most, MaxOffers))
	faults.Merge("", noneMissing("beside", o.Beside))
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if err := s.begin(x, &q); err != nil {
		return nil, err
	}
	defer s.end()
	s.near.found = s.near.found[:0]
	if !s.mayHaveCoupons() {
		return nil, nil
	}
	s.visitHeld(func(c *coupon.Coupon, _ int64) bool {
		s.approach(c, &o)
		return true
	})
	s.walk.open(byMinimum, byContents)
	s.walk.openNarrow(place{})
	for i := range s.walk.sources {
		s.nearIn(&s.walk.sources[i], &o)
	}
	return s.near.found, nil
}

// reach returns the greatest threshold that is shown from a value on.
func (o *NearOptions) reach(value int64) int64 {
	if o.From.IsZero() || value > math.MaxInt64/one {
		return math.MaxInt64
	}
	return value * one / o.From.Of(one)
}

// from returns the least value from which a threshold is shown.
func (o *NearOptions) from(threshold int64) int64 {
	if o.From.IsZero() {
		return 0
	}
	least := o.From.Of(threshold)
	for least > 0 && o.reach(least-1) >= threshold {
		least--
	}
	for o.reach(least) < threshold {
		least++
	}
	return least
}

// nearIn looks at the coupons of a list with a threshold within reach.
func (s *Search) nearIn(src *source, o *NearOptions) {
	w := &s.walk
	most := src.cover
	switch src.form { //nolint:exhaustive // the covered amount
	case byQuantity:
		most = w.measures.total.units
	case byContents: // any goods may be required
		most = w.measures.total.subtotal
	}
	src.cursor.begin(src.root)
	if src.whole && src.form != byContents { // the coupons cover all goods, and lower thresholds are met
		if key := ^saturated(most); key > 0 {
			src.cursor.start(src.root, rank{key: key - 1})
		}
	}
	for ; len(src.cursor.leaf) > 0; src.cursor.advance() {
		for i := range src.cursor.leaf {
			e := &src.cursor.leaf[i]
			threshold := int64(^e.key)
			if threshold > o.reach(most) {
				return
			}
			value := w.measures.covered(e, src.size)
			switch {
			case src.form == byQuantity:
				value = w.measures.unitsOf(e, src.size)
			case src.form == byContents && value > 0:
				value = most
			}
			if value == 0 || threshold > o.reach(value) {
				continue
			}
			c := w.shelves[src.shelf].coupons.ref(e.slot)
			if w.admits(&c.hints) && w.seen.add(uint64(src.shelf)<<32|uint64(e.slot)) && w.isOpen(c.Coupon) {
				s.approach(c.Coupon, o)
			}
		}
	}
}

// approach adds a coupon to the results if the customer nearly gets it.
func (s *Search) approach(c *coupon.Coupon, o *NearOptions) {
	for _, used := range o.Beside {
		if used.ID == c.ID || !pricing.Combinable(used.Group, c.Group) {
			return
		}
	}
	near := s.lacking(c, o)
	if near.Missing == 0 && near.Pieces == 0 {
		return
	}
	if near.Discount = s.discountAfter(&near); near.Discount == 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(s.near.found, near, Near.compare)
	if at == o.Most {
		return
	}
	if len(s.near.found) == o.Most {
		s.near.found = s.near.found[:o.Most-1]
	}
	s.near.found = slices.Insert(s.near.found, at, near)
}

// lacking returns a coupon with what the cart lacks to one of its minimums. It returns nothing to add if the
// cart lacks nothing or several things, or has not reached enough of the minimum.
func (s *Search) lacking(c *coupon.Coupon, o *NearOptions) (near Near) {
	minimum, quantity := eligibility.Minimums(c, s.cart.Currency)
	has := s.coveredBy(&c.Scope)
	lacksAmount, lacksUnits := has.subtotal < minimum, has.units < quantity
	near.Coupon = c
	switch {
	case has.units == 0 || lacksAmount && lacksUnits:
	case lacksAmount:
		near.lack(minimum, has.subtotal, s.walk.measures.step, o)
	case lacksUnits:
		if near.ShownFrom = o.from(quantity); has.units >= near.ShownFrom {
			near.Pieces = quantity - has.units
		}
	default:
		required := s.coveredBy(&c.Conditions.Contains.Scope)
		if least := s.leastContained(c); required.units > 0 && required.subtotal < least {
			near.Contained = true
			near.lack(least, required.subtotal, s.walk.measures.step, o)
		}
	}
	return near
}

// lack sets what an amount lacks to a minimum, in steps, unless it has not reached enough of the minimum.
func (n *Near) lack(minimum, has, step int64, o *NearOptions) {
	if n.ShownFrom = o.from(minimum); has < n.ShownFrom {
		return
	}
	n.Missing = minimum - has
	if over := n.Missing % step; over > 0 {
		n.Missing += step - over
	}
}

// coveredBy returns the amounts of the lines that a scope covers.
func (s *Search) coveredBy(scope *coupon.Scope) (has amounts) {
	for i := range s.cart.Lines {
		if l := &s.cart.Lines[i]; l.UnitPrice > 0 && scope.Covers(l) {
			has.add(amounts{l.UnitPrice * l.Quantity, l.Quantity})
		}
	}
	return has
}

// discountAfter returns what a coupon takes off after the addition. It returns 0 if the coupon can be used
// without the addition, or cannot be used with it.
func (s *Search) discountAfter(n *Near) int64 {
	usage := s.usage(n.Coupon)
	s.set[0] = eligibility.Candidate{Coupon: n.Coupon, Usage: usage}
	if s.result.Reevaluate(s.set[:], s.cart, s.walk.question) != nil || s.result.Coupons[0].Decision.Allowed() {
		return 0
	}
	cart := s.cart
	s.near.lines = append(s.near.lines[:0], cart.Lines...)
	cart.Lines = s.near.lines
	scope, at := &n.Coupon.Scope, -1
	if n.Contained {
		scope = &n.Coupon.Conditions.Contains.Scope
	}
	for i := range cart.Lines {
		l := &cart.Lines[i]
		if l.UnitPrice == 0 || !scope.Covers(l) {
			continue
		}
		if at < 0 || n.Pieces > 0 && l.UnitPrice < cart.Lines[at].UnitPrice {
			at = i
		}
	}
	if n.Pieces > 0 {
		cart.Lines[at].Quantity += n.Pieces
	} else {
		added := cart.Lines[at]
		added.Quantity, added.UnitPrice = 1, n.Missing
		s.near.lines = append(s.near.lines, added)
		cart.Lines = s.near.lines
	}
	if s.result.Reevaluate(s.set[:], cart, s.walk.question) != nil || !s.result.Coupons[0].Decision.Allowed() {
		return 0
	}
	return s.result.Coupons[0].Discount
}
