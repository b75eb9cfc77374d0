package app

import (
	"net/http"

	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/examples/service/internal/web"
)

// newSite returns the pages that people use. They ask whose a request is.
func newSite(c Config, calls func() *api.API) (*web.Site, error) {
	return web.New(web.Options{Panel: panel{calls, c.Location}, Location: c.Location, Who: func(r *http.Request) (signedIn, administrator bool) {
		s, known, err := calls().Session(r)
		if err != nil {
			return true, true // the page that is shown then asks the API, which reports the failure
		}
		return known, s.User.Role == shop.Administrator
	}})
}
