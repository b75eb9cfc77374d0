package app

import (
	"net/http"

	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/examples/service/internal/web"
)

// newSite returns the pages that people use. They ask whose a request is.
func newSite(calls func() *api.API) (*web.Site, error) {
	return web.New(web.Options{Coupons: coupons{calls}, Panel: panel{calls}, Who: func(r *http.Request) (signedIn, administrator bool) {
		s, known, err := calls().Session(r)
		if err != nil {
			return true, true // the page that is shown then asks the API, which reports the failure
		}
		return known, s.User.Role == shop.Administrator
	}})
}

// coupons creates the coupons of the form that works without scripts.
type coupons struct{ calls func() *api.API }

// Token returns the token of the session.
func (c coupons) Token(r *http.Request) string {
	s, _, _ := c.calls().Session(r) // without a session there is no token, and the form is refused
	return s.CSRFToken
}

// Create creates a coupon.
func (c coupons) Create(r *http.Request) (code string, status int, faults []web.Fault) {
	created, err := c.calls().CreateFromForm(r)
	if err == nil {
		return created.Code.String(), http.StatusSeeOther, nil
	}
	status, text, fields := api.Problem(err)
	if len(fields) == 0 {
		faults = append(faults, web.Fault{Message: text})
	}
	for _, f := range fields {
		faults = append(faults, web.Fault{Field: f.Field, Message: f.Message})
	}
	return "", status, faults
}
