package api

import (
	"net/http"

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

// Codes returns the codes of the coupon that the path of a request names.
func (a *API) Codes(r *http.Request) (Codes, error) {
	q := query{r: r}
	q.only("batch", "owner", "state", "unused", "after", "pageSize")
	list := store.CodeList{
		CouponID: r.PathValue("id"), Batch: q.text("batch"), After: q.text("after"),
		PageSize: q.number("pageSize", store.DefaultPageSize, store.MaxPageSize),
	}
	var err error
	list.Owner, err = coupon.ParseOwner(q.text("owner"))
	q.faults.At("owner", err)
	switch state := q.text("state"); state {
	case "":
	case "active":
		list.State = coupon.Active
	case "inactive":
		list.State = coupon.Inactive
	default:
		q.faults.Add("state", validation.Unknown, "must be active or inactive")
	}
	switch unused := q.text("unused"); unused {
	case "", "false":
	case "true":
		list.Unused = true
	default:
		q.faults.Add("unused", validation.Malformed, "must be true or false")
	}
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
