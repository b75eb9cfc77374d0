package app

import (
	"net/http"

	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/examples/service/internal/web"
)

// registerPages adds the pages that people use.
func registerPages(mux *http.ServeMux, calls *api.API) error {
	site, err := web.New(web.Options{Who: func(r *http.Request) (signedIn, administrator bool) {
		session, known, err := calls.Session(r)
		if err != nil {
			return true, true // the page that is shown then asks the API, which reports the failure
		}
		return known, session.User.Role == shop.Administrator
	}})
	if err != nil {
		return err
	}
	site.Register(mux)
	return nil
}
