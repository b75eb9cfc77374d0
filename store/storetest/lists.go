package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func listClauses() []clause {
	return []clause{
		{"coupons are listed", "ListCoupons returns a page of coupons, newest first, then by ID; their allow-lists tell how many addresses they have, and hold none", couponsAreListed},
		{"coupons are found", "Search finds coupons whose name, code or description holds the text, whatever the letter case; % and _ mean themselves", couponsAreFound},
		{"cursors skip nothing", "a cursor neither repeats nor skips coupons that exist all the while", cursorsSkipNothing},
		{"orders are listed", "ListOrders returns a page of orders, newest first, narrowed to customer and state", ordersAreListed},
		{"uses are listed", "ListUses returns a page of uses, newest first, narrowed to coupon, customer, exchange and state", usesAreListed},
		{"work for the sweep", "DueAt narrows a list to what a sweep has to look at, the oldest first", workForTheSweep},
		{"lists out of bounds", "a list out of bounds, or with a cursor of no list, is pricing.ErrInvalid", listsOutOfBounds},
	}
}

// lister reads the page of a list that follows a cursor.
type lister[V any] func(after string, size int) (items []V, next string, err error)

func couponsOf(ctx context.Context, s store.Store, list store.CouponList) lister[coupon.Coupon] {
	return func(after string, size int) ([]coupon.Coupon, string, error) {
		list.After, list.PageSize = after, size
		page, err := s.ListCoupons(ctx, list)
		return page.Items, page.Next, err
	}
}

func ordersOf(ctx context.Context, s store.Store, list store.OrderList) lister[store.Settled] {
	return func(after string, size int) ([]store.Settled, string, error) {
		list.After, list.PageSize = after, size
		page, err := s.ListOrders(ctx, list)
		return page.Items, page.Next, err
	}
}

func usesOf(ctx context.Context, s store.Store, list store.UseList) lister[redemption.Use] {
	return func(after string, size int) ([]redemption.Use, string, error) {
		list.After, list.PageSize = after, size
		page, err := s.ListUses(ctx, list)
		return page.Items, page.Next, err
	}
}

// allPages reads a list page by page.
func allPages[V any](read lister[V], size int) (all []V, err error) {
	for after := ""; ; {
		items, next, err := read(after, size)
		if err == nil && (len(items) > size || next != "" && len(items) < size) {
			err = fmt.Errorf("%w: a page of %d has %d entries and the next page %q", errContradiction, size, len(items), next)
		}
		all = append(all, items...)
		if after = next; err != nil || next == "" {
			return all, err
		}
	}
}

// pages reads a list in pages of each size.
func pages[V any](p *probe, want []V, sizes []int, read lister[V]) {
	p.Helper()
	for _, size := range sizes {
		got, err := allPages(read, size)
		p.ok(err, "reading a list in pages of %d", size)
		same(p, got, want, "the list in pages of %d", size)
	}
}

// only returns the values that a filter keeps.
func only[V any](all []V, keep func(V) bool) []V {
	return slices.DeleteFunc(slices.Clone(all), func(v V) bool { return !keep(v) })
}

func couponsAreListed(p *probe) {
	var all []coupon.Coupon
	for i := range 7 {
		all = append(all, p.coupon(createdAt(at(i/3)))) // of one instant the IDs decide
	}
	limited := p.coupon(createdAt(at(9)), p.forAddresses("ann@shop.example", "bob@shop.example"), limits(3, 1))
	p.reserve(p.checkout("ann", limited))
	limited.AllowedUserEmails, limited.ReservedCount = coupon.NarrowedEmailSet(2, ""), 1
	all = append(all, limited)
	slices.Reverse(all)
	pages(p, all, []int{1, 2, 3, 8, 100}, couponsOf(p.Context(), p.s, store.CouponList{}))
	for number := range 5 {
		page := answer(p, store.Store.ListCoupons, store.CouponList{Page: number, PageSize: 3})
		from := min((max(number, 1)-1)*3, len(all))
		same(p, page.Items, all[from:min(from+3, len(all))], "the page %d", number)
		same(p, page.Total, int64(len(all)), "the total on the page %d", number)
	}
	same(p, answer(p, store.Store.ListCoupons, store.CouponList{Page: store.MaxPage, PageSize: store.MaxPageSize}), store.CouponPage{Total: int64(len(all))}, "a page behind the end")
	for range store.DefaultPageSize {
		p.coupon()
	}
	same(p, len(answer(p, store.Store.ListCoupons, store.CouponList{}).Items), store.DefaultPageSize, "the default size of a page")
}

func couponsAreFound(p *probe) {
	texts := []string{"Sommer 50% weniger", "a_b", "ÄRGER", "straße", "ΣΊΣΥΦΟΣ", "emoji 👍🏽", `back\slash`, "quote ' \" `", "[a-z]", "tab\tinside", "İstanbul", "a", "%%", "*", "Ǆ"}
	var all []coupon.Coupon
	for i, text := range texts {
		change := described(text)
		if i%2 == 0 && !strings.Contains(text, "\t") {
			change = named(text)
		}
		all = append(all, p.coupon(change, createdAt(at(i))))
	}
	all = append(all, p.coupon(named("not by its name"), createdAt(at(99)), coded(p.code("XYZZY-ÄÖ"))))
	slices.Reverse(all)
	searches := append([]string{"xyzzy", "äö", "50%", "%", "_", "A_B", "ärger", "STRASSE", "STRASSE", "σίσυφος", "ς", "👍", `\`, "'", "[", "SOMMER", " ", "istanbul", "ǆ", "ǅ", "nothing", strings.Repeat("x", store.MaxSearchLength)}, texts...)
	for _, search := range searches {
		want := only(all, func(c coupon.Coupon) bool {
			return slices.ContainsFunc([]string{c.Name, c.Code.String(), c.Description}, func(text string) bool {
				return strings.Contains(store.Fold(text), store.Fold(search))
			})
		})
		list := store.CouponList{Search: search}
		pages(p, want, []int{1, 100}, couponsOf(p.Context(), p.s, list))
		same(p, answer(p, store.Store.ListCoupons, list).Total, int64(len(want)), "how many coupons %q finds", search)
	}
}

func cursorsSkipNothing(p *probe) {
	var all []coupon.Coupon
	for i := range 12 {
		all = append(all, p.coupon(createdAt(at(i))))
	}
	slices.Reverse(all)
	first := answer(p, store.Store.ListCoupons, store.CouponList{PageSize: 4})
	p.coupon(createdAt(at(100)))        // before the cursor
	p.save(store.DeleteCoupon, all[3])  // the last of the page
	p.save(store.DeleteCoupon, all[1])  // one of the page
	p.save(store.DeleteCoupon, all[11]) // one behind the page
	changed := p.edit(all[5], named("changed"))
	rest := answer(p, store.Store.ListCoupons, store.CouponList{After: first.Next, Page: 7, PageSize: 100})
	want := slices.Clone(all[4:11])
	want[1] = changed
	same(p, rest.Items, want, "the coupons behind the cursor")
}

func ordersAreListed(p *probe) {
	c := p.coupon()
	var orders []store.Settled
	for i := range 12 {
		r := p.checkout([]string{"ann", "bob", "Ann"}[i%3], c)
		r.Order.CreatedAt = at(i / 4)
		orders = append(orders, p.happen(p.reserve(r).Order, histories[i%6]...))
	}
	slices.SortFunc(orders, func(a, b store.Settled) int {
		return cmp.Or(b.Order.CreatedAt.Compare(a.Order.CreatedAt), strings.Compare(b.Order.ID, a.Order.ID))
	})
	for _, list := range []store.OrderList{
		{}, {CustomerID: "ann"}, {State: redemption.OrderPaid}, {CustomerID: "bob", State: redemption.OrderOpen}, {CustomerID: "nobody"}, {State: redemption.OrderCancelled},
	} {
		want := only(orders, func(o store.Settled) bool {
			return (list.CustomerID == "" || list.CustomerID == o.Order.CustomerID) && (list.State == 0 || list.State == o.Order.State)
		})
		pages(p, want, []int{1, 5, 100}, ordersOf(p.Context(), p.s, list))
	}
}

func usesAreListed(p *probe) {
	a, b, points := p.coupon(), p.coupon(), p.coupon(forPoints)
	for i := range 6 {
		o := p.reserve(p.checkout([]string{"ann", "bob"}[i%2], a, b)).Order
		p.happen(o, [][]redemption.EventKind{{}, {redemption.Paid}, {redemption.Cancelled}}[i%3]...)
	}
	held := p.exchanged("ann", points)
	p.reserve(taking(p.checkout("ann", points), held))
	uses := p.everything().Uses
	slices.SortFunc(uses, func(a, b redemption.Use) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	})
	for _, list := range []store.UseList{
		{},
		{CouponID: a.ID},
		{CustomerID: "ann"},
		{CouponID: b.ID, CustomerID: "bob"},
		{State: redemption.Completed},
		{ExchangeID: held.ID},
		{CouponID: a.ID, CustomerID: "ann", State: redemption.Released},
		{CouponID: "cpn_none"},
		{CustomerID: "ANN"},
		{ExchangeID: held.ID, State: redemption.Reserved},
	} {
		want := only(uses, func(u redemption.Use) bool {
			return (list.CouponID == "" || list.CouponID == u.CouponID) && (list.CustomerID == "" || list.CustomerID == u.CustomerID) &&
				(list.ExchangeID == "" || list.ExchangeID == u.ExchangeID) && (list.State == 0 || list.State == u.State)
		})
		pages(p, want, []int{1, 4, 100}, usesOf(p.Context(), p.s, list))
		list.PageSize = 1
		page := answer(p, store.Store.ListUses, list)
		same(p, []any{page.Total, page.AtLeast}, []any{int64(len(want)), false}, "the total of %+v", list)
	}
}

func workForTheSweep(p *probe) {
	c, points := p.coupon(), p.coupon(forPoints)
	for i := range 3 {
		for _, history := range histories {
			r := p.checkout("ann", c)
			r.Order.Deadline = at(1000 * (i + 1))
			p.happen(p.reserve(r).Order, history...)
		}
		forever := p.checkout("ann")
		forever.Order.Deadline = time.Time{}
		p.reserve(forever)
		customer := fmt.Sprint("c", i)
		p.reserve(p.exchange(customer, points))
		due := p.reserve(taking(p.checkout("d"+customer, points), p.exchanged("d"+customer, points)))
		p.happen(due.Order, redemption.Cancelled)
		p.exchanged("e"+customer, points)
	}
	all := p.everything()
	slices.SortFunc(all.Orders, func(a, b store.Settled) int { return a.Order.CreatedAt.Compare(b.Order.CreatedAt) })
	slices.SortFunc(all.Uses, func(a, b redemption.Use) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, due := range []time.Time{at(0), at(899), at(900), at(999), at(1000), at(1000).Add(time.Nanosecond), at(1999), at(2000), at(9999)} {
		orders := only(all.Orders, func(o store.Settled) bool {
			return !o.Order.Deadline.IsZero() && !o.Order.Deadline.After(due)
		})
		pages(p, orders, []int{1, 7, 100}, ordersOf(p.Context(), p.s, store.OrderList{DueAt: due}))
		uses := only(all.Uses, func(u redemption.Use) bool { return u.Due(due) })
		pages(p, uses, []int{1, 7, 100}, usesOf(p.Context(), p.s, store.UseList{DueAt: due}))
	}
}

func listsOutOfBounds(p *probe) {
	p.coupon()
	for _, list := range []store.CouponList{
		{PageSize: -1},
		{PageSize: store.MaxPageSize + 1},
		{Page: -1},
		{Page: store.MaxPage + 1},
		{After: "none"},
		{After: "\x00"},
		{Search: strings.Repeat("é", store.MaxSearchLength+1)},
		{Search: "a\x00"},
		{Search: "\xff"},
	} {
		fails(p, store.Store.ListCoupons, list, pricing.ErrInvalid, "out of bounds")
	}
	for _, list := range []store.OrderList{{PageSize: -1}, {PageSize: store.MaxPageSize + 1}, {State: 99}, {After: "none"}} {
		fails(p, store.Store.ListOrders, list, pricing.ErrInvalid, "out of bounds")
	}
	for _, list := range []store.UseList{{PageSize: -1}, {PageSize: store.MaxPageSize + 1}, {State: 99}, {After: "none"}} {
		fails(p, store.Store.ListUses, list, pricing.ErrInvalid, "out of bounds")
	}
}
