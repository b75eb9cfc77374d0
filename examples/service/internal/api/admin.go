package api

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

func (a *API) createCoupon(w http.ResponseWriter, r *http.Request) error {
	var draft coupon.Draft
	strays, err := a.readCoupon(r, &draft, func() selections { return selectionsOf(&draft) })
	if err != nil {
		return err
	}
	c, err := a.Service.Create(r.Context(), draft)
	a.audit(r, "create", c.ID, err)
	if err != nil {
		return strays.beside(err)
	}
	w.Header().Set("Location", "/admin/coupon/"+c.ID)
	writeJSON(w, http.StatusCreated, c)
	return nil
}

// getCoupon answers with the coupon that has the given ID, or else the given code. The code may be in
// any form that customers type.
func (a *API) getCoupon(w http.ResponseWriter, r *http.Request) error {
	codeOrID := r.PathValue("id")
	c, err := a.Service.Get(r.Context(), codeOrID)
	if errors.Is(err, coupon.ErrNotFound) {
		c, err = a.Service.Find(r.Context(), codeOrID)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, c)
	return nil
}

func (a *API) updateCoupon(w http.ResponseWriter, r *http.Request) error {
	var patch coupon.Patch
	strays, err := a.readCoupon(r, &patch, func() (given selections) {
		given[0], _ = patch.PlanIDs.Value()
		given[1], _ = patch.DeviceIDs.Value()
		given[2], _ = patch.AccessoryIDs.Value()
		given[3], _ = patch.ExcludedItemIDs.Value()
		contains, _ := patch.Contains.Value()
		containsNot, _ := patch.ContainsNot.Value()
		given.setScopes(nil, &contains.ScopeDraft, &containsNot)
		return given
	})
	if err != nil {
		return err
	}
	c, err := a.Service.Update(r.Context(), r.PathValue("id"), patch)
	a.audit(r, "update", r.PathValue("id"), err)
	if err != nil {
		return strays.beside(err)
	}
	writeJSON(w, http.StatusOK, c)
	return nil
}

// readActive reads a body that says whether something is to be active.
func readActive(r *http.Request) (bool, error) {
	var active coupon.Optional[bool]
	read, err := readForm(r, map[string]any{"active": &active})
	if err != nil {
		return false, err
	}
	var faults validation.Error
	on, given := active.Value()
	if !given {
		faults.Add("active", validation.Required, "must be true or false")
	}
	return on, read.besides(faults)
}

func (a *API) setStatus(w http.ResponseWriter, r *http.Request) error {
	on, err := readActive(r)
	if err != nil {
		return err
	}
	c, err := a.Service.SetActive(r.Context(), r.PathValue("id"), on)
	what := "switch off"
	if on {
		what = "switch on"
	}
	a.audit(r, what, r.PathValue("id"), err)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, c)
	return nil
}

func (a *API) deleteCoupon(w http.ResponseWriter, r *http.Request) error {
	err := a.Service.Delete(r.Context(), r.PathValue("id"))
	a.audit(r, "delete", r.PathValue("id"), err)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// audit logs which administrator changed which coupon. Refused changes are not logged. A failed call
// may have changed the coupon, so it is logged with the code of its problem. The log has only the ID of
// the coupon.
func (a *API) audit(r *http.Request, what, id string, err error) {
	outcome := "done"
	if err != nil {
		p := problemOf(err)
		if p.Status < http.StatusInternalServerError {
			return
		}
		outcome = p.Code
	}
	if !strings.HasPrefix(id, coupon.IDPrefix) || len(id) > coupon.MaxIDLength {
		id = "" // the path may have had a code instead of an ID
	}
	a.Logger.InfoContext(r.Context(), "an administrator's change of a coupon", slog.String("who", customerOf(r).ID),
		slog.String("what", what), slog.String("coupon", id), slog.String("outcome", outcome))
}

// generatedSymbols is the length of generated codes. 16 symbols are 70 bits, too many to guess.
const generatedSymbols = 16

type codeView struct {
	Code coupon.Code `json:"code"`
}

func (a *API) generateCode(w http.ResponseWriter, _ *http.Request) error {
	form, err := codes.NewForm(coupon.CodeShape{Symbols: generatedSymbols})
	if err != nil {
		return err
	}
	code, err := form.Random(rand.Reader)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, codeView{code})
	return nil
}
