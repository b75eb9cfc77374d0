package api

import (
	"encoding/base64"
	"net/http"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// GuestCookie is the name of the cookie that lets the browser of a guest see the guest's orders.
// The cookie holds the address that the guest has entered.
const GuestCookie = "couponkit_guest"

// buyerOf returns who buys: who is signed in, or a guest with the given address. An address that
// cannot be used is a fault of the field email.
func (a *API) buyerOf(r *http.Request, email string, faults *pricing.ValidationError) eligibility.Customer {
	if email == "" {
		return customer(r)
	}
	_, signedIn := sessionFrom(r.Context())
	switch {
	case signedIn:
		faults.Add("email", pricing.FieldNotAllowed, "only guests give an address; you are signed in")
		return customer(r)
	case !a.Guests:
		faults.Add("email", pricing.FieldNotAllowed, "this shop has no guests; sign in first")
		return customer(r)
	}
	address, err := coupon.ParseEmail(email)
	faults.At("email", err)
	return eligibility.Customer{Email: address}
}

// payerOf is buyerOf for a checkout, for which a guest gives an address.
func (a *API) payerOf(r *http.Request, email string, faults *pricing.ValidationError) eligibility.Customer {
	if _, signedIn := sessionFrom(r.Context()); a.Guests && !signedIn && email == "" {
		faults.Add("email", pricing.FieldRequired, "an e-mail address is required")
	}
	return a.buyerOf(r, email, faults)
}

// readerID returns the customer whose orders a request may see. The ID is empty for nobody.
func (a *API) readerID(r *http.Request) string {
	if s, signedIn := sessionFrom(r.Context()); signedIn || !a.Guests {
		return s.User.ID
	}
	cookie, err := r.Cookie(GuestCookie)
	if err != nil {
		return ""
	}
	email, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return ""
	}
	id, err := couponkit.GuestID(string(email))
	if err != nil {
		return ""
	}
	return id
}

// remember lets the browser of a guest see the guest's orders until it is closed.
func (a *API) remember(w http.ResponseWriter, c eligibility.Customer) {
	if c.ID != "" {
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure unless the operator has asked for plain HTTP
		Name: GuestCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(c.Email)), Path: "/",
		HttpOnly: true, Secure: !a.InsecureCookies, SameSite: http.SameSiteLaxMode,
	})
}
