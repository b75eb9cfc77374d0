package offers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// MaxOffers is the maximum number of offers of one search.
const MaxOffers = 1_000

// Query is what a search asks for.
type Query struct {
	// Cart is the cart of the customer.
	Cart pricing.Cart
	// Question has the time, the customer and the facts of the purchase. Its Usage, Code, MirrorInvalid
	// and Conflicts are ignored.
	Question eligibility.Question
	// Usage returns how often a coupon was used. A search calls Usage only for coupons that could come
	// into its result. With a nil Usage, no coupon was ever used.
	Usage func(c *coupon.Coupon) eligibility.Usage
	// Except reports whether Best, Top and Set leave a coupon out. With a nil Except, they leave none out.
	Except func(c *coupon.Coupon) bool
	// Held are the IDs of the [coupon.PointsRedeemable] coupons that the customer has exchanged points
	// for. A search finds no other coupon of this kind. Unknown IDs are ignored.
	Held []string
}

// Offer is a coupon that the customer may use, with its discount.
type Offer struct {
	Coupon *coupon.Coupon
	// Discount is what the coupon takes off the cart alone, in minor units of the cart's currency.
	Discount int64
}

// compare orders offers: the greatest discount first, then the least ID.
func (o Offer) compare(p Offer) int {
	return cmp.Or(cmp.Compare(p.Discount, o.Discount), cmp.Compare(o.Coupon.ID, p.Coupon.ID))
}

// Search searches an [Index]. The zero Search is ready to use. Goroutines that search at the same time need a
// Search each. A Search reuses its memory: a repeated search allocates only for coupons that the rules refuse
// in the end. It keeps the last index and query alive.
type Search struct {
	walk   walk
	query  Query
	cart   pricing.Cart
	offers []Offer
	most   int
	set    [1]eligibility.Candidate
	result eligibility.SetResult
	sets   setSearch
	near   nearSearch

	mostBeside int64 // the greatest bound of coupons that may take more beside others than alone
	overBudget bool  // a coupon exceeds its budget alone
}

// Best returns the coupon with the greatest discount. Of equal discounts, the coupon with the least ID
// comes first, by its bytes. The result is the same as that of calling [eligibility.Evaluate] for every
// coupon of the index. found is false if the customer can use no coupon of the index for the cart.
//
// A coupon whose amounts are not multiples of the cart's step cannot be used. Best returns a
// [*validation.Error] if the cart is invalid.
func (s *Search) Best(x *Index, q Query) (best Offer, found bool, err error) {
	offers, err := s.Top(x, q, 1)
	if err != nil || len(offers) == 0 {
		return Offer{}, false, err
	}
	return offers[0], true, nil
}

// Top returns up to n coupons in the order of [Search.Best], each with its discount alone. The result is
// valid until the next search. Top returns a [*validation.Error] if the cart is invalid, or n is not from
// 1 to [MaxOffers].
func (s *Search) Top(x *Index, q Query, n int) ([]Offer, error) {
	if err := within("n", n, MaxOffers); err != nil {
		return nil, err
	}
	if err := s.begin(x, &q); err != nil {
		return nil, err
	}
	defer s.end()
	s.mostBeside, s.overBudget, s.most = 0, false, n
	if s.mayHaveCoupons() {
		s.search(func(*coupon.Coupon) bool { return true })
	}
	return s.offers, nil
}

// MoreInSets reports whether a set may have coupons that the last [Search.Top] has not returned. This is so if
// Top has returned n coupons, or if a coupon exceeds its budget alone.
func (s *Search) MoreInSets() bool { return s.most > 0 && len(s.offers) == s.most || s.overBudget }

// search finds the best of the coupons that count.
func (s *Search) search(counts func(c *coupon.Coupon) bool) {
	s.visit(func() place { return s.worst() }, func(c *coupon.Coupon, bound int64) bool {
		if counts(c) {
			s.offer(c, bound)
		}
		return true
	})
}

// within refuses a number that is not from 1 to most.
func within(field string, n, most int) error {
	switch {
	case n < 1:
		return validation.New(field, validation.TooSmall, "must be at least 1")
	case n > most:
		return validation.New(field, validation.TooLarge, fmt.Sprintf("must be at most %d", most))
	}
	return nil
}

// begin checks the cart and measures it.
func (s *Search) begin(x *Index, q *Query) error {
	if s == nil {
		return validation.New("search", validation.Required, "a nil Search has no memory")
	}
	if err := s.result.Reevaluate(nil, q.Cart, eligibility.Question{}); err != nil {
		return err
	}
	s.query, s.cart, s.offers = *q, q.Cart, s.offers[:0]
	of := q.Question
	of.Usage, of.Code, of.MirrorInvalid, of.Conflicts = eligibility.Usage{}, coupon.IssuedCode{}, false, eligibility.RefuseAll
	s.walk.begin(x, &q.Cart, &of)
	return nil
}

func (s *Search) end() { s.query.Usage, s.query.Except = nil, nil }

// mayHaveCoupons reports whether the customer may use a coupon without any condition.
func (s *Search) mayHaveCoupons() bool {
	anything := coupon.Coupon{State: coupon.Active, Terms: coupon.Terms{Distribution: coupon.General}}
	return eligibility.Check(&anything, s.walk.question).Allowed()
}

// visit calls use for every coupon that could come before the place that worst returns, with an upper bound
// of its discount. It stops if use returns false.
func (s *Search) visit(worst func() place, use func(c *coupon.Coupon, bound int64) bool) {
	if !s.visitHeld(use) {
		return
	}
	s.walk.open(byRatio, byMinimum-1)
	const early = 32 // a good offer for much of the cart leaves out most coupons for items and categories
	for i := 0; ; i++ {
		if i == early {
			s.walk.openNarrow(worst())
		}
		c, bound := s.walk.next(worst())
		if c == nil && i < early {
			i = early - 1
			continue
		}
		if c == nil || !s.isExcept(c) && !use(c, bound) {
			return
		}
	}
}

// visitHeld is visit for the coupons that the customer has exchanged points for.
func (s *Search) visitHeld(use func(c *coupon.Coupon, bound int64) bool) bool {
	for _, id := range s.query.Held {
		for at, shelf := range s.walk.shelves {
			if shelf == nil {
				continue
			}
			_, slot, ok := shelf.find(id)
			if !ok || !s.walk.seen.add(uint64(at)<<32|uint64(slot)) {
				continue
			}
			c := shelf.coupons.at(slot).Coupon
			if c.Distribution == coupon.PointsRedeemable && !s.isExcept(c) && !use(c, s.walk.measures.total.subtotal) {
				return false
			}
		}
	}
	return true
}

func (s *Search) isExcept(c *coupon.Coupon) bool { return s.query.Except != nil && s.query.Except(c) }

// worst returns the place that a coupon has to be before.
func (s *Search) worst() place {
	if len(s.offers) < s.most {
		return place{discount: 1, id: anyID}
	}
	last := &s.offers[len(s.offers)-1]
	return place{discount: last.Discount, id: idPrefix(last.Coupon.ID)}
}

// offer decides about a coupon with a bound, and adds it to the offers if it is one of the best.
func (s *Search) offer(c *coupon.Coupon, bound int64) {
	discount := s.discount(c, bound)
	if discount == 0 {
		return
	}
	o := Offer{c, discount}
	at, _ := slices.BinarySearchFunc(s.offers, o, Offer.compare)
	if at == s.most {
		return
	}
	if len(s.offers) == s.most {
		s.offers = s.offers[:s.most-1]
	}
	s.offers = slices.Insert(s.offers, at, o)
}

// discount returns what a coupon takes off the cart alone. It returns 0 if the coupon cannot be used, or
// comes after all offers.
func (s *Search) discount(c *coupon.Coupon, bound int64) int64 {
	// Most coupons that would be refused are left out here, because reasons of a refusal take memory.
	minimum, quantity := eligibility.Minimums(c, s.cart.Currency)
	has := s.coveredBy(&c.Scope)
	if has.units == 0 || has.subtotal < minimum || has.units < quantity || s.mostOf(c, has) < s.worst().discount {
		return 0
	}
	if least := s.leastContained(c); least > 0 && s.coveredBy(&c.Conditions.Contains.Scope).subtotal < least {
		return 0
	}
	s.set[0] = eligibility.Candidate{Coupon: c, Usage: s.usage(c)}
	if err := s.result.Reevaluate(s.set[:], s.cart, s.walk.question); err != nil {
		return 0
	}
	d := &s.result.Coupons[0]
	allowed := d.Decision.Allowed()
	overBudget := !allowed && d.Decision.Without(coupon.BudgetExhausted).Allowed()
	if overBudget || allowed && countsSomeUnits(&c.Discount) {
		s.mostBeside = max(s.mostBeside, bound)
	}
	s.overBudget = s.overBudget || overBudget
	if !allowed {
		return 0
	}
	return d.Discount
}

// leastContained returns the amount of certain units that a coupon requires.
func (s *Search) leastContained(c *coupon.Coupon) int64 {
	least, _ := c.Conditions.Contains.MinPurchase.In(s.cart.Currency)
	return least
}

// mostOf returns an upper bound of the discount of a coupon that covers some amounts. Only the terms of a simple
// discount are read without memory.
func (s *Search) mostOf(c *coupon.Coupon, has amounts) int64 {
	if !c.Discount.Simple() {
		return has.subtotal
	}
	b, _, _ := boundsOf(c, s.cart.Currency)
	return min(b.cap, part(has.subtotal, b.ratio, s.walk.measures.step))
}

func (s *Search) usage(c *coupon.Coupon) eligibility.Usage {
	if s.query.Usage == nil {
		return eligibility.Usage{}
	}
	return s.query.Usage(c)
}
