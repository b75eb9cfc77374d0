package quote

import (
	"context"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// These constants limit the search for automatic coupons.
const (
	// maxFirst is the number of coupons that a decision looks up at most, apart from the best set. Each
	// makes a checkout slower; see BenchmarkAutomaticCheckout. A decision about codes looks up more of them,
	// because the index does not know which coupons can be combined with the codes.
	maxFirst       = 4
	maxBesideCodes = 8
	// maxFurther is the number of coupons of the first further look-up. The last one has as many as are left of
	// store.MaxNames, less the names of the codes.
	maxFurther  = 32
	maxRounds   = 2
	maxSetNodes = 1_000
)

// proposals are the coupons that the index has proposed for a decision.
type proposals struct {
	ids    []string
	most   int  // the number of coupons that a look-up can have beside the codes
	more   bool // further coupons may apply to the cart
	rounds int  // the number of further look-ups
}

// propose returns the IDs of at most most automatic coupons that the customer may be able to use. A decision
// without a cart has none.
func (q *Quoter) propose(d *Decision, most int) []string {
	switch p := &d.proposals; {
	case q.Automatic == nil || d.about != OfCart || signedIn(d.Request) != nil || most < 1:
		return nil
	case q.Prepared != nil:
		p.ids = q.Prepared[:min(len(q.Prepared), most)]
	default:
		p.most = most
		alone := maxFirst
		if len(d.Codes) > 0 {
			alone = maxBesideCodes
		}
		p.ids, p.more = q.Automatic.first(d.query(), alone, most)
	}
	return d.proposals.ids
}

// query returns the question to the index.
func (d *Decision) query() offers.Query {
	return offers.Query{Cart: d.Request.Cart, Question: d.question()}
}

// first returns the coupons with the greatest discounts alone, up to a number, and the best set if it may have others.
// Limits are left to the store, because the index does not know how often a coupon was used. A cart that cannot
// be priced has no coupons.
func (a *Automatic) first(q offers.Query, alone, most int) (ids []string, more bool) {
	x := a.Load()
	if x.Len() == 0 {
		return nil, false
	}
	s, end := a.begin()
	defer end()
	q.Except = func(c *coupon.Coupon) bool { return a.isUsedUp(c.ID, q.Question.At) }
	best, err := s.Top(x, q, min(most, alone))
	if err != nil {
		return nil, false
	}
	ids = addNew(nil, best, nil, most)
	if !s.MoreInSets() {
		return ids, false
	}
	return addNew(ids, bestSet(s, x, q), nil, most), true
}

// further returns coupons that are not known yet: those of the best set beside others, and the greatest discounts
// alone. It returns none if the best set is known.
func (a *Automatic) further(q offers.Query, beside []*coupon.Coupon, known []string, most int) (ids []string) {
	if len(beside) == pricing.MaxCoupons || most < 1 {
		return nil
	}
	s, end := a.begin()
	defer end()
	x := a.Load()
	if ids = addNew(nil, bestSet(s, x, q, beside...), known, most); len(ids) == 0 {
		return nil
	}
	best, err := s.Top(x, q, min(len(known)+most, offers.MaxOffers))
	if err != nil {
		return ids
	}
	return addNew(ids, best, known, most)
}

func bestSet(s *offers.Search, x *offers.Index, q offers.Query, beside ...*coupon.Coupon) []offers.Offer {
	set, err := s.Set(x, q, offers.SetOptions{MaxCoupons: pricing.MaxCoupons - len(beside), MaxNodes: maxSetNodes, Beside: beside})
	if err != nil {
		return nil
	}
	return set.Offers
}

// addNew adds the IDs of offers that are not known, up to most.
func addNew(ids []string, best []offers.Offer, known []string, most int) []string {
	for _, o := range best {
		if id := o.Coupon.ID; len(ids) < most && !slices.Contains(known, id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// reconsider reports whether a decision must be made again, because there are further automatic coupons, or
// because the mirror of a chosen one is invalid.
func (q *Quoter) reconsider(ctx context.Context, d *Decision, chosen *handedOver) (again bool, err error) {
	if more := q.proposeMore(d, chosen); len(more) > 0 {
		return true, q.findMore(ctx, d, more)
	}
	return q.askMirrors(ctx, d, &chosen.result)
}

// proposeMore asks the index again if some of its coupons do not apply, or if codes apply, which the index has not
// known. It returns no coupons if those that are known suffice for the best set.
func (q *Quoter) proposeMore(d *Decision, chosen *handedOver) []string {
	p := &d.proposals
	most := p.most - len(p.ids)
	if p.rounds == 0 {
		most = min(most, maxFurther)
	}
	if !p.more || p.rounds == maxRounds || most < 1 {
		return nil
	}
	f := d.findOut(chosen)
	if !f.refused && len(f.codes) == 0 {
		return nil
	}
	ids := q.Automatic.further(f.query(f.codes), f.codes, p.ids, most)
	if d.Request.Conflicts == eligibility.KeepBest && len(f.codes) > 0 { // codes and automatic coupons compete
		ids = append(ids, q.Automatic.further(f.query(nil), nil, slices.Concat(p.ids, ids), most-len(ids))...)
	}
	return ids
}

// findMore looks up further automatic coupons.
func (q *Quoter) findMore(ctx context.Context, d *Decision, ids []string) error {
	d.proposals.ids = append(d.proposals.ids, ids...)
	d.proposals.rounds++
	c := &d.Request.Customer
	answer, err := q.Store.LookUp(ctx, store.LookUp{CustomerID: c.ID, Email: c.Email, Identities: d.Identities(), Names: store.ByID(ids...)})
	if err != nil {
		return err
	}
	q.readAutomatic(ctx, d, answer.Coupons)
	return q.count(ctx, d)
}

// findings are what the index does not know.
type findings struct {
	d       *Decision
	usage   map[string]eligibility.Usage // of automatic coupons and codes that can be used, by coupon ID
	codes   []*coupon.Coupon             // of result.codes
	refused bool                         // an automatic coupon does not apply
}

// findOut tries each automatic coupon alone, with a hand-over.
func (d *Decision) findOut(chosen *handedOver) findings {
	f := findings{d: d, usage: make(map[string]eligibility.Usage, len(d.Automatic))}
	held, question := chosen.takes.held(), d.question()
	var alone eligibility.SetResult
	for i := range d.Automatic {
		a := &d.Automatic[i]
		if d.Request.Conflicts != eligibility.KeepBest && chosen.excludes(a.Coupon.ID) {
			f.refused = true // its code was refused
			continue
		}
		u := a.usage(&chosen.takes, held)
		err := alone.Reevaluate([]eligibility.Candidate{{Coupon: &a.Coupon, Usage: u, MirrorInvalid: a.mirrorInvalid}}, d.Request.Cart, question)
		if err != nil {
			continue
		}
		decision := &alone.Coupons[0].Decision
		f.refused = f.refused || !decision.Allowed()
		if decision.Without(coupon.BudgetExhausted).Allowed() && d.quoter.accepts(&alone.Quote) {
			f.usage[a.Coupon.ID] = u
		}
	}
	f.refused = f.refused || len(f.usage) < len(d.proposals.ids)
	for _, c := range chosen.codes {
		f.codes = append(f.codes, c.Coupon)
		f.usage[c.Coupon.ID] = c.Usage
	}
	return f
}

// query returns the question to the index for coupons beside others.
func (f *findings) query(beside []*coupon.Coupon) offers.Query {
	q := f.d.query()
	q.Usage = func(c *coupon.Coupon) eligibility.Usage { return f.usage[c.ID] }
	q.Except = func(c *coupon.Coupon) bool {
		_, usable := f.usage[c.ID]
		return !usable && (slices.Contains(f.d.proposals.ids, c.ID) || f.d.quoter.Automatic.isUsedUp(c.ID, q.Question.At)) ||
			slices.ContainsFunc(beside, func(b *coupon.Coupon) bool { return b.ID == c.ID || !pricing.Combinable(c.Group, b.Group) })
	}
	return q
}
