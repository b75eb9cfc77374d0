package app

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/web"
	"github.com/couponkit/couponkit/validation"
)

// panel provides the data of the administrators' pages.
type panel struct {
	calls    func() *api.API
	location *time.Location
}

// Show returns the data of a page.
func (p panel) Show(template string, r *http.Request) (web.Shown, error) {
	r, err := p.calls().Admitted(r)
	if err != nil {
		return web.Shown{}, err
	}
	switch template {
	case "admin_orders":
		return p.orders(r)
	case "admin_order":
		return p.order(r)
	}
	return p.coupon(r)
}

// Failure returns the status and the text of the page for an error.
func (panel) Failure(err error) (status int, text string) {
	status, text, faults := api.Problem(err)
	return status, withFaults(text, faults)
}

func withFaults(text string, faults []validation.Field) string {
	parts := []string{strings.TrimSuffix(text, ".")}
	for _, f := range faults {
		parts = append(parts, f.Path+": "+f.Message)
	}
	return strings.Join(parts, ". ") + "."
}

// shownWith adds the faults of a form to the form. It returns every other error.
func (p panel) shownWith(shown web.Shown, err error) (web.Shown, error) {
	if err == nil {
		return shown, nil
	}
	status, text := p.Failure(err)
	if status >= http.StatusInternalServerError {
		return web.Shown{}, err
	}
	shown.Status, shown.Problem = status, text
	return shown, nil
}

type ordersShown struct {
	Page                         api.OrderPage
	NextPage                     string
	Customer, State, From, Until string
	States                       []string
}

func (p panel) orders(r *http.Request) (web.Shown, error) {
	q := given(r.URL.Query()) // empty fields of the form are no filters
	r.URL.RawQuery = q.Encode()
	page, err := p.calls().OrderPage(r)
	shown := ordersShown{
		Page: page, Customer: q.Get("customer"), State: q.Get("state"), From: q.Get("from"), Until: q.Get("until"),
		States: []string{"open", "awaiting_payment", "paid", "cancelled", "partly_refunded", "refunded", "ending"},
	}
	if page.Next != "" {
		q.Set("after", page.Next)
		shown.NextPage = "/admin/orders?" + q.Encode()
	}
	return p.shownWith(web.Shown{Data: shown}, err)
}

func given(q url.Values) url.Values {
	for name, values := range q {
		if len(values) == 1 && values[0] == "" {
			q.Del(name)
		}
	}
	return q
}

type orderShown struct {
	api.RefundForm

	Token string
}

func (p panel) order(r *http.Request) (web.Shown, error) {
	form, done, err := p.calls().RefundForm(r)
	if form.Order.ID == "" {
		return web.Shown{}, err
	}
	if done {
		return web.Shown{Redirect: "/admin/orders/" + form.Order.ID}, nil
	}
	session, _, _ := p.calls().Session(r) // without a session there is no token, and the form will be refused
	return p.shownWith(web.Shown{Data: orderShown{form, session.CSRFToken}}, err)
}

type couponShown struct {
	Ranges    []int
	Days      int
	TimeZone  string
	Uses      web.Chart
	Discounts []web.Chart
	Rows      []web.Day
	History   []web.Change
	Older     string
}

// coupon returns the figures and the history of a coupon. If the coupon never existed, the page is
// empty.
func (p panel) coupon(r *http.Request) (web.Shown, error) {
	q := given(r.URL.Query())
	before := q.Get("before")
	q.Del("before")
	if q.Get("timeZone") == "" {
		q.Set("timeZone", p.location.String())
	}
	r.URL.RawQuery = q.Encode()
	usage, err := p.calls().Usage(r)
	if errors.Is(err, coupon.ErrNotFound) {
		return web.Shown{}, nil
	}
	shown := couponShown{Ranges: []int{7, 30, 90, 365}, Days: len(usage.Days), TimeZone: cmp.Or(usage.TimeZone, q.Get("timeZone"))}
	for _, d := range usage.Days {
		shown.Rows = append(shown.Rows, dayOf(d))
	}
	shown.Uses, shown.Discounts = web.UsesChart(shown.Rows), web.DiscountCharts(shown.Rows)
	asked := url.Values{}
	if before != "" {
		asked.Set("before", before)
	}
	r.URL.RawQuery = asked.Encode()
	history, failed := p.calls().History(r)
	for _, item := range history.Items {
		change := web.Change{Kind: item.Kind, By: item.By, At: item.At, Unsupported: item.Unsupported}
		for _, f := range item.Fields {
			change.Fields = append(change.Fields, web.ChangedField{Name: f.Field, Before: f.Before, After: f.After})
		}
		shown.History = append(shown.History, change)
	}
	if history.Before != 0 {
		shown.Older = "?before=" + strconv.FormatInt(history.Before, 10)
	}
	return p.shownWith(web.Shown{Data: shown}, errors.Join(err, failed))
}

func dayOf(d api.UsageDay) web.Day {
	day := web.Day{Date: d.Date, Completed: d.Completed, Reserved: d.Reserved, Restored: d.Restored}
	for _, a := range d.Amounts {
		discount, returned := a.Money()
		day.Amounts = append(day.Amounts, web.Amount{Discount: discount, Returned: returned})
	}
	return day
}
