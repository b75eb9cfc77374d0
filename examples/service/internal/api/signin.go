package api

import (
	"errors"
	"net/http"

	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/validation"
)

type sessionView struct {
	User      *userView `json:"user"`
	CSRFToken string    `json:"csrfToken"`
	// Guests reports whether customers can buy without signing in.
	Guests bool `json:"guests"`
	// Offers reports whether the shop tells customers about coupons for their cart.
	Offers bool `json:"offers"`
}

type userView struct {
	ID     string    `json:"id"`
	Email  string    `json:"email"`
	Name   string    `json:"name"`
	Role   shop.Role `json:"role"`
	Points int64     `json:"points"`
}

func (a *API) session(w http.ResponseWriter, r *http.Request) error {
	s, known := sessionFrom(r.Context())
	if !known {
		writeJSON(w, http.StatusOK, sessionView{Guests: a.Guests, Offers: a.Suggestions.any()})
		return nil
	}
	return a.writeSession(w, r, s)
}

func (a *API) writeSession(w http.ResponseWriter, r *http.Request, s shop.Session) error {
	points, err := a.Shop.Balance(r.Context(), s.User.ID)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, sessionView{
		User:      &userView{ID: s.User.ID, Email: s.User.Email, Name: s.User.Name, Role: s.User.Role, Points: points},
		CSRFToken: s.CSRFToken, Guests: a.Guests, Offers: a.Suggestions.any(),
	})
	return nil
}

func (a *API) login(w http.ResponseWriter, r *http.Request) error {
	var address, password string
	read, err := readForm(r, map[string]any{"email": &address, "password": &password})
	if err != nil {
		return err
	}
	var faults validation.Error
	if address == "" {
		faults.Add("email", validation.Required, "an e-mail address is required")
	}
	if password == "" {
		faults.Add("password", validation.Required, "a password is required")
	}
	if err := read.besides(faults); err != nil {
		return err
	}
	giveBack, err := a.take(r, logins, email.Normalize(address))
	if err != nil {
		return err
	}
	user, err := a.Shop.Authenticate(r.Context(), address, password)
	if errors.Is(err, shop.ErrWrongPassword) {
		return problem{Status: http.StatusUnauthorized, Code: "wrong_password", Title: "The e-mail address or the password is wrong."}
	}
	giveBack()
	if err != nil {
		return err
	}
	if err := a.signOut(r); err != nil {
		return err
	}
	token, session, err := a.Shop.SignIn(r.Context(), user)
	if err != nil {
		return err
	}
	a.setCookie(w, token)
	return a.writeSession(w, r, session)
}

func (a *API) logout(w http.ResponseWriter, r *http.Request) error {
	if err := a.signOut(r); err != nil {
		return err
	}
	a.setCookie(w, "")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
