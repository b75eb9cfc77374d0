package api

import (
	"net/http"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
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
}

func (s Suggestions) any() bool { return s.Best || s.Nearly }

// maxNearly is the number of coupons that are shown as nearly reached.
const maxNearly = 2

// nearlyFrom is the part of a minimum that a cart must have reached: a half.
func nearlyFrom() pricing.Percent {
	half, _ := pricing.PercentFromDecimal(decimal.NewFromInt(50)) // no error: a valid percentage
	return half
}

type offersView struct {
	// Best is absent if no coupon makes the cart cheaper.
	Best   *offerView  `json:"best,omitempty"`
	Nearly []offerView `json:"nearly"`
}

type offerView struct {
	Code  coupon.Code     `json:"code"`
	Terms coupon.Snapshot `json:"terms"`
	// Saves is what the cart costs less than with the codes of the request, for a coupon that is nearly reached alone.
	Saves pricing.Money `json:"saves"`
	// Missing is the amount that is missing, or Pieces the number of units.
	Missing pricing.Money `json:"missing,omitzero"`
	// Contained tells that the amount is one of units that the cart must contain.
	Contained bool  `json:"contained,omitempty"`
	Pieces    int64 `json:"pieces,omitempty"`
}

func newOffer(s couponkit.Suggestion) offerView {
	return offerView{Code: s.Terms.Code, Terms: s.Terms, Saves: s.Saves, Missing: s.Missing, Contained: s.Contained, Pieces: s.Pieces}
}

// offers tells which coupons the customer of a cart could use.
func (a *API) offers(w http.ResponseWriter, r *http.Request) error {
	asked, err := a.quoteRequest(r)
	if err != nil {
		return err
	}
	view := offersView{Nearly: []offerView{}}
	if asked.Customer.ID == "" && !a.Guests || !a.Suggestions.any() {
		writeJSON(w, http.StatusOK, view)
		return nil
	}
	request := couponkit.SuggestRequest{QuoteRequest: asked, Offers: a.Suggestions.Offers, Visible: visible, NearlyFrom: nearlyFrom()}
	if a.Suggestions.Best {
		request.Best = 1
	}
	if a.Suggestions.Nearly {
		request.Nearly = maxNearly
	}
	found, err := a.Service.Suggest(r.Context(), request)
	if err != nil {
		return err
	}
	for _, s := range found.Best {
		best := newOffer(s)
		view.Best = &best
	}
	for _, s := range found.Nearly {
		view.Nearly = append(view.Nearly, newOffer(s))
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

// visible shows customers every plain code that they may use. A shop whose codes are known to few selects here.
func visible(*coupon.Coupon) bool { return true }
