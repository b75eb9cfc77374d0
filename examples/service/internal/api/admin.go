package api

import (
	"crypto/rand"
	"net/http"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

func (a *API) createCoupon(w http.ResponseWriter, r *http.Request) error {
	var draft coupon.Draft
	if err := readInto(r, &draft); err != nil {
		return err
	}
	c, err := a.Service.Create(r.Context(), draft)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/admin/coupon/"+c.ID)
	writeJSON(w, http.StatusCreated, c)
	return nil
}

func (a *API) getCoupon(w http.ResponseWriter, r *http.Request) error {
	c, err := a.Service.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, c)
	return nil
}

func (a *API) updateCoupon(w http.ResponseWriter, r *http.Request) error {
	var patch coupon.Patch
	if err := readInto(r, &patch); err != nil {
		return err
	}
	c, err := a.Service.Update(r.Context(), r.PathValue("id"), patch)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, c)
	return nil
}

func (a *API) setStatus(w http.ResponseWriter, r *http.Request) error {
	var active coupon.Optional[bool]
	read, err := readForm(r, map[string]any{"active": &active})
	if err != nil {
		return err
	}
	var faults pricing.ValidationError
	on, given := active.Value()
	if !given {
		faults.Add("active", pricing.FieldRequired, "must be true or false")
	}
	if err := read.besides(faults); err != nil {
		return err
	}
	c, err := a.Service.SetActive(r.Context(), r.PathValue("id"), on)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, c)
	return nil
}

func (a *API) deleteCoupon(w http.ResponseWriter, r *http.Request) error {
	if err := a.Service.Delete(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// generatedLength is how long generated codes are: 80 bits, so that no one guesses
// a code however often he tries.
const generatedLength = 16

type codeView struct {
	Code string `json:"code"`
}

func (a *API) generateCode(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, codeView{rand.Text()[:generatedLength]})
	return nil
}
