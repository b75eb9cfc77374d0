package storetest

import (
	"context"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Calls of a history that change nothing.

func (h *history) lookUp() request {
	by := store.LookUp{CustomerID: pick(h, "", h.customer()), Email: pick(h, "", "Ann@example.org", "bob@example.org", "eve@example.org")}
	if name := h.name(); h.oneIn(2) {
		by.CouponID = coupon.IDPrefix + name
	} else {
		by.Code = h.code(name)
	}
	return request{fmt.Sprintf("look up %+v", by), func(s store.Store) (any, error) {
		found, err := s.LookUp(h.Context(), by)
		found.Coupon.AllowedUserEmails = found.Coupon.AllowedUserEmails.Narrow(by.Email) // a store need not
		return found, err
	}}
}

func (h *history) readOne() request {
	id, order, customer, key := h.recent(h.records), h.recent(h.orders), h.customer(), fmt.Sprintf("key-%d", h.random.IntN(40))
	couponID := coupon.IDPrefix + h.name()
	return pick(h,
		request{"coupon " + couponID, func(s store.Store) (any, error) { return s.Coupon(h.Context(), couponID) }},
		request{fmt.Sprintf("redemption %q", id), func(s store.Store) (any, error) { return s.Redemption(h.Context(), id) }},
		request{fmt.Sprintf("order %q", order), func(s store.Store) (any, error) { return s.Order(h.Context(), order) }},
		request{fmt.Sprintf("order of %s with %s", customer, key), func(s store.Store) (any, error) {
			return s.OrderByKey(h.Context(), customer, key)
		}},
	)
}

// listRedemptions reads the first pages of a list.
func (h *history) listRedemptions() request {
	list := store.RedemptionList{PageSize: 3, State: pick(h, 0, redemption.Reserved, redemption.Completed, redemption.Released)}
	switch h.random.IntN(3) {
	case 0:
		list.CouponID = coupon.IDPrefix + h.name()
	case 1:
		list.CustomerID = h.customer()
	}
	return request{fmt.Sprintf("list %+v", list), func(s store.Store) (any, error) {
		var pages [4]store.RedemptionPage
		list := list
		for i := range pages {
			page, err := s.ListRedemptions(h.Context(), list)
			if err != nil {
				return nil, err
			}
			list.After, page.Next = page.Next, "" // a cursor is the store's own
			pages[i] = page
			if list.After == "" {
				break
			}
		}
		return pages, nil
	}}
}

func (h *history) listCoupons() request {
	list := store.CouponList{Search: pick(h, "", "", "o", "Coupon 1", "ÄNDERUNG"), Page: h.random.IntN(4), PageSize: 1 + h.random.IntN(3)}
	return request{fmt.Sprintf("list %+v", list), func(s store.Store) (any, error) { return listed(h.Context(), s, list) }}
}

// listed is a page of coupons without what is the store's own in it.
func listed(ctx context.Context, s store.Store, list store.CouponList) (store.CouponPage, error) {
	page, err := s.ListCoupons(ctx, list)
	page.Next = "" // a cursor is the store's own
	return page, err
}

// due asks for work at any instant, some of which are those of deadlines.
func (h *history) due() request {
	when, most := at(h.random.IntN(h.next()+5)), pick(h, 1+h.random.IntN(20), 1_000)
	_, now := h.recordThat(func(r redemption.Redemption) bool { return !r.Deadline.IsZero() })
	if !now.Deadline.IsZero() && h.oneIn(2) {
		when = now.Deadline
	}
	return request{fmt.Sprintf("the first %d due at %s", most, when), func(s store.Store) (any, error) {
		records, err := s.Due(h.Context(), when, most)
		if err != nil {
			return nil, err
		}
		orders, err := s.OpenOrders(h.Context(), when, most)
		return []any{records, orders}, err
	}}
}

// everything compares what is stored in the end.
func (h *history) everything() {
	h.Helper()
	ctx, end := h.Context(), at(h.next())
	all := []request{
		{"all redemptions", func(s store.Store) (any, error) { return allRedemptions(ctx, s, store.RedemptionList{}) }},
		{"what is due", func(s store.Store) (any, error) { return s.Due(ctx, end, 1_000) }},
		{"open orders", func(s store.Store) (any, error) { return s.OpenOrders(ctx, end, 1_000) }},
	}
	for _, id := range h.orders {
		all = append(all, request{"order " + id, func(s store.Store) (any, error) { return s.Order(ctx, id) }})
	}
	for _, search := range []string{"", "tw", "ÄNDERUNG", "100%", "_x_", "%", "_y_", `\`, "STRASSE", "ångström", "\x00"} {
		all = append(all, request{fmt.Sprintf("search %q", search), func(s store.Store) (any, error) {
			return listed(ctx, s, store.CouponList{Search: search, PageSize: store.MaxPageSize})
		}})
	}
	for _, call := range all {
		h.compare(call.told, call.do)
	}
}
