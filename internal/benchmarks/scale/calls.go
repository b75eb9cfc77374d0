package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// meter makes calls about random records of a shop.
type meter struct {
	shop

	store  store.Store
	random *rand.Rand
	made   int
	open   store.Reserved // the last order that was reserved
}

func (m *meter) coupon() int      { return m.random.IntN(m.coupons) }
func (m *meter) order() string    { return fmt.Sprint("ord_", m.random.IntN(m.uses)) }
func (m *meter) customer() string { return fmt.Sprint("customer_", m.random.IntN(m.customers())) }

func (m *meter) reserve(ctx context.Context) (err error) {
	c, err := couponOf(m.coupon())
	if err != nil {
		return err
	}
	m.made++
	o, u, err := orderOf(c, fmt.Sprint("new_", m.made), m.customer(), fmt.Sprint("new_", m.made))
	if err != nil {
		return err
	}
	m.open, err = m.store.Reserve(ctx, store.Reservation{
		Order: o, Uses: []redemption.Use{u}, Coupons: []store.CouponAt{{ID: c.ID}},
	})
	return err
}

func (m *meter) apply(ctx context.Context, kind redemption.EventKind) error {
	_, err := m.store.Apply(ctx, store.Settlement{Event: redemption.Event{
		Kind: kind, At: now(), OrderID: m.open.Order.ID, SessionID: "cs_" + m.open.Order.ID,
		SessionURL: "https://pay.example", Deadline: now().Add(time.Hour),
	}})
	return err
}

func (m *meter) edit(ctx context.Context) error {
	n := m.coupon()
	found, err := store.Find(ctx, m.store, store.LookUp{Names: store.ByID(fmt.Sprint("cpn_", n)), Whole: true})
	if err != nil {
		return err
	}
	_, err = m.store.SaveCoupon(ctx, store.CouponChange{Kind: store.EditCoupon, Coupon: found.Coupon, At: now()})
	return err
}

// calls are all calls of a store. An order is reserved, gets its session and is paid in turn.
var calls = []struct {
	name string
	make func(context.Context, *meter) error
}{
	{"look up a code", func(ctx context.Context, m *meter) error {
		customer := m.customer()
		c, err := couponOf(m.coupon())
		if err == nil {
			_, err = store.Find(ctx, m.store, store.LookUp{Names: store.ByCode(c.Code), CustomerID: customer, Identities: []string{customer}, Email: "ann@example.org"})
		}
		return err
	}},
	{"look up and edit a coupon", func(ctx context.Context, m *meter) error { return m.edit(ctx) }},
	{"reserve", func(ctx context.Context, m *meter) error { return m.reserve(ctx) }},
	{"reserve and attach a session", func(ctx context.Context, m *meter) error {
		if err := m.reserve(ctx); err != nil {
			return err
		}
		return m.apply(ctx, redemption.SessionAttached)
	}},
	{"reserve and pay", func(ctx context.Context, m *meter) error {
		if err := m.reserve(ctx); err != nil {
			return err
		}
		return m.apply(ctx, redemption.Paid)
	}},
	{"order by ID", func(ctx context.Context, m *meter) error {
		_, err := m.store.Order(ctx, store.OrderKey{ID: m.order()})
		return err
	}},
	{"order by session", func(ctx context.Context, m *meter) error {
		_, err := m.store.Order(ctx, store.OrderKey{SessionID: fmt.Sprint("cs_", m.random.IntN(m.uses))})
		return err
	}},
	{"order by key", func(ctx context.Context, m *meter) error {
		n := m.random.IntN(m.uses)
		_, err := m.store.Order(ctx, store.OrderKey{CustomerID: fmt.Sprint("customer_", n/ordersOfCustomer), Key: fmt.Sprint("key_", n)})
		return err
	}},
	{"counts", func(ctx context.Context, m *meter) error {
		_, err := m.store.Counts(ctx, []string{eligibility.CouponUses(fmt.Sprint("cpn_", m.coupon())), eligibility.CustomerOrders(m.customer())})
		return err
	}},
	{"list coupons", func(ctx context.Context, m *meter) error {
		_, err := m.store.ListCoupons(ctx, store.CouponList{})
		return err
	}},
	{"list coupons of a type", func(ctx context.Context, m *meter) error {
		_, err := m.store.ListCoupons(ctx, store.CouponList{DiscountType: pricing.Tiered})
		return err
	}},
	{"list coupons that expire in a period", func(ctx context.Context, m *meter) error {
		_, err := m.store.ListCoupons(ctx, store.CouponList{Expires: store.Period{From: now(), Until: now().Add(time.Hour)}})
		return err
	}},
	{"history of a coupon", func(ctx context.Context, m *meter) error {
		_, err := m.store.History(ctx, fmt.Sprint("cpn_", m.coupon()), 0, 100)
		return err
	}},
	{"sums of a coupon by day", func(ctx context.Context, m *meter) error {
		_, err := m.store.Sums(ctx, store.SumList{CouponID: fmt.Sprint("cpn_", m.coupon()), From: now().AddDate(0, -1, 0), Days: 31})
		return err
	}},
	{"list orders of a period", listOrders(func(*meter) store.OrderList {
		return store.OrderList{Created: store.Period{From: now().Add(-time.Second / 5), Until: now().Add(-time.Second / 10)}}
	})},
	{"list orders", listOrders(func(*meter) store.OrderList { return store.OrderList{} })},
	{"list a customer's orders", listOrders(func(m *meter) store.OrderList { return store.OrderList{CustomerID: m.customer()} })},
	{"list orders in a state", listOrders(func(*meter) store.OrderList { return store.OrderList{State: redemption.OrderOpen} })},
	{"list orders that are due", listOrders(func(*meter) store.OrderList { return store.OrderList{DueAt: now()} })},
	{"list uses", listUses(func(*meter) store.UseList { return store.UseList{} })},
	{"list a coupon's uses", listUses(func(m *meter) store.UseList { return store.UseList{CouponID: fmt.Sprint("cpn_", m.coupon())} })},
	{"list a customer's uses", listUses(func(m *meter) store.UseList { return store.UseList{CustomerID: m.customer()} })},
	{"list uses in a state", listUses(func(*meter) store.UseList { return store.UseList{State: redemption.Reserved} })},
	{"list uses that are due", listUses(func(*meter) store.UseList { return store.UseList{DueAt: now()} })},
	{"read the journal", func(ctx context.Context, m *meter) error {
		_, err := m.store.Journal(ctx, 100, 100)
		return err
	}},
}

func listOrders(of func(*meter) store.OrderList) func(context.Context, *meter) error {
	return func(ctx context.Context, m *meter) error {
		_, err := m.store.ListOrders(ctx, of(m))
		return err
	}
}

func listUses(of func(*meter) store.UseList) func(context.Context, *meter) error {
	return func(ctx context.Context, m *meter) error {
		_, err := m.store.ListUses(ctx, of(m))
		return err
	}
}
