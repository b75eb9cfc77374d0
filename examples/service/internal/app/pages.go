package app

import (
	"net/http"

	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/examples/service/internal/web"
)

// newSite returns the HTML pages. The pages get the session of a request from the API.
func newSite(c Config, calls func() *api.API) (*web.Site, error) {
	return web.New(web.Options{Panel: panel{calls, c.Location}, Location: c.Location, Who: func(r *http.Request) (signedIn, administrator bool) {
		s, known, err := calls().Session(r)
		if err != nil {
			return true, true // show the page: it calls the API, which reports the failure
		}
		return known, s.User.Role == shop.Administrator
	}})
}
