package offers

import (
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// ChoiceOptions restricts a choice among coupons.
type ChoiceOptions struct {
	SetOptions
	// Accept reports whether a cart may have these prices. With a nil Accept, all prices are accepted.
	Accept func(*pricing.Quote) bool
}

// Choose returns the best set of the given coupons without an index. The sets have the order of
// [Search.Set]. The coupons have different IDs.
//
// Choose evaluates each coupon alone, so it is for few coupons. It returns the errors of [Search.Set]. The
// result is valid until the next search.
func (s *Search) Choose(coupons []*coupon.Coupon, q Query, o ChoiceOptions) (Set, error) {
	var faults validation.Error
	faults.Merge("", o.validate())
	faults.Merge("", noneMissing("coupons", coupons))
	if err := faults.Err(); err != nil {
		return Set{}, err
	}
	if err := s.begin(&Index{}, &q); err != nil {
		return Set{}, err
	}
	defer s.end()
	b := &s.sets
	b.begin(o.SetOptions, &s.cart, &s.walk.measures)
	b.setLevel(0) // all coupons are seen
	b.hurried = true
	b.accept = o.Accept
	if err := s.putBeside(o.Beside); err != nil {
		return Set{}, err
	}
	for _, c := range coupons {
		switch {
		case !b.isCombinable(c):
		case c.Group != "":
			own := b.newCandidate(c, b.total, s.cart.Currency)
			if s.judge(&own); !own.out {
				s.raise(&own)
				b.candidates = append(b.candidates, own)
			}
		default:
			s.tryAlone(c)
		}
	}
	b.bound = b.reach(b.most)
	s.tryBestSets()
	b.sort()
	s.climb()
	return s.proved(), nil
}

// tryAlone evaluates the set of one coupon without a group.
func (s *Search) tryAlone(c *coupon.Coupon) {
	b := &s.sets
	b.candidates = append(b.candidates, candidate{coupon: c})
	b.chosen = append(b.chosen, len(b.candidates)-1)
	s.try()
	b.chosen, b.candidates = b.chosen[:0], b.candidates[:len(b.candidates)-1]
}

// isCombinable reports whether a coupon can be combined with those beside the set.
func (b *setSearch) isCombinable(c *coupon.Coupon) bool {
	return !slices.ContainsFunc(b.beside, func(d eligibility.Candidate) bool { return !pricing.Combinable(c.Group, d.Coupon.Group) })
}

// putBeside puts coupons beside every set. It refuses coupons that cannot be used together.
func (s *Search) putBeside(coupons []*coupon.Coupon) error {
	b := &s.sets
	b.beside, b.base = b.beside[:0], 0
	for _, c := range coupons {
		alone := candidate{coupon: c, share: share{b.total, one}}
		s.judge(&alone)
		b.base = plus(b.base, alone.most)
		b.beside = append(b.beside, eligibility.Candidate{Coupon: c, Usage: s.usage(c)})
	}
	if len(coupons) == 0 {
		return nil
	}
	if err := b.result.Reevaluate(b.beside, s.cart, s.walk.question); err != nil {
		return err
	}
	if b.result.Err() != nil {
		return validation.New("beside", validation.Mismatch, "the coupons cannot be used together")
	}
	b.best.Discount = b.result.Quote.Discount
	return nil
}
