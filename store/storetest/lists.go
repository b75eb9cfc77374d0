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
	"github.com/couponkit/couponkit/validation"
)

func listClauses() []clause {
	return []clause{
		{"coupons are listed", "ListCoupons returns a page of coupons, newest first, then by ID; their allow-lists tell how many addresses they have, and hold none", couponsAreListed},
		{"coupons are found", "Search finds coupons whose name, code or description holds the text, whatever the letter case; % and _ mean themselves", couponsAreFound},
		{"cursors skip nothing", "a cursor neither repeats nor skips coupons that exist all the while", cursorsSkipNothing},
		{"coupons are narrowed", "a list of coupons is narrowed to a state, a type, periods of StartsAt and ExpiresAt, what has expired at an instant and what is used up", couponsAreNarrowed},
		{"sums", "Sums counts the uses of a coupon, their discounts and what refunds took back, by the days of a zone on which they were made", sumsOfUses},
		{"orders are listed", "ListOrders returns a page of orders, newest first, narrowed to a customer, a state and a period of CreatedAt", ordersAreListed},
		{"uses are listed", "ListUses returns a page of uses, newest first, narrowed to coupon, customer, exchange and state", usesAreListed},
		{"work for the sweep", "DueAt narrows a list to what a sweep has to look at, the oldest first", workForTheSweep},
		{"lists out of bounds", "a list out of bounds, or with a cursor of no list, is validation.ErrInvalid", listsOutOfBounds},
	}
}

// lister reads the page of a list after a cursor.
type lister[V any] func(after string, size int) (items []V, next string, err error)

func couponsOf(ctx context.Context, s store.Store, list store.CouponList) lister[coupon.Coupon] {
	return func(after string, size int) ([]coupon.Coupon, string, error) {
		list.After, list.PageSize = after, size
		page, err := s.ListCoupons(ctx, list)
		return page.Items, page.Next, cmp.Or(err, whole(page.Unreadable))
	}
}

func ordersOf(ctx context.Context, s store.Store, list store.OrderList) lister[store.Settled] {
	return func(after string, size int) ([]store.Settled, string, error) {
		list.After, list.PageSize = after, size
		page, err := s.ListOrders(ctx, list)
		return page.Items, page.Next, cmp.Or(err, whole(page.Unreadable))
	}
}

func usesOf(ctx context.Context, s store.Store, list store.UseList) lister[redemption.Use] {
	return func(after string, size int) ([]redemption.Use, string, error) {
		list.After, list.PageSize = after, size
		page, err := s.ListUses(ctx, list)
		return page.Items, page.Next, cmp.Or(err, whole(page.Unreadable))
	}
}

// whole returns the error of the first unreadable record, or nil.
func whole(unreadable []*store.UnreadableError) error {
	if len(unreadable) > 0 {
		return unreadable[0]
	}
	return nil
}

// allPages reads a list in pages of one size.
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

// pages reads a list in pages of each size, and compares it.
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
		all = append(all, p.coupon(createdAt(at(i/3)))) // IDs decide between coupons of the same instant
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
		p.finds(store.CouponList{Search: search}, want, 1, 100)
	}
}

// finds reads a list of coupons in pages of each size, and compares it and its total.
func (p *probe) finds(list store.CouponList, want []coupon.Coupon, sizes ...int) {
	p.Helper()
	pages(p, want, sizes, couponsOf(p.Context(), p.s, list))
	same(p, answer(p, store.Store.ListCoupons, list).Total, int64(len(want)), "the total of %+v", list)
}

// chosen reports whether a filter selects a value. A zero filter selects every value.
func chosen[V comparable](filter, value V) bool { return filter == *new(V) || filter == value }

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
	p.save(store.DeleteCoupon, all[11]) // an entry after the page
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
		orders = append(orders, p.placed(r, histories[i%6]...))
	}
	for range 2 {
		orders = append(orders, p.placed(p.checkout("ann", c), redemption.PaymentBegun, redemption.Cancelled))
	}
	slices.SortFunc(orders, func(a, b store.Settled) int {
		return cmp.Or(b.Order.CreatedAt.Compare(a.Order.CreatedAt), strings.Compare(b.Order.ID, a.Order.ID))
	})
	for _, list := range []store.OrderList{
		{}, {CustomerID: "ann"}, {State: redemption.OrderPaid}, {CustomerID: "bob", State: redemption.OrderOpen}, {CustomerID: "nobody"}, {State: redemption.OrderCancelled}, {State: redemption.OrderEnding},
	} {
		for _, list.Created = range periods(at(1), at(2)) {
			want := only(orders, func(o store.Settled) bool {
				return chosen(list.CustomerID, o.Order.CustomerID) && chosen(list.State, o.Order.State) && inside(list.Created, o.Order.CreatedAt)
			})
			pages(p, want, []int{1, 5, 100}, ordersOf(p.Context(), p.s, list))
		}
	}
}

func usesAreListed(p *probe) {
	a, b, points := p.coupon(), p.coupon(), p.coupon(forPoints)
	for i := range 6 {
		p.placed(p.checkout([]string{"ann", "bob"}[i%2], a, b), [][]redemption.EventKind{{}, {redemption.Paid}, {redemption.Cancelled}}[i%3]...)
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
		{ExchangeID: held.ID, State: redemption.Reserved},
		{CouponID: "cpn_none"},
		{CustomerID: "ANN"},
	} {
		want := only(uses, func(u redemption.Use) bool {
			return chosen(list.CouponID, u.CouponID) && chosen(list.CustomerID, u.CustomerID) && chosen(list.ExchangeID, u.ExchangeID) && chosen(list.State, u.State)
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
			p.placed(r, history...)
		}
		replaced := p.placed(p.checkout("ann", c), redemption.SessionAttached)
		p.reserve(p.retry(replaced.Order, c))
		paid := event(redemption.Paid, p.placed(p.checkout("ann", c), redemption.SessionAttached).Order)
		paid.SessionID += "_other"
		p.apply(paid)
		forever := p.checkout("ann")
		forever.Order.Deadline = time.Time{}
		p.reserve(forever)
		customer := fmt.Sprint("c", i)
		p.reserve(p.exchange(customer, points))
		p.placed(taking(p.checkout("d"+customer, points), p.exchanged("d"+customer, points)), redemption.Cancelled)
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
		{State: 99},
		{DiscountType: 99},
		{Starts: store.Period{From: at(1), Until: at(1)}},
		{Expires: store.Period{Until: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}},
		{ExpiredAt: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		fails(p, store.Store.ListCoupons, list, validation.ErrInvalid, "out of bounds")
	}
	for _, list := range []store.OrderList{{PageSize: -1}, {PageSize: store.MaxPageSize + 1}, {State: 99}, {After: "none"}, {Created: store.Period{From: at(2), Until: at(1)}}} {
		fails(p, store.Store.ListOrders, list, validation.ErrInvalid, "out of bounds")
	}
	for _, list := range []store.UseList{{PageSize: -1}, {PageSize: store.MaxPageSize + 1}, {State: 99}, {After: "none"}} {
		fails(p, store.Store.ListUses, list, validation.ErrInvalid, "out of bounds")
	}
}

// periods returns periods whose bounds are around some instants, to the nanosecond.
func periods(instants ...time.Time) []store.Period {
	bounds := []time.Time{{}}
	for _, t := range instants {
		bounds = append(bounds, t.Add(-time.Nanosecond), t, t.Add(time.Nanosecond))
	}
	var all []store.Period
	for _, from := range bounds {
		for _, until := range bounds {
			if from.IsZero() || until.IsZero() || from.Add(time.Microsecond).Before(until) {
				all = append(all, store.Period{From: from, Until: until})
			}
		}
	}
	return all
}

// inside reports whether a period has an instant. It is written independently of the contract's method.
func inside(period store.Period, at time.Time) bool {
	return period == (store.Period{}) || !at.IsZero() && at.Compare(period.From) >= 0 && (period.Until.IsZero() || at.Compare(period.Until) < 0)
}

func couponsAreNarrowed(p *probe) {
	fixed := p.amountOff(500)
	var all []coupon.Coupon
	for i := range 12 {
		c := p.coupon(createdAt(at(i)), limits([]int64{0, 1, 2}[i%3], 0), inState([]coupon.State{coupon.Active, coupon.Active, coupon.Inactive}[i/4]), func(c *coupon.Coupon) {
			if i%2 == 0 {
				c.Discount = fixed
			}
			if i%4 > 0 {
				c.StartsAt, c.ExpiresAt = at(100+i%4), at(200+i%4)
			}
		})
		if c.State == coupon.Active {
			p.reserve(p.checkout("ann", c))
			c.ReservedCount++
		}
		if i%4 == 2 && c.State == coupon.Active && c.Limits.MaxUses != 1 {
			p.placed(p.checkout("bob", c), redemption.Paid)
			c.UsedCount++
		}
		all = append(all, c)
	}
	all[1] = p.edit(all[1], limits(5, 0)) // was used up, has uses left now
	all[0] = p.edit(all[0], limits(1, 0)) // is used up now
	slices.Reverse(all)
	lists := []store.CouponList{{UsedUp: true}, {State: coupon.Pending}, {Search: "code", UsedUp: true, DiscountType: pricing.Percentage}}
	for _, state := range []coupon.State{0, coupon.Active, coupon.Inactive} {
		for _, of := range []pricing.DiscountType{0, pricing.Percentage, pricing.FixedAmount, pricing.Tiered} {
			lists = append(lists, store.CouponList{State: state, DiscountType: of}, store.CouponList{State: state, DiscountType: of, UsedUp: true, ExpiredAt: at(202)})
		}
	}
	for _, period := range periods(at(102), at(103)) {
		lists = append(lists, store.CouponList{Starts: period}, store.CouponList{Expires: store.Period{From: at(202)}, Starts: period})
	}
	for _, expired := range []time.Time{at(201), at(201).Add(-time.Nanosecond), at(203), at(203).Add(time.Nanosecond), at(0)} {
		lists = append(lists, store.CouponList{ExpiredAt: expired}, store.CouponList{ExpiredAt: expired, Expires: store.Period{From: at(201), Until: at(203)}})
	}
	for _, list := range lists {
		p.finds(list, only(all, func(c coupon.Coupon) bool {
			return chosen(list.State, c.State) && chosen(list.DiscountType, c.Discount.Type()) &&
				inside(list.Starts, c.StartsAt) && inside(list.Expires, c.ExpiresAt) &&
				(list.ExpiredAt.IsZero() || !c.ExpiresAt.IsZero() && !c.ExpiresAt.After(list.ExpiredAt)) &&
				(!list.UsedUp || c.Limits.MaxUses > 0 && c.UsedCount+c.ReservedCount >= c.Limits.MaxUses)
		}), 2, 100)
	}
}

// sumsOfUses makes uses around the midnights of zones in which days have 23, 24 and 25 hours.
func sumsOfUses(p *probe) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	p.own(err)
	usd, err := pricing.ParseCurrency("USD")
	p.own(err)
	kwd, err := pricing.ParseCurrency("KWD")
	p.own(err)
	c, other := p.coupon(), p.coupon()
	first := time.Date(2026, 10, 24, 0, 0, 0, 0, berlin) // the 25th has 25 hours
	for i := range 40 {
		r := p.checkout("ann", []coupon.Coupon{c, c, c, c, other}[i%5])
		r.Order.CreatedAt = first.Add(time.Duration(i/8)*24*time.Hour + time.Duration(i%2)*time.Hour - time.Duration(i/4%2)*time.Microsecond).UTC()
		r.Uses[0].CreatedAt, r.Uses[0].Discount = r.Order.CreatedAt, r.Order.Quote.Discount
		if i%2 == 0 {
			r.Uses[0].Discount += 1<<53 + 1 // a float64 cannot hold this amount
		}
		r.Uses[0].Currency = []pricing.Currency{pricing.EUR(), usd, {}, pricing.JPY(), kwd}[i%3+i%2*2]
		r.Uses[0].Restore = coupon.RestoreAlways
		r.Order.Quote.Coupons[0].ID = r.Uses[0].CouponID
		o := p.placed(r, histories[i%6]...).Order
		if o.State == redemption.OrderPaid && i%4 > 0 {
			p.apply(refund(o, "one", int64(i%4)-1)) // refunds everything, one unit or two units
		}
	}
	uses := only(p.everything().Uses, func(u redemption.Use) bool { return u.CouponID == c.ID })
	for _, zone := range []*time.Location{berlin, time.UTC, time.FixedZone("", 20_700)} {
		for _, days := range []int{1, 3, 9} {
			list := store.SumList{CouponID: c.ID, From: first.Add(11 * time.Hour).In(zone), Days: days}
			got := answer(p, store.Store.Sums, list)
			year, month, day := list.From.Date()
			same(p, len(got), days, "the number of days")
			for i := range got {
				want := sumOf(uses, time.Date(year, month, day+i, 0, 0, 0, 0, zone), time.Date(year, month, day+i+1, 0, 0, 0, 0, zone), pricing.EUR(), pricing.JPY(), kwd, usd)
				same(p, got[i].Start.Format(time.RFC3339Nano), want.Start.Format(time.RFC3339Nano), "the beginning of the day %d in %s", i, zone)
				same(p, got[i].Start.Location().String(), zone.String(), "the zone of the day %d", i)
				got[i].Start = want.Start
				same(p, got[i], want, "the sums of the day %d in %s", i, zone)
			}
		}
	}
	none := answer(p, store.Store.Sums, store.SumList{CouponID: "cpn_none", From: first, Days: store.MaxSumDays})
	same(p, none[store.MaxSumDays-1].Completed, 0, "the uses of an unknown coupon")
	for _, list := range []store.SumList{{From: first, Days: 1}, {CouponID: c.ID, Days: 1}, {CouponID: c.ID, From: first}, {CouponID: c.ID, From: first, Days: store.MaxSumDays + 1}} {
		fails(p, store.Store.Sums, list, validation.ErrInvalid, "out of bounds")
	}
}

// sumOf counts the uses of a day, and adds up their amounts in the given currencies.
func sumOf(uses []redemption.Use, from, until time.Time, currencies ...pricing.Currency) store.DaySum {
	uses = only(uses, func(u redemption.Use) bool { return !u.CreatedAt.Before(from) && u.CreatedAt.Before(until) })
	completed := only(uses, func(u redemption.Use) bool { return u.State == redemption.Completed })
	sum := store.DaySum{
		Start: from, Completed: int64(len(completed)),
		Reserved: int64(len(only(uses, func(u redemption.Use) bool { return u.State == redemption.Reserved }))),
		Restored: int64(len(only(completed, func(u redemption.Use) bool { return !u.RestoredAt.IsZero() }))),
	}
	for _, currency := range currencies {
		in := only(completed, func(u redemption.Use) bool { return u.Currency == currency })
		amount := store.AmountSum{Currency: currency}
		for _, u := range in {
			amount.Discount, amount.Returned = amount.Discount+u.Discount, amount.Returned+u.Returned
		}
		if len(in) > 0 {
			sum.Amounts = append(sum.Amounts, amount)
		}
	}
	return sum
}
