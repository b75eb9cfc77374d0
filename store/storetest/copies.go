package storetest

import (
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func copyClauses() []clause {
	return []clause{
		{"values that go in are copies", "a caller that changes a value afterwards changes nothing in the store", valuesInAreCopies},
		{"values that come out are copies", "a caller that changes a value afterwards changes nothing in the store", valuesOutAreCopies},
	}
}

// scribble changes everything that an order refers to.
func scribble(o *store.Order) {
	for k := range o.Metadata {
		o.Metadata[k] = "scribbled"
	}
	for i := range o.Quote.Lines {
		o.Quote.Lines[i].ItemID = "scribbled"
		o.Quote.Lines[i].Total++
	}
	if o.Coupon != nil {
		o.Coupon.Name = "scribbled"
	}
}

func valuesInAreCopies(p *probe) {
	c := p.coupon()
	reserved := p.checkout(c, "ann", p.key())
	want := reserved.Order.Clone()
	p.place(reserved)
	scribble(reserved.Order)
	same(p, p.order(want.ID), want, "the order after the caller has changed what was given to Reserve")

	over := p.takeOver(c, reserved.Redemption, p.key())
	want = over.Order.Clone()
	_, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver")
	scribble(&over.Order)
	same(p, p.order(want.ID), want, "the order after the caller has changed what was given to TakeOver")

	plain := p.plain("ann", p.key())
	want = plain.Clone()
	_, _, err = p.s.CreateOrder(p.Context(), plain)
	p.ok(err, "CreateOrder")
	scribble(&plain)
	same(p, p.order(want.ID), want, "the order after the caller has changed what was given to CreateOrder")
}

func valuesOutAreCopies(p *probe) {
	c := p.coupon()
	r := p.checkout(c, "ann", p.key())
	check := func(got store.Order, from string) {
		p.Helper()
		want := got.Clone()
		scribble(&got)
		same(p, p.order(want.ID), want, "the order after the caller has changed what %s returned", from)
	}
	reserved := p.place(r)
	check(reserved.Order, "Reserve")
	replayed, err := p.s.Reserve(p.Context(), r)
	p.ok(err, "Reserve again")
	check(replayed.Order, "Reserve with a used key")
	check(p.order(r.Order.ID), "Order")
	byKey, err := p.s.OrderByKey(p.Context(), "ann", r.Order.Key)
	p.ok(err, "OrderByKey")
	check(byKey, "OrderByKey")
	over := p.takeOver(c, r.Redemption, p.key())
	for _, from := range []string{"TakeOver", "TakeOver with a used key"} {
		taken, err := p.s.TakeOver(p.Context(), over)
		p.ok(err, "TakeOver")
		check(taken.Order, from)
	}
	check(p.attach(over.Order.ID, p.session()), "AttachSession")
	over.Order = p.order(over.Order.ID)
	for _, from := range []string{"Settle", "Settle of a repeated event"} {
		check(p.settleSession(redemption.SessionCompleted, store.Reserved{Redemption: r.Redemption, Order: over.Order}).Order, from)
	}
	plain := p.plain("ann", p.key())
	for _, from := range []string{"CreateOrder", "CreateOrder with a used key"} {
		o, _, err := p.s.CreateOrder(p.Context(), plain.Clone())
		p.ok(err, "CreateOrder")
		check(o, from)
	}
	open, err := p.s.OpenOrders(p.Context(), at(9999), 10)
	p.ok(err, "OpenOrders")
	for _, o := range open {
		check(o, "OpenOrders")
	}
	p.listsAreCopies()
}

func (p *probe) listsAreCopies() {
	p.Helper()
	c := p.coupon()
	p.reserve(c, "bob")
	for range 2 {
		found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: c.ID, CustomerID: "bob"})
		p.ok(err, "LookUp")
		if len(found.Held) != 1 || found.Held[0].CustomerID != "bob" {
			p.stop("the customer holds %+v", found.Held)
		}
		found.Held[0].CustomerID = "scribbled"
		coupons, err := p.s.ListCoupons(p.Context(), store.CouponList{})
		p.ok(err, "ListCoupons")
		redemptions, err := p.s.ListRedemptions(p.Context(), store.RedemptionList{CustomerID: "bob"})
		p.ok(err, "ListRedemptions")
		due, err := p.s.Due(p.Context(), at(9999), 10)
		p.ok(err, "Due")
		if coupons.Items[0].ID != c.ID || redemptions.Items[0].CustomerID != "bob" || due[len(due)-1].CustomerID != "bob" {
			p.broken("the lists have changed with what the caller was given")
		}
		coupons.Items[0].ID, redemptions.Items[0].CustomerID, due[len(due)-1].CustomerID = "scribbled", "scribbled", "scribbled"
	}
}
