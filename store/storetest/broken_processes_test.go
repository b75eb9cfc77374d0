package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// brokenProcesses are stores that keep in each process what the data are, and do not hear
// of what another process writes. They run with [storetest.Capabilities].Reopen.
func brokenProcesses() map[string]subject {
	return map[string]subject{
		"coupons are cached in each process":     {cachedCoupons, []string{"what another process has changed"}},
		"states are cached in each process":      {cachedStates, []string{"what another process has decided"}},
		"what is missing is cached":              {cachedMisses, []string{"what another process has changed"}},
		"lists are as the process has left them": {cachedLists, []string{"what another process has changed"}},
	}
}

// processOf returns one of several such stores on the data: closing it closes no other.
func (b subject) processOf(data store.Store) store.Store {
	f := b.how(on(data))
	f.data = data
	return f
}

// cachedCoupons keeps the terms of coupons until this process writes them.
func cachedCoupons(in store.Store) *faulty {
	var cache memory[*coupon.Coupon]
	return &faulty{Store: in, lookUp: func(ctx context.Context, by store.LookUp) (store.Found, error) {
		found, err := in.LookUp(ctx, by)
		if err != nil {
			return found, err
		}
		kept := *cache.change(found.Coupon.ID, func(before *coupon.Coupon) *coupon.Coupon {
			if before == nil {
				before = &found.Coupon
			}
			return before
		})
		kept.UsedCount, kept.ReservedCount = found.Coupon.UsedCount, found.Coupon.ReservedCount
		found.Coupon = kept
		return found, nil
	}, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
		defer cache.put(c.ID, nil)
		return in.UpdateCoupon(ctx, c)
	}, confirmMirror: func(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
		defer cache.put(id, nil)
		return in.ConfirmMirror(ctx, id, m)
	}}
}

// cachedStates asks whether a coupon is active once, and reserves by that.
func cachedStates(in store.Store) *faulty {
	var inactive memory[bool]
	return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		if off, _ := inactive.get(r.Redemption.CouponID); off {
			return store.Reserved{}, coupon.Reject(r.Redemption.CouponID, coupon.CouponInactive, coupon.Params{})
		}
		got, err := in.Reserve(ctx, r)
		if errors.Is(err, coupon.ErrInactive) {
			inactive.put(r.Redemption.CouponID, true)
		}
		return got, err
	}, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
		defer inactive.put(c.ID, false)
		return in.UpdateCoupon(ctx, c)
	}}
}

// cachedMisses remembers which keys have no order until this process uses them.
func cachedMisses(in store.Store) *faulty {
	var missing memory[bool]
	name := func(customerID, key string) string { return customerID + "\x00" + key }
	return &faulty{Store: in, orderByKey: func(ctx context.Context, customerID, key string) (store.Order, error) {
		o, err := in.OrderByKey(ctx, customerID, key)
		if none, _ := missing.get(name(customerID, key)); none && err == nil {
			return store.Order{}, store.ErrNotFound
		}
		missing.put(name(customerID, key), errors.Is(err, store.ErrNotFound))
		return o, err
	}, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		defer missing.put(name(r.Redemption.CustomerID, r.Redemption.Key), false)
		return in.Reserve(ctx, r)
	}, createOrder: func(ctx context.Context, o store.Order) (store.Order, bool, error) {
		defer missing.put(name(o.CustomerID, o.Key), false)
		return in.CreateOrder(ctx, o)
	}}
}

// cachedLists reads lists once after each write of this process.
func cachedLists(in store.Store) *faulty {
	var writes memory[int]
	var pages memory[*store.CouponPage]
	wrote := func() { writes.change("", func(n int) int { return n + 1 }) }
	return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
		n, _ := writes.get("")
		page, err := in.ListCoupons(ctx, list)
		if err != nil {
			return page, err
		}
		kept := *pages.change(fmt.Sprintf("%d %+v", n, list), func(before *store.CouponPage) *store.CouponPage {
			if before == nil {
				before = &page
			}
			return before
		})
		kept.Items = slices.Clone(kept.Items)
		return kept, nil
	}, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
		defer wrote()
		return in.CreateCoupon(ctx, c)
	}, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
		defer wrote()
		return in.UpdateCoupon(ctx, c)
	}, deleteCoupon: func(ctx context.Context, id string, revision int64) error {
		defer wrote()
		return in.DeleteCoupon(ctx, id, revision)
	}}
}
