package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func couponListClauses() []clause {
	return []clause{
		{"list coupons newest first", "ListCoupons returns a page of coupons, newest first (by creation, then by ID), with how many there are in all", listCouponsNewestFirst},
		{"list coupons by page number", "Page counts from 1; 0 is 1; PageSize is 1 to MaxPageSize; 0 is DefaultPageSize; Next is the cursor of the next page, also of a page that was asked for by its number", listCouponsByPage},
		{"list coupons by cursor", "a cursor is stable: it neither repeats nor skips coupons that exist all the while, whatever is created or deleted in between", listCouponsByCursor},
		{"lists of one instant", "the newest first: by creation, to the microsecond, then by ID, byte by byte", listsOfOneInstant},
		{"lists count allow-lists", "the allow-lists of a list are narrowed to no address, and still tell how many there are", listsCountAllowLists},
		{"lists hold no addresses", "the allow-lists of a list are narrowed to no address, on every page and with a search", listsHoldNoAddresses},
		{"totals are exact", "the total of a list is exact up to ExactTotal; above it may be the least there is, and says so", totalsAreExact},
		{"list refuses what is no page", "a fault of the bounds, a state that there is not, and what is no cursor, is a *pricing.ValidationError", listRefuses},
	}
}

// scattered stores coupons in an order that is not that of the list, some of them of
// one instant, and returns them as they are listed.
func (p *probe) scattered(count int) []coupon.Coupon {
	p.Helper()
	all := make([]coupon.Coupon, count)
	for i := range all {
		created := at((i * 7 % count) / 3)
		all[i] = p.coupon(createdAt(created), func(c *coupon.Coupon) { c.ID = fmt.Sprintf("cpn_%02d%s", i*5%count, c.ID) })
	}
	slices.SortFunc(all, newestFirst)
	return all
}

func newestFirst(a, b coupon.Coupon) int {
	if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
		return c
	}
	return strings.Compare(b.ID, a.ID)
}

func listCouponsNewestFirst(p *probe) {
	empty, err := p.s.ListCoupons(p.Context(), store.CouponList{})
	p.ok(err, "ListCoupons")
	same(p, empty, store.CouponPage{}, "the list of no coupons")
	all := p.scattered(store.DefaultPageSize + 4)
	used := p.opened(all[3], "ann")
	p.settleSession(redemption.SessionCompleted, used)
	p.reserve(all[3], "bob")
	all[3].UsedCount, all[3].ReservedCount = 1, 1
	last := len(all) - 1
	all[last].UpdatedAt = at(9000)
	all[last], err = p.s.UpdateCoupon(p.Context(), all[last])
	p.ok(err, "UpdateCoupon")

	page, err := p.s.ListCoupons(p.Context(), store.CouponList{})
	p.ok(err, "ListCoupons")
	same(p, page.Items, all[:store.DefaultPageSize], "the first page")
	same(p, page.Total, int64(len(all)), "the total")
	if page.Next == "" {
		p.stop("there is no cursor of the second page")
	}
	first := page.Next
	page, err = p.s.ListCoupons(p.Context(), store.CouponList{After: first, Page: 9})
	p.ok(err, "ListCoupons")
	same(p, page, store.CouponPage{Items: all[store.DefaultPageSize:], Total: int64(len(all))}, "the last page")
	for _, ignored := range []int{-1, store.MaxPage + 1} {
		again, err := p.s.ListCoupons(p.Context(), store.CouponList{After: first, Page: ignored})
		p.ok(err, "ListCoupons after a cursor, with the page %d, which is ignored", ignored)
		same(p, again, page, "the last page")
	}
}

func listsOfOneInstant(p *probe) {
	c := p.coupon(createdAt(at(-100)))
	var coupons []coupon.Coupon
	var redemptions []redemption.Redemption
	for _, one := range ofOneInstant() { // the newest is made last, and listed first
		coupons = slices.Insert(coupons, 0, p.coupon(createdAt(one.created), func(c *coupon.Coupon) { c.ID = coupon.IDPrefix + one.id }))
		r := p.checkout(c, "ann", p.key())
		r.Redemption.ID = redemption.IDPrefix + one.id
		r.Order.ReservationID = r.Redemption.ID
		r.Redemption.CreatedAt, r.Redemption.UpdatedAt = one.created, one.created
		redemptions = slices.Insert(redemptions, 0, p.place(r).Redemption)
	}
	for _, size := range []int{2, store.MaxPageSize} {
		var listed []coupon.Coupon
		for list := (store.CouponList{PageSize: size}); ; {
			page, err := p.s.ListCoupons(p.Context(), list)
			p.ok(err, "ListCoupons")
			listed = append(listed, page.Items...)
			if list.After = page.Next; list.After == "" || len(page.Items) == 0 {
				break
			}
		}
		same(p, listed[:min(len(coupons), len(listed))], coupons, "the coupons that were made at once, by %d", size)
		same(p, p.redemptions(store.RedemptionList{PageSize: size}), redemptions, "the redemptions that were made at once, by %d", size)
	}
}

func listCouponsByPage(p *probe) {
	all := p.scattered(7)
	for _, test := range []struct {
		page, size int
		want       []coupon.Coupon
		more       bool
	}{
		{0, 3, all[:3], true},
		{1, 3, all[:3], true},
		{2, 3, all[3:6], true},
		{3, 3, all[6:], false},
		{4, 3, nil, false},
		{1, 7, all, false},
		{1, 6, all[:6], true},
		{2, 1, all[1:2], true},
		{1, store.MaxPageSize, all, false},
		{store.MaxPage, store.MaxPageSize, nil, false},
	} {
		page, err := p.s.ListCoupons(p.Context(), store.CouponList{Page: test.page, PageSize: test.size})
		p.ok(err, "ListCoupons of page %d of %d", test.page, test.size)
		same(p, page.Items, test.want, "page %d of %d", test.page, test.size)
		same(p, page.Total, int64(len(all)), "the total on page %d of %d", test.page, test.size)
		same(p, page.AtLeast, false, "a total of up to store.ExactTotal is exact, page %d of %d", test.page, test.size)
		if more := page.Next != ""; more != test.more {
			p.broken("page %d of %d says that there are more: %t", test.page, test.size, more)
			continue
		}
		if !test.more {
			continue
		}
		next, err := p.s.ListCoupons(p.Context(), store.CouponList{After: page.Next, PageSize: test.size})
		p.ok(err, "ListCoupons after page %d of %d", test.page, test.size)
		after := max(test.page, 1) * test.size
		same(p, next.Items, all[after:min(after+test.size, len(all))], "the page after page %d of %d", test.page, test.size)
	}
}

func listCouponsByCursor(p *probe) {
	all := p.scattered(14)
	gone := map[string]bool{}
	var listed []coupon.Coupon
	list := store.CouponList{PageSize: 3}
	for round := 0; ; round++ {
		page, err := p.s.ListCoupons(p.Context(), list)
		p.ok(err, "ListCoupons")
		listed = append(listed, page.Items...)
		if page.Next == "" || len(page.Items) == 0 {
			break
		}
		if round > len(all) {
			p.stop("the list has no end")
		}
		list.After = page.Next
		// The last of the page is what the cursor refers to, the other is yet to come.
		for _, c := range []coupon.Coupon{page.Items[len(page.Items)-1], all[len(all)-1-round]} {
			if !gone[c.ID] {
				gone[c.ID] = true
				p.ok(p.s.DeleteCoupon(p.Context(), c.ID, c.Revision), "DeleteCoupon")
			}
		}
		p.coupon(createdAt(at(100+2*round)), named("new"))
		p.coupon(createdAt(at(101+2*round)), named("new"))
		p.coupon(createdAt(at(-100-round)), named("old"))
	}
	var kept []coupon.Coupon
	for _, c := range listed {
		if !gone[c.ID] && c.Name != "old" && c.Name != "new" {
			kept = append(kept, c)
		}
	}
	want := slices.DeleteFunc(slices.Clone(all), func(c coupon.Coupon) bool { return gone[c.ID] })
	same(p, kept, want, "what was listed of the coupons that existed all the while")
	for _, c := range listed {
		if c.Name == "new" {
			p.broken("a coupon that is newer than the first page was listed on a later one")
		}
	}
	if !slices.IsSortedFunc(listed, newestFirst) {
		p.broken("the list is not newest first")
	}
}

func listsCountAllowLists(p *probe) {
	emails, err := coupon.NewEmailSet("ann@example.org", "bob@example.org", "cem@example.org")
	p.own(err)
	p.coupon(func(c *coupon.Coupon) { c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, emails })
	page, err := p.s.ListCoupons(p.Context(), store.CouponList{})
	p.ok(err, "ListCoupons")
	same(p, len(page.Items), 1, "the number of coupons")
	if list := page.Items[0].AllowedUserEmails; list.Len() != emails.Len() {
		p.broken("the list has a coupon with %d addresses, and not %d", list.Len(), emails.Len())
	}
}

func listsHoldNoAddresses(p *probe) {
	emails, err := coupon.NewEmailSet("ann@example.org", "bob@example.org")
	p.own(err)
	for range 2 {
		p.coupon(named("club"), func(c *coupon.Coupon) { c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, emails })
	}
	for _, search := range []string{"", "club"} {
		list := store.CouponList{Search: search, PageSize: 1}
		for range 2 {
			page, err := p.s.ListCoupons(p.Context(), list)
			p.ok(err, "ListCoupons(%+v)", list)
			same(p, len(page.Items), 1, "the number of coupons of the list %+v", list)
			if held := page.Items[0].AllowedUserEmails.Slice(); len(held) > 0 {
				p.broken("the list %+v has a coupon that tells the addresses %q", list, held)
			}
			list.After = page.Next
		}
	}
}

// totalsAreExact makes as many coupons and redemptions as there may be of an exact total,
// and one more.
func totalsAreExact(p *probe) {
	c := p.coupon()
	coupons, requests := make([]coupon.Coupon, store.ExactTotal), make([]store.Reservation, store.ExactTotal)
	for i := range coupons {
		coupons[i], requests[i] = p.draft(named("counted")), p.checkout(c, numbered(i), p.key())
	}
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		for ; i < store.ExactTotal; i += p.can.Goroutines {
			_, err := s.Reserve(ctx, requests[i])
			if err = errors.Join(err, s.CreateCoupon(ctx, coupons[i])); err != nil {
				return err
			}
		}
		return nil
	})
	p.succeeded(errs, nil, "calls")
	for more := range int64(2) {
		found, err := p.s.ListCoupons(p.Context(), store.CouponList{Search: "counted"})
		p.ok(err, "ListCoupons")
		p.total("coupons that are found", found.Total, found.AtLeast, store.ExactTotal+more)
		all, err := p.s.ListRedemptions(p.Context(), store.RedemptionList{CouponID: c.ID})
		p.ok(err, "ListRedemptions")
		p.total("redemptions", all.Total, all.AtLeast, store.ExactTotal+more)
		p.coupon(named("counted"))
		p.reserve(c, "ann")
	}
}

// total checks the total of a list of so many.
func (p *probe) total(of string, got int64, atLeast bool, want int64) {
	p.Helper()
	exact := got == want && !atLeast
	if !exact && (want <= store.ExactTotal || !atLeast || got < store.ExactTotal || got >= want) {
		p.broken("the total of %d %s is %d, at least: %t", want, of, got, atLeast)
	}
}

func listRefuses(p *probe) {
	c := p.coupon()
	p.reserve(c, "ann")
	for _, list := range []store.CouponList{
		{Page: -1},
		{Page: store.MaxPage + 1},
		{Page: math.MaxInt},
		{PageSize: -1},
		{PageSize: store.MaxPageSize + 1},
		{Search: strings.Repeat("x", store.MaxSearchLength+1)},
		{Search: strings.Repeat("Ж", store.MaxSearchLength+1)},
		{After: "x"},
		{After: "%%%"},
		{After: "a b"},
		{After: strings.Repeat("A", 2_000)},
		{After: "x", Search: "a\x00"},
	} {
		_, err := p.s.ListCoupons(p.Context(), list)
		p.fails(err, pricing.ErrInvalid, "ListCoupons(%.99s)", fmt.Sprintf("%+v", list))
	}
	for _, list := range []store.RedemptionList{
		{PageSize: -1},
		{PageSize: store.MaxPageSize + 1},
		{After: "x"},
		{After: "%%%"},
		{State: redemption.Released + 1},
		{After: "x", CouponID: "a\x00"},
		{After: "x", CustomerID: "a\x00"},
	} {
		_, err := p.s.ListRedemptions(p.Context(), list)
		p.fails(err, pricing.ErrInvalid, "ListRedemptions(%+v)", list)
	}
}

func redemptionListClauses() []clause {
	return []clause{
		{"list redemptions", "ListRedemptions returns a page of redemptions, newest first (by creation, then by ID); CouponID, CustomerID and State narrow the list, and its total", listRedemptions},
		{"list redemptions by cursor", "the cursor of a page neither repeats nor skips redemptions, whatever is made in between", listRedemptionsByCursor},
	}
}

// mixed stores redemptions of two coupons, two customers and all states, in an order
// that is not that of the list.
func (p *probe) mixed(count int) []redemption.Redemption {
	p.Helper()
	coupons := []coupon.Coupon{p.coupon(), p.coupon()}
	all := make([]redemption.Redemption, count)
	for i := range all {
		r := p.checkout(coupons[i%2], []string{"ann", "bob"}[i/2%2], p.key())
		r.Redemption.CreatedAt = at((i * 5 % count) / 2)
		r.Redemption.ID = fmt.Sprintf("rsv_%02d_%d", i*3%count, i)
		r.Order.ReservationID = r.Redemption.ID
		reserved := p.open(p.place(r))
		switch i % 3 {
		case 1:
			p.settleSession(redemption.SessionCompleted, reserved)
		case 2:
			p.settleSession(redemption.SessionExpired, reserved)
		}
		all[i] = p.redemption(r.Redemption.ID)
	}
	slices.SortFunc(all, func(a, b redemption.Redemption) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	return all
}

func listRedemptions(p *probe) {
	all := p.mixed(23)
	coupons := []string{"", all[0].CouponID, all[len(all)-1].CouponID, "cpn_unknown"}
	for _, list := range []store.RedemptionList{
		{},
		{State: redemption.Reserved},
		{State: redemption.Completed},
		{State: redemption.Released},
		{CustomerID: "ann"},
		{CustomerID: "Ann"},
		{CustomerID: "bob", State: redemption.Completed},
	} {
		for _, list.CouponID = range coupons {
			var want []redemption.Redemption
			for _, r := range all {
				if (list.CouponID == "" || list.CouponID == r.CouponID) && (list.State == 0 || list.State == r.State) &&
					(list.CustomerID == "" || list.CustomerID == r.CustomerID) {
					want = append(want, r)
				}
			}
			same(p, p.redemptions(list), want, "the list %+v", list)
			page, err := p.s.ListRedemptions(p.Context(), list)
			p.ok(err, "ListRedemptions")
			same(p, page.Total, int64(len(want)), "the total of the list %+v", list)
			same(p, page.AtLeast, false, "a total of up to store.ExactTotal is exact, list %+v", list)
			same(p, page.Items, want[:min(len(want), store.DefaultPageSize)], "the first page of the list %+v", list)
			p.listed(list, want)
			if more := len(want) > store.DefaultPageSize; more != (page.Next != "") {
				p.broken("the first page of %d redemptions says that there are more: %t", len(want), !more)
			}
		}
	}
}

// listed reads the list page by page, each with the total of all.
func (p *probe) listed(list store.RedemptionList, want []redemption.Redemption) {
	p.Helper()
	list.PageSize = 4
	var got []redemption.Redemption
	for range len(want) + 1 {
		page, err := p.s.ListRedemptions(p.Context(), list)
		p.ok(err, "ListRedemptions")
		same(p, page.Total, int64(len(want)), "the total of the list %+v", list)
		got = append(got, page.Items...)
		if page.Next == "" {
			break
		}
		list.After = page.Next
	}
	same(p, got, want, "the pages of the list %+v", list)
}

func listRedemptionsByCursor(p *probe) {
	all := p.mixed(11)
	c := p.coupon()
	list := store.RedemptionList{PageSize: 2}
	var listed []redemption.Redemption
	for round := 0; ; round++ {
		page, err := p.s.ListRedemptions(p.Context(), list)
		p.ok(err, "ListRedemptions")
		for _, r := range page.Items {
			if r.CouponID != c.ID {
				listed = append(listed, r)
			} else if r.CreatedAt.After(all[0].CreatedAt) {
				p.broken("a redemption that is newer than the first page was listed on a later one")
			}
		}
		if page.Next == "" {
			break
		}
		if round > 2*len(all) {
			p.stop("the list has no end")
		}
		list.After = page.Next
		for _, created := range []int{1000 + round, -1000 - round} {
			r := p.checkout(c, "cem", p.key())
			r.Redemption.CreatedAt = at(created)
			p.place(r)
		}
	}
	same(p, listed, all, "what was listed of the redemptions that existed all the while")
}

// allRedemptions reads a list to its end.
func allRedemptions(ctx context.Context, s store.Store, list store.RedemptionList) ([]redemption.Redemption, error) {
	var all []redemption.Redemption
	list.PageSize = store.MaxPageSize
	for {
		page, err := s.ListRedemptions(ctx, list)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all, nil
		}
		if page.Next == list.After {
			return nil, fmt.Errorf("ListRedemptions returned the cursor that it was given")
		}
		list.After = page.Next
	}
}

// allCoupons reads the list of coupons to its end.
func allCoupons(ctx context.Context, s store.Store) ([]coupon.Coupon, error) {
	var all []coupon.Coupon
	list := store.CouponList{PageSize: store.MaxPageSize}
	for {
		page, err := s.ListCoupons(ctx, list)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all, nil
		}
		if page.Next == list.After {
			return nil, fmt.Errorf("ListCoupons returned the cursor that it was given")
		}
		list.After = page.Next
	}
}
