package storetest_test

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// brokenDetails are stores that are wrong about one field of what they are given or give.
func brokenDetails() map[string]subject {
	return map[string]subject{
		"refusals name no coupon": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				var rejection *coupon.Rejection
				if errors.As(err, &rejection) {
					return got, &coupon.Rejection{Reasons: rejection.Reasons}
				}
				return got, err
			}}
		}, []string{"refusals are rejections"}},
		"the cursor of a numbered page is that of the first": {func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				page, err := in.ListCoupons(ctx, list)
				if err == nil && list.After == "" && page.Next != "" {
					list.Page = 1
					first, err := in.ListCoupons(ctx, list)
					page.Next = first.Next
					return page, err
				}
				return page, err
			}}
		}, []string{"list coupons by page number"}},
		"an update is validated as it is given": {func(in store.Store) *faulty {
			return &faulty{Store: in, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
				if err := c.Validate(); err != nil {
					return coupon.Coupon{}, err
				}
				return in.UpdateCoupon(ctx, c)
			}}
		}, []string{"update validates what is stored"}},
		"a narrowed list is validated as it is given": {narrowedListsPass, []string{"update validates what is stored"}},
	}
}

// narrowedListsPass takes an allow-list that is narrowed for the one that is stored.
func narrowedListsPass(in store.Store) *faulty {
	var without memory[coupon.Distribution]
	return &faulty{Store: in, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
		got, err := in.UpdateCoupon(ctx, c)
		if errors.Is(err, pricing.ErrInvalid) && c.AllowedUserEmails.Narrowed() && c.Validate() == nil {
			without.put(c.ID, c.Distribution)
			return in.Coupon(ctx, c.ID)
		}
		return got, err
	}, outCoupon: func(c coupon.Coupon) coupon.Coupon {
		if distribution, known := without.get(c.ID); known {
			c.Distribution = distribution
		}
		return c
	}}
}
