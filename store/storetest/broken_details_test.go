package storetest_test

import (
	"context"
	"errors"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
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
		"nothing is in a state that there is not": {func(in store.Store) *faulty {
			return &faulty{Store: in, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
				if list.State > redemption.Released {
					return store.RedemptionPage{}, ctx.Err()
				}
				return in.ListRedemptions(ctx, list)
			}}
		}, []string{"list refuses what is no page"}},
		"instants are so many nanoseconds": {instantsInNanoseconds, []string{"far instants"}},
		"wall clocks are compared": {func(in store.Store) *faulty {
			return &faulty{Store: in, openOrders: func(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
				_, offset := at.Zone()
				return in.OpenOrders(ctx, at.Add(time.Duration(offset)*time.Second), limit)
			}}
		}, []string{"instants of other zones"}},
		"payments keep nanoseconds and zones": {func(in store.Store) *faulty {
			var paid memory[time.Time]
			return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
				s, err := in.Settle(ctx, t)
				if err == nil && s.Redemption.Origin == redemption.FromPayment {
					paid.put(s.Redemption.ID, t.Event.At)
				}
				return s, err
			}, outRecord: func(r redemption.Redemption) redemption.Redemption {
				if at, known := paid.get(r.ID); known {
					r.CreatedAt, r.UpdatedAt, r.CompletedAt = at, at, at
				}
				return r
			}}
		}, []string{"instants are kept in UTC"}},
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

// instantsInNanoseconds keeps the instants of orders and redemptions as 64 bits of
// nanoseconds, which end in 1677 and 2262.
func instantsInNanoseconds(in store.Store) *faulty {
	kept := func(instants ...*time.Time) {
		for _, t := range instants {
			if !t.IsZero() {
				*t = time.Unix(0, t.UnixNano()).UTC()
			}
		}
	}
	return &faulty{Store: in, outRecord: func(r redemption.Redemption) redemption.Redemption {
		kept(&r.Deadline, &r.LeavingUntil, &r.CreatedAt, &r.UpdatedAt, &r.CompletedAt, &r.ReleasedAt)
		return r
	}, outOrder: func(o store.Order) store.Order {
		kept(&o.Deadline, &o.CreatedAt, &o.UpdatedAt)
		return o
	}}
}
