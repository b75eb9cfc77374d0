package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

func damageClauses() []clause {
	return []clause{
		{"a damaged coupon", "ListCoupons names a coupon that cannot be read, and returns all others; a call about that coupon alone is ErrUnreadable", damagedCoupon},
		{"a damaged order", "ListOrders and ListUses name what cannot be read, and return everything else; a call about that order alone is ErrUnreadable", damagedOrder},
		{"calls beside a damaged order", "an order that cannot be read fails no call about other orders, though the calls are made at once", besideADamagedOrder},
	}
}

// damage makes a record unreadable. The returned function restores the record.
func (p *probe) damage(kind, id string) (restore func()) {
	p.Helper()
	return p.can.Damage(p.T, p.s, kind, id)
}

// damagedList reads a page of a list and returns its IDs. The IDs of unreadable records begin with an
// exclamation mark.
type damagedList func(after string, size int) (ids []string, unreadable []*store.UnreadableError, next string, err error)

// pagesOfDamaged reads a list in pages of several sizes, and compares it.
func pagesOfDamaged(p *probe, kind string, want []string, read damagedList) {
	p.Helper()
	for _, size := range []int{1, 2, 3, len(want), len(want) + 1} {
		rest := want
		for after := ""; ; {
			n := min(size, len(rest))
			ids, unreadable, next, err := read(after, size)
			p.ok(err, "reading a list with a %s that cannot be read", kind)
			var readable, damaged []string
			for _, id := range rest[:n] {
				if name, bad := strings.CutPrefix(id, "!"); bad {
					damaged = append(damaged, name)
				} else {
					readable = append(readable, id)
				}
			}
			same(p, ids, readable, "a page of %d", size)
			got := make([]string, len(unreadable))
			for i, u := range unreadable {
				got[i] = u.ID
				same(p, u.Kind, kind, "the kind of %s", u.ID)
				if u.Reason == "" {
					p.stop("no reason is given for %s %s", kind, u.ID)
				}
			}
			same(p, got, damaged, "what cannot be read on a page of %d", size)
			rest = rest[n:]
			same(p, next != "", len(rest) > 0, "whether there is a page after one of %d", size)
			if after = next; next == "" {
				break
			}
		}
	}
}

// unreadable checks that a call fails because a record cannot be read.
func unreadable[R, A any](p *probe, call request[R, A], with R, kind, id string) {
	p.Helper()
	_, err := call(p.s, p.Context(), with)
	p.fails(err, store.ErrUnreadable, "a call about the damaged %s %s", kind, id)
	var named *store.UnreadableError
	if !errors.As(err, &named) || named.Kind != kind || named.ID != id {
		p.stop("the error of the damaged %s %s is %v", kind, id, err)
	}
	for _, other := range []error{validation.ErrInvalid, coupon.ErrNotFound, store.ErrNotFound, store.ErrConflict} {
		if errors.Is(err, other) {
			p.stop("the error of the damaged %s %s matches %v", kind, id, other)
		}
	}
}

func damagedCoupon(p *probe) {
	var all []coupon.Coupon
	for i := range 6 {
		all = append(all, p.coupon(createdAt(at(i))))
	}
	slices.Reverse(all)
	list := func(of store.CouponList) damagedList {
		return func(after string, size int) (ids []string, _ []*store.UnreadableError, next string, err error) {
			of.After, of.PageSize = after, size
			page, err := p.s.ListCoupons(p.Context(), of)
			for _, c := range page.Items {
				ids = append(ids, c.ID)
			}
			same(p, page.Total, int64(len(all)), "the total")
			return ids, page.Unreadable, page.Next, err
		}
	}
	restore := []func(){p.damage("coupon", all[1].ID), p.damage("coupon", all[2].ID), p.damage("coupon", all[5].ID)}
	want := []string{all[0].ID, "!" + all[1].ID, "!" + all[2].ID, all[3].ID, all[4].ID, "!" + all[5].ID}
	for _, of := range []store.CouponList{{}, {Search: "code"}, {State: coupon.Active, DiscountType: pricing.Percentage}} {
		pagesOfDamaged(p, "coupon", want, list(of))
	}
	for _, c := range []coupon.Coupon{all[1], all[5]} {
		unreadable(p, find, store.LookUp{Names: store.ByID(c.ID)}, "coupon", c.ID)
		unreadable(p, find, store.LookUp{Names: store.ByCode(c.Code)}, "coupon", c.ID)
		unreadable(p, store.Store.SaveCoupon, changeOf(store.EditCoupon, with(c, named("other"))), "coupon", c.ID)
	}
	names := append(store.ByID(all[1].ID, all[3].ID), store.ByCode(all[5].Code, all[4].Code)...)
	found := answer(p, store.Store.LookUp, store.LookUp{Names: names}).Coupons
	same(p, len(found), len(names), "the number of coupons that were looked up")
	for i, c := range []coupon.Coupon{all[1], all[3], all[5], all[4]} {
		same(p, found[i].Coupon.ID, c.ID, "the coupon %d of a look-up", i)
		same(p, found[i].Unreadable != nil, i%2 == 0, "whether the coupon %d of a look-up cannot be read", i)
	}
	same(p, found[1].Coupon, all[3], "another coupon of the look-up")
	_, err := p.s.SaveCoupon(p.Context(), changeOf(store.CreateCoupon, p.draft(coded(all[1].Code))))
	p.fails(err, coupon.ErrCodeTaken, "a new coupon with the code of one that cannot be read")
	for _, restore := range restore {
		restore()
	}
	same(p, answer(p, find, store.LookUp{Names: store.ByID(all[1].ID)}).Coupon, all[1], "a coupon that can be read again")
}

func damagedOrder(p *probe) {
	c := p.coupon()
	var all []store.Reserved
	for range 5 {
		all = append(all, p.reserve(p.checkout("ann", c)))
	}
	slices.Reverse(all)
	order := func(i int) string { return all[i].Order.ID }
	use := func(i int) string { return all[i].Uses[0].ID }
	restore := []func(){p.damage("order", order(1)), p.damage("use", use(3))}
	orders := func(of store.OrderList) damagedList {
		return func(after string, size int) (ids []string, _ []*store.UnreadableError, next string, err error) {
			of.After, of.PageSize = after, size
			page, err := p.s.ListOrders(p.Context(), of)
			for _, o := range page.Items {
				ids = append(ids, o.Order.ID)
				same(p, len(o.Uses), 1, "the uses of order %s", o.Order.ID)
			}
			return ids, page.Unreadable, page.Next, err
		}
	}
	uses := func(after string, size int) (ids []string, _ []*store.UnreadableError, next string, err error) {
		page, err := p.s.ListUses(p.Context(), store.UseList{CouponID: c.ID, After: after, PageSize: size})
		for _, u := range page.Items {
			ids = append(ids, u.ID)
		}
		same(p, page.Total, int64(len(all)), "the total")
		return ids, page.Unreadable, page.Next, err
	}
	want := []string{order(0), "!" + order(1), order(2), "!" + order(3), order(4)}
	for _, of := range []store.OrderList{{}, {CustomerID: "ann"}, {State: redemption.OrderOpen}} {
		pagesOfDamaged(p, "order", want, orders(of))
	}
	slices.Reverse(want)
	pagesOfDamaged(p, "order", want, orders(store.OrderList{DueAt: at(1000)}))
	pagesOfDamaged(p, "use", []string{use(0), use(1), use(2), "!" + use(3), use(4)}, uses)

	same(p, p.openOrders("ann", 4), []string{order(0), order(2), "!" + order(1), "!" + order(3)}, "the open orders of a look-up")
	of := store.LookUp{Names: store.ByID(c.ID), CustomerID: "ann"}
	unreadable(p, find, of, "use", use(3))
	of.CustomerID = "bob"
	same(p, answer(p, find, of).Coupon.ReservedCount, int64(len(all)), "the uses of a coupon, for another customer")
	unreadable(p, store.Store.Order, store.OrderKey{ID: order(1)}, "order", order(1))
	unreadable(p, store.Store.Order, store.OrderKey{CustomerID: "ann", Key: all[1].Order.Key}, "order", order(1))
	unreadable(p, store.Store.Order, store.OrderKey{ID: order(3)}, "order", order(3))
	same(p, p.order(order(2)).Order, all[2].Order, "another order")
	for _, restore := range restore {
		restore()
	}
	same(p, p.order(order(1)).Order, all[1].Order, "an order that can be read again")
}

// openOrders looks up a customer's open orders. Unreadable orders come last, and begin with an
// exclamation mark.
func (p *probe) openOrders(customer string, most int) (ids []string) {
	p.Helper()
	found := answer(p, store.Store.LookUp, store.LookUp{CustomerID: customer, Orders: most})
	for _, o := range found.Orders {
		ids = append(ids, o.Order.ID)
	}
	for _, o := range found.Unreadable {
		ids = append(ids, "!"+o.ID)
	}
	return ids
}

func besideADamagedOrder(p *probe) {
	const calls = 16
	c := p.coupon(limits(2*calls, 0))
	orders := make([]redemption.Order, calls)
	for i := range orders {
		orders[i] = p.placed(p.checkout("ann", c), redemption.SessionAttached).Order
	}
	bad := []int{3, 11}
	var restore []func()
	for _, i := range bad {
		restore = append(restore, p.damage("order", orders[i].ID))
	}
	errs := p.together(calls, func(ctx context.Context, s store.Store, i int) error {
		_, err := s.Apply(ctx, settlement(event(redemption.Paid, orders[i])))
		return err
	})
	for i, err := range errs {
		if slices.Contains(bad, i) {
			p.fails(err, store.ErrUnreadable, "the payment of an order that cannot be read")
		} else {
			p.ok(err, "the payment of another order")
		}
	}
	p.uses(c, int64(len(bad)), int64(calls-len(bad)))
	for _, restore := range restore {
		restore()
	}
	for _, i := range bad { // the processor would repeat the event
		same(p, p.apply(event(redemption.Paid, orders[i])).Order.State, redemption.OrderPaid, "the state of a paid order")
	}
}
