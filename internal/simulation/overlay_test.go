package simulation_test

import (
	"context"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// overlay shows what a store has in another light. Broken stores are made of it: what
// they write is sound, and what can be read is what a broken one would have written.
type overlay struct {
	store.Store
	coupon     func(coupon.Coupon) coupon.Coupon
	redemption func(redemption.Redemption) redemption.Redemption
	order      func(store.Order) store.Order
}

func (o overlay) seen(c coupon.Coupon) coupon.Coupon {
	if o.coupon == nil || c.ID == "" {
		return c
	}
	return o.coupon(c)
}

func (o overlay) record(r redemption.Redemption) redemption.Redemption {
	if o.redemption == nil || r.ID == "" {
		return r
	}
	return o.redemption(r)
}

func (o overlay) ordered(x store.Order) store.Order {
	if o.order == nil || x.ID == "" {
		return x
	}
	return o.order(x)
}

func (o overlay) records(list []redemption.Redemption) []redemption.Redemption {
	for i := range list {
		list[i] = o.record(list[i])
	}
	return list
}

func (o overlay) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	c, err := o.Store.UpdateCoupon(ctx, c)
	return o.seen(c), err
}

func (o overlay) ConfirmMirror(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
	c, err := o.Store.ConfirmMirror(ctx, id, m)
	return o.seen(c), err
}

func (o overlay) Coupon(ctx context.Context, id string) (coupon.Coupon, error) {
	c, err := o.Store.Coupon(ctx, id)
	return o.seen(c), err
}

func (o overlay) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
	f, err := o.Store.LookUp(ctx, by)
	f.Coupon, f.Held = o.seen(f.Coupon), o.records(f.Held)
	return f, err
}

func (o overlay) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	page, err := o.Store.ListCoupons(ctx, l)
	for i := range page.Items {
		page.Items[i] = o.seen(page.Items[i])
	}
	return page, err
}

func (o overlay) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	reserved, err := o.Store.Reserve(ctx, r)
	reserved.Redemption, reserved.Order = o.record(reserved.Redemption), o.ordered(reserved.Order)
	return reserved, err
}

func (o overlay) TakeOver(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
	reserved, err := o.Store.TakeOver(ctx, t)
	reserved.Redemption, reserved.Order = o.record(reserved.Redemption), o.ordered(reserved.Order)
	return reserved, err
}

func (o overlay) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	settled, err := o.Store.Settle(ctx, t)
	settled.Redemption, settled.Order = o.record(settled.Redemption), o.ordered(settled.Order)
	return settled, err
}

func (o overlay) Transition(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
	r, err := o.Store.Transition(ctx, id, e)
	return o.record(r), err
}

func (o overlay) Redemption(ctx context.Context, id string) (redemption.Redemption, error) {
	r, err := o.Store.Redemption(ctx, id)
	return o.record(r), err
}

func (o overlay) ListRedemptions(ctx context.Context, l store.RedemptionList) (store.RedemptionPage, error) {
	page, err := o.Store.ListRedemptions(ctx, l)
	page.Items = o.records(page.Items)
	return page, err
}

func (o overlay) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	due, err := o.Store.Due(ctx, at, limit)
	return o.records(due), err
}

func (o overlay) AttachSession(ctx context.Context, a store.Attachment) (store.Order, error) {
	x, err := o.Store.AttachSession(ctx, a)
	return o.ordered(x), err
}

func (o overlay) Order(ctx context.Context, id string) (store.Order, error) {
	x, err := o.Store.Order(ctx, id)
	return o.ordered(x), err
}

func (o overlay) OrderByKey(ctx context.Context, customerID, key string) (store.Order, error) {
	x, err := o.Store.OrderByKey(ctx, customerID, key)
	return o.ordered(x), err
}
