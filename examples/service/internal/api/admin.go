package api

import (
	"crypto/rand"
	"encoding/json"
	"net/http"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
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
	if err := readObject(r, map[string]any{"active": &active}); err != nil {
		return err
	}
	on, given := active.Value()
	if !given {
		var faults pricing.ValidationError
		faults.Add("active", pricing.FieldRequired, "must be true or false")
		return faults.Err()
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

type couponPage struct {
	Items    []listedCoupon `json:"items"`
	Page     int            `json:"page"`
	PageSize int            `json:"pageSize"`
	Total    int64          `json:"total"`
}

// listedCoupon is a coupon in a list: everything but the addresses of its
// allow-list, of which it tells how many there are.
type listedCoupon struct{ coupon.Coupon }

// MarshalJSON writes the coupon without the addresses.
func (l listedCoupon) MarshalJSON() ([]byte, error) {
	c := l.Coupon
	c.AllowedUserEmails = coupon.EmailSet{}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "allowedUserEmails")
	if fields["allowedUserCount"], err = json.Marshal(l.AllowedUserEmails.Len()); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

func (a *API) listCoupons(w http.ResponseWriter, r *http.Request) error {
	const maxPage = 1_000_000
	q := query{r: r}
	q.only("page", "pageSize", "search")
	list := store.CouponList{
		Search: q.text("search"), Page: q.number("page", 1, 1, maxPage),
		PageSize: q.number("pageSize", store.DefaultPageSize, 1, store.MaxPageSize),
	}
	if err := q.faults.Err(); err != nil {
		return err
	}
	page, err := a.Service.List(r.Context(), list)
	if err != nil {
		return err
	}
	view := couponPage{Items: make([]listedCoupon, len(page.Items)), Page: list.Page, PageSize: list.PageSize, Total: page.Total}
	for i, c := range page.Items {
		view.Items[i] = listedCoupon{c}
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}
