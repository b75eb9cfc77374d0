package storetest_test

import (
	"context"
	"sync"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// faulty is a sound store with some of its methods replaced. The functions on
// coupons, records and orders change what comes out of every method.
type faulty struct {
	store.Store
	data store.Store // for another store on the same data

	outCoupon func(coupon.Coupon) coupon.Coupon
	outRecord func(redemption.Redemption) redemption.Redemption
	outOrder  func(store.Order) store.Order

	createCoupon    func(context.Context, coupon.Coupon) error
	updateCoupon    func(context.Context, coupon.Coupon) (coupon.Coupon, error)
	confirmMirror   func(context.Context, string, coupon.Mirror) (coupon.Coupon, error)
	deleteCoupon    func(context.Context, string, int64) error
	coupon          func(context.Context, string) (coupon.Coupon, error)
	lookUp          func(context.Context, store.LookUp) (store.Found, error)
	listCoupons     func(context.Context, store.CouponList) (store.CouponPage, error)
	reserve         func(context.Context, store.Reservation) (store.Reserved, error)
	takeOver        func(context.Context, store.TakeOver) (store.Reserved, error)
	settle          func(context.Context, store.Settlement) (store.Settled, error)
	transition      func(context.Context, string, redemption.Event) (redemption.Redemption, error)
	redemption      func(context.Context, string) (redemption.Redemption, error)
	listRedemptions func(context.Context, store.RedemptionList) (store.RedemptionPage, error)
	due             func(context.Context, time.Time, int) ([]redemption.Redemption, error)
	createOrder     func(context.Context, store.Order) (store.Order, bool, error)
	attachSession   func(context.Context, store.Attachment) (store.Order, error)
	order           func(context.Context, string) (store.Order, error)
	orderByKey      func(context.Context, string, string) (store.Order, error)
	openOrders      func(context.Context, time.Time, int) ([]store.Order, error)
	close           func() error
}

func or[F any](broken, sound F, isNil bool) F {
	if isNil {
		return sound
	}
	return broken
}

func (f *faulty) c(c coupon.Coupon) coupon.Coupon {
	if f.outCoupon != nil && c.ID != "" {
		return f.outCoupon(c)
	}
	return c
}

func (f *faulty) r(r redemption.Redemption) redemption.Redemption {
	if f.outRecord != nil && r.ID != "" {
		return f.outRecord(r)
	}
	return r
}

func (f *faulty) o(o store.Order) store.Order {
	if f.outOrder != nil && !o.IsZero() {
		return f.outOrder(o)
	}
	return o
}

func (f *faulty) reserved(r store.Reserved, err error) (store.Reserved, error) {
	r.Redemption, r.Order = f.r(r.Redemption), f.o(r.Order)
	return r, err
}

func (f *faulty) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	return or(f.createCoupon, f.Store.CreateCoupon, f.createCoupon == nil)(ctx, c)
}

func (f *faulty) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	c, err := or(f.updateCoupon, f.Store.UpdateCoupon, f.updateCoupon == nil)(ctx, c)
	return f.c(c), err
}

func (f *faulty) ConfirmMirror(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
	c, err := or(f.confirmMirror, f.Store.ConfirmMirror, f.confirmMirror == nil)(ctx, id, m)
	return f.c(c), err
}

func (f *faulty) DeleteCoupon(ctx context.Context, id string, revision int64) error {
	return or(f.deleteCoupon, f.Store.DeleteCoupon, f.deleteCoupon == nil)(ctx, id, revision)
}

func (f *faulty) Coupon(ctx context.Context, id string) (coupon.Coupon, error) {
	c, err := or(f.coupon, f.Store.Coupon, f.coupon == nil)(ctx, id)
	return f.c(c), err
}

func (f *faulty) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
	found, err := or(f.lookUp, f.Store.LookUp, f.lookUp == nil)(ctx, by)
	found.Coupon = f.c(found.Coupon)
	for i := range found.Held {
		found.Held[i] = f.r(found.Held[i])
	}
	return found, err
}

func (f *faulty) ListCoupons(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	page, err := or(f.listCoupons, f.Store.ListCoupons, f.listCoupons == nil)(ctx, list)
	for i := range page.Items {
		page.Items[i] = f.c(page.Items[i])
	}
	return page, err
}

func (f *faulty) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	return f.reserved(or(f.reserve, f.Store.Reserve, f.reserve == nil)(ctx, r))
}

func (f *faulty) TakeOver(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
	return f.reserved(or(f.takeOver, f.Store.TakeOver, f.takeOver == nil)(ctx, t))
}

func (f *faulty) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	s, err := or(f.settle, f.Store.Settle, f.settle == nil)(ctx, t)
	s.Redemption, s.Order = f.r(s.Redemption), f.o(s.Order)
	return s, err
}

func (f *faulty) Transition(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
	r, err := or(f.transition, f.Store.Transition, f.transition == nil)(ctx, id, e)
	return f.r(r), err
}

func (f *faulty) Redemption(ctx context.Context, id string) (redemption.Redemption, error) {
	r, err := or(f.redemption, f.Store.Redemption, f.redemption == nil)(ctx, id)
	return f.r(r), err
}

func (f *faulty) ListRedemptions(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
	page, err := or(f.listRedemptions, f.Store.ListRedemptions, f.listRedemptions == nil)(ctx, list)
	for i := range page.Items {
		page.Items[i] = f.r(page.Items[i])
	}
	return page, err
}

func (f *faulty) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	all, err := or(f.due, f.Store.Due, f.due == nil)(ctx, at, limit)
	for i := range all {
		all[i] = f.r(all[i])
	}
	return all, err
}

func (f *faulty) CreateOrder(ctx context.Context, o store.Order) (stored store.Order, replayed bool, err error) {
	stored, replayed, err = or(f.createOrder, f.Store.CreateOrder, f.createOrder == nil)(ctx, o)
	return f.o(stored), replayed, err
}

func (f *faulty) AttachSession(ctx context.Context, a store.Attachment) (store.Order, error) {
	o, err := or(f.attachSession, f.Store.AttachSession, f.attachSession == nil)(ctx, a)
	return f.o(o), err
}

func (f *faulty) Order(ctx context.Context, id string) (store.Order, error) {
	o, err := or(f.order, f.Store.Order, f.order == nil)(ctx, id)
	return f.o(o), err
}

func (f *faulty) OrderByKey(ctx context.Context, customerID, key string) (store.Order, error) {
	o, err := or(f.orderByKey, f.Store.OrderByKey, f.orderByKey == nil)(ctx, customerID, key)
	return f.o(o), err
}

func (f *faulty) OpenOrders(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
	all, err := or(f.openOrders, f.Store.OpenOrders, f.openOrders == nil)(ctx, at, limit)
	for i := range all {
		all[i] = f.o(all[i])
	}
	return all, err
}

func (f *faulty) Close() error { return or(f.close, f.Store.Close, f.close == nil)() }

// gates hold their first visitors until enough have come: in the gap between check
// and act, so that a store with such a gap fails in every interleaving.
type gates struct {
	mu     sync.Mutex
	opened map[string]chan struct{}
	inside map[string]int
}

// pass waits until this many have come to the gate of the name.
func (g *gates) pass(name string, enough int) {
	g.mu.Lock()
	if g.opened == nil {
		g.opened, g.inside = make(map[string]chan struct{}), make(map[string]int)
	}
	if g.opened[name] == nil {
		g.opened[name] = make(chan struct{})
	}
	opened := g.opened[name]
	if g.inside[name]++; g.inside[name] == enough {
		close(opened)
	}
	g.mu.Unlock()
	<-opened
}

// memory is what a broken store keeps beside the sound one.
type memory[V any] struct {
	mu sync.Mutex
	m  map[string]V
}

func (x *memory[V]) get(key string) (V, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	v, ok := x.m[key]
	return v, ok
}

func (x *memory[V]) put(key string, v V) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.m == nil {
		x.m = make(map[string]V)
	}
	x.m[key] = v
}

// change replaces a value by a function of it.
func (x *memory[V]) change(key string, by func(V) V) V {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.m == nil {
		x.m = make(map[string]V)
	}
	x.m[key] = by(x.m[key])
	return x.m[key]
}
