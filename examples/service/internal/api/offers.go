package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
)

// Suggestions tell customers about coupons that they have not entered. They show every coupon that the customer
// may use and that has a plain code. A shop whose codes are secret leaves both off.
type Suggestions struct {
	// Best shows the coupon that takes most off the cart.
	Best bool
	// Nearly shows the coupons that the customer gets by buying a little more.
	Nearly bool
	// Offers are the coupons. They are required if Best or Nearly is true.
	Offers *couponkit.Offers
	// Service decides about what the index finds. It counts no attempts, because the customer has entered no code.
	Service *couponkit.Service
}

func (s Suggestions) any() bool { return s.Best || s.Nearly }

const (
	// maxConsidered is the number of coupons that are considered as the best one, and maxTries the number of those that
	// are priced together with the coupons of the cart.
	maxConsidered = 200
	maxTries      = 5
	// maxNearly is the number of coupons that are shown as nearly reached.
	maxNearly = 2
	// maxNearlyTries is the number of coupons of which those are selected.
	maxNearlyTries = 10
)

// nearlyFrom is the part of a minimum that a cart must have reached: a half.
func nearlyFrom() pricing.Percent {
	half, _ := pricing.PercentFromDecimal(decimal.NewFromInt(50)) // no error: a valid percentage
	return half
}

type offersView struct {
	// Best is absent if no coupon makes the cart cheaper.
	Best   *offerView   `json:"best,omitempty"`
	Nearly []nearlyView `json:"nearly"`
}

type offerView struct {
	Code  coupon.Code     `json:"code"`
	Terms coupon.Snapshot `json:"terms"`
	// Saves is what the cart costs less than with the codes of the request.
	Saves pricing.Money `json:"saves"`
}

type nearlyView struct {
	Code  coupon.Code     `json:"code"`
	Terms coupon.Snapshot `json:"terms"`
	// Missing is the amount that is missing, or Pieces the number of units.
	Missing pricing.Money `json:"missing,omitzero"`
	// Contained tells that the amount is one of units that the cart must contain.
	Contained bool  `json:"contained,omitempty"`
	Pieces    int64 `json:"pieces,omitempty"`
	// Saves is what the coupon takes off then.
	Saves pricing.Money `json:"saves"`
}

// offers tells which coupons the customer of a cart could use. The index may be old, so the store decides about
// each coupon that is shown.
func (a *API) offers(w http.ResponseWriter, r *http.Request) error {
	asked, err := a.quoteRequest(r)
	if err != nil {
		return err
	}
	view := offersView{Nearly: []nearlyView{}}
	if asked.Customer.ID == "" && !a.Guests || len(asked.Codes) >= pricing.MaxCoupons || !a.Suggestions.any() {
		writeJSON(w, http.StatusOK, view)
		return nil
	}
	asked.Conflicts = eligibility.KeepBest
	s := suggester{Suggestions: a.Suggestions, asked: asked, index: a.Suggestions.Offers.Index(), query: offers.Query{
		Cart: asked.Cart, Question: eligibility.Question{At: a.Now(), Customer: asked.Customer, Facts: asked.Facts, AllowAnonymous: true},
	}}
	if s.now, err = s.price(r.Context(), asked.Codes); err != nil {
		return err
	}
	if s.Best {
		if view.Best, err = s.best(r.Context()); err != nil {
			return err
		}
	}
	if s.Nearly {
		if view.Nearly, err = s.nearly(r.Context()); err != nil {
			return err
		}
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

// suggester finds coupons for one cart.
type suggester struct {
	Suggestions

	asked  couponkit.QuoteRequest
	index  *offers.Index
	search offers.Search
	query  offers.Query
	now    couponkit.Explanation // with the codes that the customer has entered
}

// price prices the cart with some codes.
func (s *suggester) price(ctx context.Context, codes []string) (couponkit.Explanation, error) {
	asked := s.asked
	asked.Codes = codes
	e, err := s.Service.Explain(ctx, asked)
	if coupon.RejectionsOf(err) != nil { // the processor cannot charge the total
		err = nil
	}
	return e, err
}

// used reports whether the customer has entered a code of the coupon.
func (s *suggester) used(c *coupon.Coupon) bool {
	return slices.ContainsFunc(s.now.Codes, func(e couponkit.ExplainedCode) bool { return e.CouponID == c.ID })
}

// loses reports whether the coupons of the cart exclude the coupon and take off as much as it does.
func (s *suggester) loses(o offers.Offer) bool {
	used := s.now.Quote.Terms
	return len(used) > 0 && o.Discount <= s.now.Quote.Discount &&
		!slices.ContainsFunc(used, func(t coupon.Snapshot) bool { return pricing.Combinable(t.Group, o.Coupon.Group) })
}

// best returns the coupon that takes most off alone, of those that make the cart cheaper than it is. It returns nil
// if there is none.
func (s *suggester) best(ctx context.Context) (*offerView, error) {
	found, err := s.search.Top(s.index, s.query, maxConsidered)
	if err != nil {
		return nil, err
	}
	tries := maxTries
	for _, offer := range found {
		c := offer.Coupon
		if c.Code.IsZero() || s.used(c) || s.loses(offer) {
			continue
		}
		with, err := s.price(ctx, append(slices.Clip(s.asked.Codes), c.ID))
		if err != nil {
			return nil, err
		}
		saved := s.now.Quote.Total - with.Quote.Total
		if i := slices.IndexFunc(with.Quote.Terms, func(t coupon.Snapshot) bool { return t.ID == c.ID }); i >= 0 && saved > 0 {
			return &offerView{c.Code, with.Quote.Terms[i], s.money(saved)}, nil
		}
		if tries--; tries == 0 {
			break
		}
	}
	return nil, nil
}

// nearly returns the coupons that lack an amount or some units only, and can be used beside those of the cart.
func (s *suggester) nearly(ctx context.Context) ([]nearlyView, error) {
	options := offers.NearOptions{Most: maxNearlyTries, From: nearlyFrom()}
	for i := range s.now.Quote.Terms {
		if c := s.index.Get(s.now.Quote.Terms[i].ID); c != nil {
			options.Beside = append(options.Beside, c)
		}
	}
	found, err := s.search.Nearly(s.index, s.query, options)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(slices.Clone(found), func(n offers.Near) bool { return n.Coupon.Code.IsZero() || s.used(n.Coupon) })
	shown := []nearlyView{}
	if len(found) == 0 {
		return shown, nil
	}
	names := make([]string, len(found))
	for i, n := range found {
		names[i] = n.Coupon.ID
	}
	alone, err := s.price(ctx, names)
	if err != nil {
		return nil, err
	}
	for i, n := range found {
		if len(shown) < maxNearly && lacksMinimum(alone.Codes[i].Reasons) {
			shown = append(shown, nearlyView{n.Coupon.Code, n.Coupon.Snapshot(), s.money(n.Missing), n.Contained, n.Pieces, s.money(n.Discount)})
		}
	}
	return shown, nil
}

func (s *suggester) money(minor int64) pricing.Money {
	return pricing.NewMoney(minor, s.query.Cart.Currency)
}

// lacksMinimum reports whether a minimum is the only reason for a refusal.
func lacksMinimum(reasons []coupon.Reason) bool {
	return len(reasons) > 0 && !slices.ContainsFunc(reasons, func(r coupon.Reason) bool {
		return r.Code != coupon.MinimumPurchaseNotMet && r.Code != coupon.MinimumQuantityNotMet && r.Code != coupon.RequiredItemsMissing
	})
}
