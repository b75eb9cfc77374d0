package app

import (
	"net/http"

	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/examples/service/internal/web"
)

// newSite returns the pages that people use. They ask whose a request is.
func newSite(session func(*http.Request) (s shop.Session, known bool, err error)) (*web.Site, error) {
	return web.New(web.Options{Who: func(r *http.Request) (signedIn, administrator bool) {
		s, known, err := session(r)
		if err != nil {
			return true, true // the page that is shown then asks the API, which reports the failure
		}
		return known, s.User.Role == shop.Administrator
	}})
}
