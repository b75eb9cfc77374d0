package api

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// Admitted returns the request of an administrator as the library sees it. A form repeats the token
// of its session in the field csrf.
func (a *API) Admitted(r *http.Request) (*http.Request, error) {
	if r.Method == http.MethodPost {
		if err := r.ParseForm(); err != nil {
			return r, problem{Status: http.StatusBadRequest, Code: "bad_request", Title: "The form could not be read."}
		}
		r.Header.Set(CSRFHeader, r.PostFormValue("csrf"))
	}
	return a.admit(call{access: administrator}, r)
}

// RefundForm is what the page of an order shows of its form.
type RefundForm struct {
	Order SoldOrder
	// Refundable is whether anything can be refunded.
	Refundable bool
	// Units, Shipping and Elsewhere are what was entered, the units line by line.
	Units     []int64
	Shipping  bool
	Elsewhere bool
	// Preview is the refund that was asked for; nil is none.
	Preview *RefundPreview
}

// RefundPreview is a refund before it is made. Fields repeat what was entered.
type RefundPreview struct {
	Refund Refund
	Key    string
	Fields []FormField
}

// FormField is a field of a form.
type FormField struct{ Name, Value string }

// RefundForm reads the form of an order. A request that shows a refund changes nothing. A request that
// was sent by POST makes the refund if it still gives back the amount that was shown, or repeats the
// refund that the field "again" names; then done is true. The form is returned beside an error, unless
// there is no such order.
func (a *API) RefundForm(r *http.Request) (form RefundForm, done bool, err error) {
	found, err := a.anyOrder(r)
	if err != nil {
		return form, false, err
	}
	o := found.Order
	if form.Order, err = a.sold(r, found); err != nil {
		return form, false, err
	}
	form.Refundable = o.State.Paid() && o.State != redemption.OrderRefunded && len(form.Order.Lines) > 0
	form.Units = make([]int64, len(form.Order.Lines))
	if err := r.ParseForm(); err != nil {
		return form, false, problem{Status: http.StatusBadRequest, Code: "bad_request", Title: "The form could not be read."}
	}
	request := couponkit.RefundRequest{OrderID: o.ID, Key: r.PostForm.Get("key"), Elsewhere: r.Form.Get("elsewhere") != ""}
	if again := r.PostForm.Get("again"); again != "" {
		i := slices.IndexFunc(o.Refunds, func(made redemption.Refund) bool { return made.ID == again })
		if i < 0 {
			return form, false, store.ErrNotFound
		}
		request.Key, request.Returns = o.Refunds[i].Key, o.Refunds[i].Returns
		_, err = a.refund(r, request)
		return form, err == nil, err
	}
	if r.Form.Get("show") == "" {
		return form, false, nil
	}
	form.Elsewhere = request.Elsewhere
	if request.Returns, err = form.returns(r.Form); err != nil {
		return form, false, err
	}
	if _, recorded := o.RefundOf(request.Key); r.Method == http.MethodPost && recorded {
		_, err = a.refund(r, request) // the form was sent twice
		return form, err == nil, err
	}
	shown, err := a.previewRefund(o, request)
	if err != nil {
		return form, false, err
	}
	form.Preview = &RefundPreview{Refund: shown, Key: rand.Text(), Fields: form.fields(r.Form.Get("show"))}
	switch {
	case r.Method != http.MethodPost:
		return form, false, nil
	case shown.Amount != r.PostForm.Get("amount"):
		return form, false, problem{
			Status: http.StatusConflict, Code: "conflict", Title: "The order was changed meanwhile. Look at the refund again.",
		}
	}
	_, err = a.refund(r, request)
	return form, err == nil, err
}

// returns reads the items to return. For a malformed field, the error has the field's name.
func (f *RefundForm) returns(form url.Values) (returns pricing.Returns, err error) {
	if form.Get("show") == "all" {
		return pricing.Returns{All: true}, nil
	}
	var faults validation.Error
	f.Shipping = form.Get("shipping") != ""
	returns.Shipping = f.Shipping
	for i, line := range f.Order.Lines {
		text := strings.TrimSpace(form.Get("units" + strconv.Itoa(i)))
		if text == "" || text == "0" || f.Shipping && line.Shipping {
			continue
		}
		units, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			faults.Add(line.Name, validation.Malformed, "must be a whole number")
			continue
		}
		f.Units[i] = units
		returns.Lines = append(returns.Lines, pricing.LineReturn{Line: i, Quantity: units})
	}
	return returns, faults.Err()
}

func (f *RefundForm) fields(show string) []FormField {
	fields := []FormField{{"show", show}}
	if f.Shipping {
		fields = append(fields, FormField{"shipping", "true"})
	}
	if f.Elsewhere {
		fields = append(fields, FormField{"elsewhere", "true"})
	}
	for i, units := range f.Units {
		if units != 0 {
			fields = append(fields, FormField{"units" + strconv.Itoa(i), strconv.FormatInt(units, 10)})
		}
	}
	return fields
}
