package api

import (
	"net/http"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// Codes are codes of a coupon, sorted by their keys.
type Codes struct {
	Items []coupon.IssuedCode `json:"items"`
	// Next asks for the next page. It is empty on the last page.
	Next string `json:"next"`
}

// codeFilter are the parameters that select codes of a coupon.
var codeFilter = []string{"batch", "owner", "state", "unused", "used"} // never changed

// codes reads the codeFilter, and the coupon in the path.
func (q *query) codes() store.CodeList {
	list := store.CodeList{
		CouponID: q.r.PathValue("id"), Batch: q.text("batch"), State: q.state(), Unused: q.flag("unused"), Used: q.flag("used"),
	}
	var err error
	list.Owner, err = coupon.ParseOwner(q.text("owner"))
	q.faults.At("owner", err)
	return list
}

// Codes returns the codes of the coupon that the path of a request names.
func (a *API) Codes(r *http.Request) (Codes, error) {
	q := query{r: r}
	q.only(append(slices.Clip(codeFilter), "after", "pageSize")...)
	list := q.codes()
	list.After, list.PageSize = q.text("after"), q.number("pageSize", store.DefaultPageSize, store.MaxPageSize)
	if err := q.faults.Err(); err != nil {
		return Codes{}, err
	}
	if _, err := a.Service.Get(r.Context(), list.CouponID); err != nil {
		return Codes{}, err
	}
	page, err := a.Service.ListCodes(r.Context(), list)
	view := Codes{Items: page.Items, Next: page.Next}
	if view.Items == nil {
		view.Items = []coupon.IssuedCode{}
	}
	return view, err
}

func (a *API) codes(w http.ResponseWriter, r *http.Request) error {
	view, err := a.Codes(r)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

// codeDrafts are the codes of a request. Decoding stops at MaxEntries.
type codeDrafts []coupon.CodeDraft

// MaxEntries returns the maximum number of codes in a request.
func (*codeDrafts) MaxEntries() int { return coupon.MaxCodes }

// addCodes adds a batch of codes to a coupon. A repeated call has the same answer.
func (a *API) addCodes(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	var batch coupon.Batch
	var drafts codeDrafts
	read, err := readForm(r, map[string]any{"batch": &batch, "codes": &drafts})
	if err != nil {
		return err
	}
	_, err = coupon.NewCodes(id, batch, drafts, coupon.Edit{At: a.Now(), Location: a.Location})
	var rules validation.Error
	rules.Merge("", err)
	if err := read.besides(rules); err != nil {
		return err
	}
	codes, err := a.Service.AddCodes(r.Context(), id, batch, drafts)
	a.audit(r, "add codes", id, err)
	if err != nil {
		return reusedBatch(err, "batch.id")
	}
	writeJSON(w, http.StatusCreated, Codes{Items: codes})
	return nil
}

// codeOf returns the code in the path of a request, in any form that customers may type. A code of
// another coupon counts as not found.
func (a *API) codeOf(r *http.Request) (coupon.IssuedCode, error) {
	id := r.PathValue("id")
	c, err := a.Service.FindCode(r.Context(), r.PathValue("code"))
	if err == nil && c.CouponID != id {
		err = coupon.Reject(id, coupon.CouponNotFound, coupon.Params{})
	}
	return c, err
}

func (a *API) getCode(w http.ResponseWriter, r *http.Request) error {
	c, err := a.codeOf(r)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, c)
	return nil
}

func (a *API) updateCode(w http.ResponseWriter, r *http.Request) error {
	var patch coupon.CodePatch
	read, err := readForm(r, map[string]any{
		"revision": &patch.Revision, "active": &patch.Active, "maxUses": &patch.MaxUses, "owner": &patch.Owner, "expiresAt": &patch.ExpiresAt,
	})
	if err != nil {
		return err
	}
	before, err := a.codeOf(r)
	if err != nil {
		return err
	}
	_, err = before.Apply(patch, coupon.Edit{At: a.Now(), Location: a.Location})
	var rules validation.Error
	rules.Merge("", err)
	if err := read.besides(rules); err != nil {
		return err
	}
	c, err := a.Service.UpdateCode(r.Context(), before.Code.String(), patch)
	a.audit(r, "change a code", before.CouponID, err)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, c)
	return nil
}
