package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

type couponPage struct {
	Items    []listedCoupon `json:"items"`
	Page     int            `json:"page"`
	PageSize int            `json:"pageSize"`
	Total    int64          `json:"total"`
	// AtLeast means that there are more than Total coupons: the store stopped counting.
	AtLeast bool `json:"atLeast"`
	// SortedWithin is "all", or "page" if there were too many coupons to sort. Then only this page is
	// sorted.
	SortedWithin string `json:"sortedWithin"`
	// Unreadable lists the coupons of the page that the store cannot read.
	Unreadable []Unreadable `json:"unreadable,omitempty"`
}

// Unreadable is a record of a list that the store cannot read.
type Unreadable struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

func unreadable(records []*store.UnreadableError) (list []Unreadable) {
	for _, r := range records {
		list = append(list, Unreadable{r.ID, r.Reason})
	}
	return list
}

// listedCoupon is a coupon in a list. It has the number of addresses on the allow-list, but not the
// addresses. A coupon with budgets has what is left of them.
type listedCoupon struct {
	coupon.Coupon

	budgets []UsageBudget
}

// MarshalJSON writes the coupon without the addresses, and with the rest of its budgets.
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
	if len(l.budgets) > 0 {
		if fields["budgets"], err = json.Marshal(l.budgets); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

func (a *API) listCoupons(w http.ResponseWriter, r *http.Request) error {
	const maxPage = 1_000_000
	q := query{r: r}
	q.only("page", "pageSize", "search", "sort", "order", "state", "type", "startsFrom", "startsUntil", "expiresFrom", "expiresUntil", "expired", "usedUp", "usable")
	list := store.CouponList{
		State: q.state(), DiscountType: q.discountType(), Starts: q.period("starts", a.Location), Expires: q.period("expires", a.Location),
		UsedUp: q.choice("usedUp", "", "true") != "",
		Search: q.text("search"), Page: q.number("page", 1, maxPage),
		PageSize: q.number("pageSize", store.DefaultPageSize, store.MaxPageSize),
	}
	by := q.choice("sort", byCreation, "code", "name", "discount", "scope", "used", "points", "expires", "status")
	order := q.choice("order", "", "asc", "desc")
	if q.choice("expired", "", "true") != "" {
		list.ExpiredAt = a.Now()
	}
	usable := q.choice("usable", "", "true") != ""
	_, err := list.Normalize()
	q.faults.Merge("", err)
	if err := q.faults.Err(); err != nil {
		return err
	}
	page, within, err := a.sorted(r.Context(), list, by, order, usable)
	if err != nil {
		return err
	}
	if !usable {
		page = countedUpTo(list, page)
	}
	view := couponPage{
		Items: make([]listedCoupon, len(page.Items)), Page: list.Page, PageSize: list.PageSize,
		Total: page.Total, AtLeast: page.AtLeast, SortedWithin: within, Unreadable: unreadable(page.Unreadable),
	}
	spent, err := a.Service.Spent(r.Context(), page.Items...)
	if err != nil {
		return err
	}
	for i, c := range page.Items {
		view.Items[i] = listedCoupon{c, budgets(c, spent[i])}
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

// state reads a state that administrators can filter by.
func (q *query) state() (s coupon.State) {
	if name := q.choice("state", "", coupon.Active.String(), coupon.Inactive.String()); name != "" {
		s, _ = coupon.ParseState(name) // choice returns only these two names
	}
	return s
}

func (q *query) discountType() (t pricing.DiscountType) {
	if name := q.text("type"); name != "" && t.UnmarshalText([]byte(name)) != nil {
		q.faults.Add("type", validation.Unknown, "is no discount type")
	}
	return t
}

// countedUpTo corrects a total at which the store stopped counting. It uses what this page shows: the
// page is the last, or another page follows.
func countedUpTo(list store.CouponList, page store.CouponPage) store.CouponPage {
	shown := len(page.Items) + len(page.Unreadable)
	seen := int64(list.Page-1)*int64(list.PageSize) + int64(shown)
	switch {
	case !page.AtLeast || shown == 0:
	case page.Next == "":
		page.Total, page.AtLeast = seen, false
	default:
		page.Total = max(page.Total, seen+1)
	}
	return page
}

const (
	byCreation = "createdAt"
	descending = "desc"
	// maxSorted is the maximum number of coupons that are sorted as a whole. The store lists by
	// creation only. Every other order needs all coupons in memory.
	maxSorted = 1_000
)

// sorted returns the page in the requested order. If usable is true, it has only coupons that can be
// used now.
func (a *API) sorted(ctx context.Context, list store.CouponList, by, order string, usable bool) (store.CouponPage, string, error) {
	if usable {
		page, err := a.usable(ctx, list, by, order)
		return page, "all", err
	}
	page, err := a.Service.List(ctx, list)
	if err != nil || by == byCreation && order != "asc" {
		return page, "all", err
	}
	if page.AtLeast || page.Total > maxSorted {
		sortCoupons(page.Items, by, order)
		return page, "page", nil
	}
	all, unread, err := a.everyCoupon(ctx, list)
	if err != nil {
		return page, "all", err
	}
	return pageOf(all, unread, list, by, order), "all", nil
}

// pageOf returns a page of all coupons, sorted. Unreadable coupons come last.
func pageOf(all []coupon.Coupon, unread []*store.UnreadableError, list store.CouponList, by, order string) (page store.CouponPage) {
	if by != byCreation || order == "asc" {
		sortCoupons(all, by, order)
	}
	begin := (list.Page - 1) * list.PageSize
	page.Items = window(all, begin, begin+list.PageSize)
	page.Unreadable = window(unread, begin-len(all), begin-len(all)+list.PageSize)
	page.Total = int64(len(all) + len(unread))
	return page
}

// window returns list[begin:end], with both bounds limited to the list.
func window[T any](list []T, begin, end int) []T {
	begin, end = min(max(begin, 0), len(list)), min(max(end, 0), len(list))
	return list[begin:end]
}

// usable returns a page of the coupons that can be used now. These are active, started, not expired,
// not used up, and have budget left. If there are more than 2*maxSorted active coupons, only the newest
// are considered.
func (a *API) usable(ctx context.Context, list store.CouponList, by, order string) (store.CouponPage, error) {
	if list.State == coupon.Inactive {
		return store.CouponPage{}, nil
	}
	list.State = coupon.Active
	all, _, err := a.everyCoupon(ctx, list) // unreadable coupons cannot be used
	if err != nil {
		return store.CouponPage{}, err
	}
	looked, now := len(all), a.Now()
	all = slices.DeleteFunc(all, func(c coupon.Coupon) bool {
		return c.StartsAt.After(now) || !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt) ||
			c.Limits.MaxUses > 0 && c.UsedCount+c.ReservedCount >= c.Limits.MaxUses
	})
	spent, err := a.Service.Spent(ctx, all...)
	if err != nil {
		return store.CouponPage{}, err
	}
	var left []coupon.Coupon
	for i, c := range all {
		of := budgets(c, spent[i])
		if len(of) == 0 || slices.ContainsFunc(of, func(b UsageBudget) bool { return b.left.Minor() > 0 }) {
			left = append(left, c)
		}
	}
	page := pageOf(left, nil, list, by, order)
	page.AtLeast = looked > 2*maxSorted
	return page, nil
}

func (a *API) everyCoupon(ctx context.Context, list store.CouponList) (all []coupon.Coupon, unread []*store.UnreadableError, err error) {
	list.Page, list.PageSize = 0, store.MaxPageSize
	for c, err := range a.Service.Coupons(ctx, list) {
		unreadable, is := errors.AsType[*store.UnreadableError](err)
		switch {
		case is:
			unread = append(unread, unreadable)
		case err != nil:
			return nil, nil, err
		case len(all) > 2*maxSorted:
			return all, unread, nil
		default:
			all = append(all, c)
		}
	}
	return all, unread, nil
}

// sortCoupons sorts stably, so that equal coupons stay newest first.
func sortCoupons(coupons []coupon.Coupon, by, order string) {
	slices.SortStableFunc(coupons, func(x, y coupon.Coupon) int {
		c := compareBy(by, x, y)
		if order == descending {
			return -c
		}
		return c
	})
}

func compareBy(by string, x, y coupon.Coupon) int {
	switch by {
	case "code":
		return cmp.Compare(x.Code.String(), y.Code.String())
	case "name":
		return cmp.Compare(store.Fold(x.Name), store.Fold(y.Name)) // ignore letter case, as the search does
	case "discount":
		return cmp.Or(cmp.Compare(x.Discount.Type(), y.Discount.Type()), discountValue(x).Cmp(discountValue(y)))
	case "scope":
		return cmp.Compare(x.Scope.AppliesTo, y.Scope.AppliesTo)
	case "used":
		return cmp.Compare(x.UsedCount, y.UsedCount)
	case "points":
		return cmp.Compare(x.PointsRequired, y.PointsRequired)
	case "expires":
		return compareExpiry(x, y)
	case "status":
		return cmp.Compare(x.State, y.State)
	}
	return x.CreatedAt.Compare(y.CreatedAt)
}

func discountValue(c coupon.Coupon) decimal.Decimal {
	if amount := c.Discount.Amount(); !amount.IsZero() {
		return amount.Decimal()
	}
	return c.Discount.Percent().Decimal()
}

// compareExpiry puts coupons that never expire last.
func compareExpiry(x, y coupon.Coupon) int {
	switch never := x.ExpiresAt.IsZero(); {
	case never == y.ExpiresAt.IsZero():
		return x.ExpiresAt.Compare(y.ExpiresAt)
	case never:
		return 1
	}
	return -1
}
