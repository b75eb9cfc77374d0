package couponkit

import (
	"context"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// MaxSuggestions is the maximum of [SuggestRequest].Best and of [SuggestRequest].Nearly.
const MaxSuggestions = 10

// SuggestRequest describes a cart for which a customer could use further coupons.
type SuggestRequest struct {
	// QuoteRequest has the cart and the codes that the customer has entered. SkipRefused and Conflicts are ignored.
	QuoteRequest
	// Offers are the coupons. They are required.
	Offers *Offers
	// Visible reports whether customers may see a coupon and its plain code. It is required, because a code may be known
	// to few. A coupon without a plain code is never suggested, even if it is automatic.
	Visible func(*coupon.Coupon) bool
	// Best and Nearly are the maximum numbers of suggestions of each kind, at most [MaxSuggestions].
	Best   int
	Nearly int
	// NearlyFrom is the part of a minimum that the cart must have reached; see [offers.NearOptions].
	NearlyFrom pricing.Percent
}

// Suggestions are coupons that the customer has not entered.
type Suggestions struct {
	// Best are the coupons that make the cart cheaper, the greatest saving first, then the least ID.
	Best []Suggestion
	// Nearly are the coupons that the customer gets by buying a little more, the greatest discount first, then the
	// least ID.
	Nearly []Suggestion
}

// Suggestion is a coupon that the customer could use.
type Suggestion struct {
	// Terms are the terms of the coupon, with its plain code.
	Terms coupon.Snapshot
	// Saves is what the coupon lowers the total by. A coupon of Best is added to the codes of the request, as
	// with [eligibility.KeepBest]. A coupon of Nearly is used alone, after the customer has bought more.
	Saves pricing.Money
	// Missing is the amount to add, and Pieces the number of units; see [offers.Near]. Only suggestions of Nearly have
	// one of them.
	Missing pricing.Money
	Pieces  int64
	// Contained reports that the amount is one of units that the cart must contain.
	Contained bool
}

// Suggest finds coupons that the customer could use for a cart. The index of the [Offers] proposes coupons, and
// the store decides about each of them: no suggestion is used up, switched off or changed. Suggest tries the
// coupons first that take most off alone, and at most 8 more than are wanted. A coupon that takes more off beside the
// codes than alone may be missed.
//
// The limiter of [WithLimiter] counts the codes of the request as it does for [Service.Quote]. Suggestions take no
// attempt. A customer who has to sign in gets none.
//
// Suggest returns these errors:
//
//   - A [*validation.Error] means that the request is malformed.
//   - [ErrTooManyAttempts] means that the customer has entered too many wrong codes.
//   - [ErrUnavailable] means that the processor did not answer about a code of the request.
func (s *Service) Suggest(ctx context.Context, r SuggestRequest) (found Suggestions, err error) {
	attempt := settle.Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpSuggest, &attempt, &err)()
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return Suggestions{}, err
	}
	r.SkipRefused, r.Conflicts = false, eligibility.RefuseAll
	quoter, request := s.quoter(s.mirrors.Recent, &attempt), quote.Request(r.QuoteRequest)
	var faults validation.Error
	faults.Merge("", quoter.Validate(&request))
	faults.Merge("", r.validate())
	if err := faults.Err(); err != nil {
		return Suggestions{}, err
	}
	now, best, nearly, err := quoter.Suggest(ctx, request, quote.Wanted{
		Index: r.Offers.Index(), Searches: &r.Offers.automatic, Visible: r.Visible, Best: r.Best, Nearly: r.Nearly, NearlyFrom: r.NearlyFrom,
	})
	attempt.CouponID = now.CouponID()
	return Suggestions{Best: suggested(best, request.Cart.Currency), Nearly: suggested(nearly, request.Cart.Currency)}, err
}

func (r *SuggestRequest) validate() error {
	var faults validation.Error
	if r.Offers == nil {
		faults.Add("offers", validation.Required, "are required")
	}
	if r.Visible == nil {
		faults.Add("visible", validation.Required, "is required: it tells which codes customers may see")
	}
	faults.Merge("", checkSuggestions("best", r.Best))
	faults.Merge("", checkSuggestions("nearly", r.Nearly))
	return faults.Err()
}

func checkSuggestions(field string, n int) error {
	switch {
	case n < 0:
		return validation.New(field, validation.TooSmall, "must not be negative")
	case n > MaxSuggestions:
		return validation.New(field, validation.TooLarge, fmt.Sprintf("must be at most %d", MaxSuggestions))
	}
	return nil
}

func suggested(found []quote.Suggestion, c pricing.Currency) []Suggestion {
	list := make([]Suggestion, len(found))
	for i, f := range found {
		list[i] = Suggestion{Terms: f.Terms, Saves: pricing.NewMoney(f.Saves, c), Pieces: f.Pieces, Contained: f.Contained}
		if f.Missing > 0 {
			list[i].Missing = pricing.NewMoney(f.Missing, c)
		}
	}
	return list
}
