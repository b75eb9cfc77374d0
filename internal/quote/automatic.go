package quote

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
)

// Automatic finds automatic coupons in an index. The zero Automatic has no coupons. It is safe for concurrent
// use.
type Automatic struct {
	index    atomic.Pointer[offers.Index]
	searches sync.Pool
	usedUp   sync.Map // by coupon ID: the instant until which the coupon is not proposed; see isUsedUp
}

// Store replaces the index.
func (a *Automatic) Store(x *offers.Index) { a.index.Store(x) }

// Load returns the index.
func (a *Automatic) Load() *offers.Index {
	if x := a.index.Load(); x != nil {
		return x
	}
	return new(offers.Index)
}

// begin returns a search, and a function that gives it back.
func (a *Automatic) begin() (s *offers.Search, end func()) {
	s, _ = a.searches.Get().(*offers.Search)
	if s == nil {
		s = new(offers.Search)
	}
	return s, func() { a.searches.Put(s) }
}

const (
	// usedUpTime is how long a coupon is not proposed after the store has told that it is used up.
	usedUpTime     = 10 * time.Second
	maxChoiceNodes = 2_000
)

// isUsedUp reports whether the store has told lately that a coupon is used up.
func (a *Automatic) isUsedUp(id string, at time.Time) bool {
	value, _ := a.usedUp.Load(id)
	until, is := value.(time.Time)
	return is && at.Before(until) && !at.Before(until.Add(-usedUpTime)) // the clock may go back
}

// readAutomatic adds the automatic coupons from the result of a look-up. Coupons that are not automatic any
// more are left out, and so are unreadable ones.
func (q *Quoter) readAutomatic(ctx context.Context, d *Decision, found []*store.Found) {
	d.Automatic = slices.Grow(d.Automatic, len(found))
	for _, f := range found {
		if f == nil {
			continue
		}
		var c Code
		if err := c.read(f, d.Identities(), d); err != nil {
			q.Logger.WarnContext(ctx, "an automatic coupon cannot be read", slog.Any("error", err))
			continue
		}
		if limit := c.Coupon.Limits.MaxUses; limit > 0 && c.Coupon.UsedCount >= limit {
			q.Automatic.usedUp.Store(c.Coupon.ID, d.At.Add(usedUpTime))
			continue
		}
		if c.Coupon.Automatic && c.Coupon.Active() {
			c.Coupon.Code = coupon.Code{} // it came without one
			d.Automatic = append(d.Automatic, c)
		}
	}
}

// codes calls f for the codes and the automatic coupons.
func (d *Decision) codes(f func(c *Code)) {
	for i := range d.Codes {
		f(&d.Codes[i])
	}
	for i := range d.Automatic {
		f(&d.Automatic[i])
	}
}

// question returns the question about all coupons of the decision.
func (d *Decision) question() eligibility.Question {
	return eligibility.Question{
		At: d.At, Customer: d.Request.Customer, Facts: d.Request.Facts, AllowAnonymous: d.Request.AllowAnonymous,
		Conflicts: d.Request.Conflicts,
	}
}

// result is the result for the codes of a decision, with the automatic coupons that were chosen.
type result struct {
	eligibility.SetResult

	automatic []chosen
	codes     []eligibility.Candidate // those that apply where no automatic coupon competes with them
}

// excludes reports whether other codes exclude a code of the coupon.
func (r *result) excludes(couponID string) bool {
	return slices.ContainsFunc(r.Coupons, func(o eligibility.Outcome) bool {
		return o.CouponID == couponID && o.Decision.Has(coupon.NotCombinable)
	})
}

// chosen is an automatic coupon that applies.
type chosen struct {
	code     *Code
	discount int64
}

// chooser chooses automatic coupons for a result.
type chooser struct {
	d         *Decision
	into      *result
	set       []eligibility.Candidate // the codes
	automatic []eligibility.Candidate
	coupons   []*coupon.Coupon // of the automatic candidates
	search    *offers.Search
}

// addAutomatic adds the best automatic coupons to the result for the codes. They stand beside the codes that
// apply. With KeepBest they compete with the codes.
func (d *Decision) addAutomatic(into *result, set []eligibility.Candidate, takes *HandOver, held map[string]eligibility.Count) error {
	c := chooser{d: d, into: into, set: set}
	into.codes = c.ofSet(eligibility.Decision.Allowed)
	competing := c.ofSet(competes)
	for i := range d.Automatic {
		a := &d.Automatic[i]
		named := func(t eligibility.Candidate) bool { return t.Coupon.ID == a.Coupon.ID }
		if !a.mirrorInvalid && !into.excludes(a.Coupon.ID) && !slices.ContainsFunc(into.codes, named) {
			c.automatic = append(c.automatic, eligibility.Candidate{Coupon: &a.Coupon, Usage: a.usage(takes, held)})
			c.coupons = append(c.coupons, &a.Coupon)
		}
	}
	if len(c.automatic) == 0 {
		return nil
	}
	search, end := d.quoter.Automatic.begin()
	defer end()
	c.search = search
	if err := c.choose(into.codes, true); err != nil {
		return err
	}
	if d.Request.Conflicts == eligibility.KeepBest && len(competing) > 0 {
		return c.compete(competing)
	}
	return nil
}

// competes reports whether a code with a decision competes with automatic coupons. A code that exceeds its budget alone
// excludes nothing, so it never wins.
func competes(d eligibility.Decision) bool {
	return d.Allowed() || d.Has(coupon.NotCombinable) && !d.Has(coupon.BudgetExhausted)
}

// compete lets codes compete with the automatic coupons. A code that loses could have been used beside automatic
// coupons.
func (c *chooser) compete(competing []eligibility.Candidate) error {
	beside := c.into.Quote.Discount
	err := c.choose(competing, false)
	for _, code := range c.into.codes {
		if o := outcomeOf(&c.into.SetResult, code.Coupon.ID); err == nil && o.Decision.Has(coupon.NotCombinable) {
			o.Instead = max(o.Instead, beside)
		}
	}
	return err
}

// ofSet returns the candidates of codes by their outcomes.
func (c *chooser) ofSet(is func(eligibility.Decision) bool) []eligibility.Candidate {
	return slices.DeleteFunc(slices.Clone(c.set), func(t eligibility.Candidate) bool {
		return !is(outcomeOf(&c.into.SetResult, t.Coupon.ID).Decision)
	})
}

// choose puts the best automatic coupons into the result if they take more off. They stand beside the coupons
// of some codes, or compete with them.
func (c *chooser) choose(codes []eligibility.Candidate, beside bool) error {
	o := offers.ChoiceOptions{
		SetOptions: offers.SetOptions{MaxCoupons: pricing.MaxCoupons - len(codes), MaxNodes: maxChoiceNodes}, Accept: c.d.quoter.accepts,
	}
	if o.MaxCoupons < 1 {
		return nil
	}
	all := make([]*coupon.Coupon, len(codes))
	for i := range codes {
		all[i] = codes[i].Coupon
	}
	coupons := c.coupons
	if beside {
		o.SetOptions.Beside = all
	} else {
		coupons = slices.Concat(coupons, all)
	}
	question := c.d.question()
	best, err := c.search.Choose(coupons, offers.Query{Cart: c.d.Request.Cart, Question: question, Usage: c.usage}, o)
	if err != nil || best.Discount <= c.into.Quote.Discount {
		return err
	}
	set := slices.Clone(codes)
	for _, a := range c.automatic {
		if slices.ContainsFunc(best.Offers, func(o offers.Offer) bool { return o.Coupon == a.Coupon }) {
			set = append(set, a)
		}
	}
	found, err := eligibility.EvaluateSet(set, c.d.Request.Cart, question)
	if err != nil || found.Quote.Discount <= c.into.Quote.Discount || !c.d.quoter.accepts(&found.Quote) {
		return err
	}
	c.put(&found)
	return nil
}

// put takes over the outcomes of codes and of automatic coupons.
func (c *chooser) put(found *eligibility.SetResult) {
	c.into.Quote, c.into.automatic = found.Quote, c.into.automatic[:0]
	for i := range found.Coupons {
		o := &found.Coupons[i]
		at := slices.IndexFunc(c.d.Automatic, func(a Code) bool { return a.Coupon.ID == o.CouponID })
		automatic := at >= 0 && slices.Contains(c.coupons, &c.d.Automatic[at].Coupon)
		switch {
		case !automatic:
			*outcomeOf(&c.into.SetResult, o.CouponID) = *o
		case o.Decision.Allowed():
			c.into.automatic = append(c.into.automatic, chosen{&c.d.Automatic[at], o.Discount})
		}
	}
}

func (c *chooser) usage(of *coupon.Coupon) eligibility.Usage {
	for _, all := range [...][]eligibility.Candidate{c.automatic, c.set} {
		if at := slices.IndexFunc(all, func(t eligibility.Candidate) bool { return t.Coupon == of }); at >= 0 {
			return all[at].Usage
		}
	}
	return eligibility.Usage{}
}

// accepts reports whether the processor takes a cart with these prices. Otherwise an automatic coupon would
// refuse the request.
func (q *Quoter) accepts(p *pricing.Quote) bool {
	if q.chargeable(*p) != nil {
		return false
	}
	lines := 0
	for i := 0; q.Abilities.MaxLines > 0 && i < len(p.Lines); i++ {
		lines += len(p.Units(i))
	}
	return lines <= q.Abilities.MaxLines
}

// automaticLimits adds the limits because of which automatic coupons do not apply, if the customer's open orders
// are known or hold the coupons.
func (d *Decision) automaticLimits(reached *limitsReached) (found bool) {
	for i := range d.Automatic {
		c := &d.Automatic[i]
		if !d.openRead && len(c.Held) == 0 {
			continue
		}
		question := d.question()
		question.Usage = c.usage(&HandOver{}, nil)
		decision := eligibility.Check(&c.Coupon, question)
		for _, l := range c.limits {
			if decision.Has(l.Reason) {
				found, reached.counters = true, append(reached.counters, l.Counter)
			}
		}
	}
	return found
}

// askMirrors asks about the mirrors of the automatic coupons that were chosen. It reports whether a mirror is
// invalid, so that the decision must be made again.
func (q *Quoter) askMirrors(ctx context.Context, d *Decision, r *result) (again bool, err error) {
	for _, chosen := range r.automatic {
		c := chosen.code
		if c.mirrorAsked {
			continue
		}
		c.mirrorAsked = true
		c.mirrorInvalid, err = q.Mirror.Invalid(ctx, &c.Coupon, c.plain, d.At)
		switch {
		case errors.Is(err, processor.ErrUnavailable) && ctx.Err() == nil:
			q.Logger.WarnContext(ctx, "an automatic coupon is left out", slog.Any("error", err))
			c.mirrorInvalid = true
		case err != nil:
			return false, err
		}
		again = again || c.mirrorInvalid
	}
	return again, nil
}

// Names returns the IDs of the automatic coupons of the decision. They are not nil.
func (d *Decision) Names() []string {
	ids := make([]string, len(d.Automatic))
	for i := range d.Automatic {
		ids[i] = d.Automatic[i].Coupon.ID
	}
	return ids
}
