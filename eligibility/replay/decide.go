package replay

import (
	"iter"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// decision is what was decided about a cart. Its memory is reused.
type decision struct {
	event      Event
	err        error
	identities []string

	list, before int64 // the list price, and what was paid, in minor units

	wish   choice // the best set without limits
	chosen choice // the best set within limits
	proved bool
}

// choice is a set of coupons for a cart.
type choice struct {
	coupons  []taken
	discount int64
	claims   []eligibility.Claim // those with a limit
}

// taken is a coupon with its discount in a set.
type taken struct {
	coupon   int32
	discount int64
}

func (d *decision) reset() {
	d.err, d.identities, d.proved = nil, nil, true
	d.wish.reset()
	d.chosen.reset()
}

func (c *choice) reset() {
	clear(c.claims)
	c.coupons, c.claims, c.discount = c.coupons[:0], c.claims[:0], 0
}

// keeps reports whether the customer keeps what they had instead of a discount.
func (d *decision) keeps(o *Options, discount int64) bool {
	return o.Keep && d.before <= d.list-discount
}

// contest has the coupons, the counters and the sums. While workers search, nobody changes it.
type contest struct {
	options Options
	index   *offers.Index
	ledger  ledger
	report  Report
	sums    sums
	last    time.Time // the instant of the last event
	again   *searcher // decides again
}

func newContest(coupons iter.Seq[*coupon.Coupon], o Options) (*contest, error) {
	byID := map[string]*coupon.Coupon{}
	if coupons == nil {
		coupons = func(func(*coupon.Coupon) bool) {}
	}
	for c := range coupons {
		if c == nil {
			return nil, validation.New("coupons", validation.Required, "a coupon is nil")
		}
		byID[c.ID] = c
	}
	var list []*coupon.Coupon
	for _, c := range byID {
		if c.State == coupon.Active {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, compareIDs)
	x, err := offers.New(slices.Values(list), offers.Limits{})
	if err != nil {
		return nil, err
	}
	c := &contest{options: o, index: x}
	c.ledger.begin(list)
	c.sums.begin(len(list))
	c.again = newSearcher(c)
	return c, nil
}

// searcher decides about carts for one goroutine.
type searcher struct {
	contest *contest
	search  offers.Search
	quote   pricing.Quote
}

func newSearcher(c *contest) *searcher { return &searcher{contest: c} }

// decide finds the best set without limits, and the best set with the counters as they are.
func (s *searcher) decide(d *decision) {
	if d.err = d.event.validate(); d.err != nil {
		return
	}
	if d.err = s.quote.Reprice(d.event.Cart); d.err != nil {
		return
	}
	d.list = s.quote.Total
	if d.before = d.list; !d.event.Paid.Currency().IsZero() {
		d.before = d.event.Paid.Minor()
	}
	d.identities = d.event.Customer.Identities()
	if d.err = s.find(d, &d.wish, nil); d.err != nil {
		return
	}
	if d.keeps(&s.contest.options, d.wish.discount) {
		return
	}
	if s.contest.ledger.fits(d.wish.claims) {
		d.chosen.copy(&d.wish)
		return
	}
	s.limited(d)
}

func (c *choice) copy(from *choice) {
	c.coupons = append(c.coupons[:0], from.coupons...)
	c.claims = append(c.claims[:0], from.claims...)
	c.discount = from.discount
}

// limited finds the best set with the counters as they are.
func (s *searcher) limited(d *decision) {
	of := customer{ledger: &s.contest.ledger, identities: d.identities, at: d.event.At, orders: -1}
	d.chosen.reset()
	d.err = s.find(d, &d.chosen, of.usage)
}

// find finds the best set.
func (s *searcher) find(d *decision, c *choice, usage func(*coupon.Coupon) eligibility.Usage) error {
	set, err := s.search.Set(s.contest.index, offers.Query{
		Cart: d.event.Cart,
		Question: eligibility.Question{
			At: d.event.At, Customer: d.event.Customer, Facts: d.event.Facts, AllowAnonymous: true,
		},
		Usage: usage,
	}, offers.SetOptions{MaxCoupons: s.contest.options.MaxCoupons, MaxNodes: s.contest.options.MaxNodes})
	if err != nil {
		return err
	}
	d.proved = d.proved && set.Complete
	c.discount = set.Discount
	l := &s.contest.ledger
	for _, o := range set.Offers {
		slot := l.slots[o.Coupon]
		c.coupons = append(c.coupons, taken{slot, o.Discount})
		c.claims = l.appendClaims(c.claims, slot, d, o.Discount)
	}
	c.claims = l.appendOrderClaims(c.claims, d, c.coupons)
	return nil
}

// settle takes the claims of a cart, and counts it. A cart whose claims no longer fit is decided again.
func (c *contest) settle(d *decision) error {
	if d.err == nil && d.event.At.Before(c.last) {
		d.err = validation.New("at", validation.Mismatch, "must not be before an earlier cart")
	}
	if d.err != nil {
		return nil //nolint:nilerr // the item was refused, and the replay goes on
	}
	c.last = d.event.At
	o := &c.options
	if d.keeps(o, d.wish.discount) {
		d.chosen.reset()
	} else {
		if !c.ledger.fits(d.chosen.claims) {
			if c.again.limited(d); d.err != nil {
				return nil //nolint:nilerr // see above
			}
		}
		if !slices.Equal(d.wish.coupons, d.chosen.coupons) {
			c.countRefusals(d)
		}
	}
	kept := d.keeps(o, d.chosen.discount)
	if kept {
		d.chosen.reset()
	}
	if !c.ledger.take(d, &d.chosen, o.MaxCounters) {
		return ErrTooManyCounters
	}
	return c.count(d, kept)
}
