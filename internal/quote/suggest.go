package quote

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

const (
	// moreTries is the number of coupons that a search for suggestions tries, apart from those that are wanted.
	moreTries = 8
	// maxRanked is the number of coupons that the index ranks. Some of them do not count beside the codes.
	maxRanked = 200
)

// Wanted tells which suggestions are wanted. Its fields are those of couponkit.SuggestRequest. Searches lends its
// memory.
type Wanted struct {
	Index      *offers.Index
	Searches   *Automatic
	Visible    func(*coupon.Coupon) bool
	Best       int
	Nearly     int
	NearlyFrom pricing.Percent
}

// Suggestion is a coupon that the customer could use. Its fields are those of couponkit.Suggestion, in minor units.
type Suggestion struct {
	Terms                  coupon.Snapshot
	Saves, Missing, Pieces int64
	Contained              bool
}

// Suggest finds coupons that make a cart cheaper than the codes of a request do, and coupons that lack a little. The
// Decision is that about the codes. The index may be old, so the store decides about each suggestion. The guard
// stands around the codes, and the suggestions take no attempt.
func (q *Quoter) Suggest(ctx context.Context, r Request, w Wanted) (now *Decision, best, nearly []Suggestion, err error) {
	r.Conflicts = eligibility.KeepBest
	now, err = q.Explain(ctx, r)
	if now == nil {
		return nil, nil, nil, err
	}
	if signedIn(r) != nil {
		return now, nil, nil, nil
	}
	unguarded := *q
	unguarded.Guard = Guard{}
	s := suggester{q: &unguarded, now: now, Wanted: w}
	search, end := w.Searches.begin()
	defer end()
	s.search = search
	if len(r.Codes) < pricing.MaxCoupons {
		if best, err = s.best(ctx); err != nil {
			return now, nil, nil, err
		}
	}
	nearly, err = s.nearly(ctx)
	return now, best, nearly, err
}

// suggester finds suggestions for one cart.
type suggester struct {
	Wanted

	q      *Quoter
	now    *Decision // about the codes that the customer has entered
	search *offers.Search
}

// hides reports whether a coupon is no suggestion: it has no plain code, is not for customers to see, or is in use.
func (s *suggester) hides(c *coupon.Coupon) bool {
	same := func(used *Code) bool { return used.Coupon.ID == c.ID }
	return c.Code.IsZero() || !s.Visible(c) ||
		slices.ContainsFunc(s.now.Codes, func(used Code) bool { return same(&used) }) || slices.ContainsFunc(s.now.Applied, same)
}

// loses reports whether the coupons in use exclude a coupon and take off as much as it does. With automatic coupons,
// others may then apply.
func (s *suggester) loses(o offers.Offer) bool {
	return s.q.Automatic == nil && o.Discount <= s.now.Quote.Discount &&
		!slices.ContainsFunc(s.now.Applied, func(c *Code) bool { return pricing.Combinable(c.Coupon.Group, o.Coupon.Group) })
}

// explain decides about other codes for the same cart. It returns nil if the processor does not charge the total, or
// does not answer about a mirror.
func (s *suggester) explain(ctx context.Context, q *Quoter, codes []string) (*Decision, error) {
	r := s.now.Request
	r.Codes = codes
	d, err := q.Explain(ctx, r)
	switch {
	case err == nil:
		return d, nil
	case coupon.RejectionsOf(err) != nil:
		return nil, nil
	case errors.Is(err, processor.ErrUnavailable) && ctx.Err() == nil:
		q.Logger.WarnContext(ctx, "a coupon is not suggested", slog.Any("error", err))
		return nil, nil
	}
	return nil, err
}

// best returns the coupons that make the cart cheaper, each beside the codes. It tries the coupons first that take most
// off alone. It ends when each other coupon takes less off alone than every suggestion saves.
func (s *suggester) best(ctx context.Context) (best []Suggestion, err error) {
	if s.Best == 0 {
		return nil, nil
	}
	query := s.now.query()
	query.Except = s.hides
	ranked, err := s.search.Top(s.Index, query, maxRanked)
	if err != nil {
		return nil, err
	}
	tries := s.Best + moreTries
	for _, o := range ranked {
		if tries == 0 || len(best) == s.Best && o.Discount < best[s.Best-1].Saves {
			break
		}
		if s.loses(o) {
			continue
		}
		tries--
		with, err := s.explain(ctx, s.q, append(slices.Clip(s.now.Request.Codes), o.Coupon.ID))
		if err != nil {
			return nil, err
		}
		if found, cheaper := s.compare(with, o.Coupon.ID); cheaper {
			best = append(best, found)
			slices.SortFunc(best, func(a, b Suggestion) int {
				return cmp.Or(cmp.Compare(b.Saves, a.Saves), cmp.Compare(a.Terms.ID, b.Terms.ID))
			})
			best = best[:min(len(best), s.Best)]
		}
	}
	return best, nil
}

// compare returns what a coupon saves in a decision, and whether it saves anything.
func (s *suggester) compare(with *Decision, id string) (found Suggestion, cheaper bool) {
	if with == nil {
		return Suggestion{}, false
	}
	at := slices.IndexFunc(with.Terms, func(t coupon.Snapshot) bool { return t.ID == id })
	saves := s.now.Quote.Total - with.Quote.Total
	if at < 0 || saves <= 0 {
		return Suggestion{}, false
	}
	return Suggestion{Terms: with.Terms[at], Saves: saves}, true
}

// nearly returns the coupons that lack an amount or some units only, and can be used beside those that apply.
func (s *suggester) nearly(ctx context.Context) (nearly []Suggestion, err error) {
	if s.Nearly == 0 {
		return nil, nil
	}
	options := offers.NearOptions{Most: maxRanked, From: s.NearlyFrom}
	for _, c := range s.now.Applied {
		options.Beside = append(options.Beside, &c.Coupon)
	}
	found, err := s.search.Nearly(s.Index, s.now.query(), options)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(slices.Clone(found), func(n offers.Near) bool { return s.hides(n.Coupon) })
	found = found[:min(len(found), s.Nearly+moreTries)]
	names := make([]string, len(found))
	for i, n := range found {
		names[i] = n.Coupon.ID
	}
	byCode := *s.q
	byCode.Automatic = nil
	alone, err := s.explain(ctx, &byCode, names)
	if err != nil || alone == nil {
		return nil, err
	}
	for i, n := range found {
		c := &alone.Codes[i]
		if len(nearly) < s.Nearly && c.Coupon.Revision == n.Coupon.Revision && lacksMinimum(c.Refused) {
			nearly = append(nearly, Suggestion{Terms: c.Coupon.Snapshot(), Saves: n.Discount, Missing: n.Missing, Contained: n.Contained, Pieces: n.Pieces})
		}
	}
	return nearly, nil
}

// lacksMinimum reports whether a refusal has no reason that stays after the customer has bought more: only minimums, of
// the cart or of what it must contain, and no discount below them.
func lacksMinimum(r *coupon.Rejection) bool {
	return r != nil && !slices.ContainsFunc(r.Reasons, func(reason coupon.Reason) bool {
		switch reason.Code { //nolint:exhaustive // all other reasons stay
		case coupon.MinimumPurchaseNotMet, coupon.MinimumQuantityNotMet, coupon.RequiredItemsMissing, coupon.NoDiscount:
			return false
		}
		return true
	})
}
