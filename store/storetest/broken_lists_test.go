package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// brokenLists are stores that are wrong about what they list, and about instants.
func brokenLists() map[string]subject {
	return map[string]subject{
		"a limit below 0 is none": {func(in store.Store) *faulty {
			most := func(limit int) int {
				if limit < 0 {
					return store.MaxPageSize
				}
				return limit
			}
			return &faulty{Store: in, due: func(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
				return in.Due(ctx, at, most(limit))
			}, openOrders: func(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
				return in.OpenOrders(ctx, at, most(limit))
			}}
		}, []string{"due", "open orders"}},
		"take-overs and transitions keep nanoseconds": {nanoseconds, []string{"instants are kept in UTC"}},
		"refunds wait for their instant": {func(in store.Store) *faulty {
			return &faulty{Store: in, due: func(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
				all, err := in.Due(ctx, at, limit)
				return slices.DeleteFunc(all, func(r redemption.Redemption) bool { return r.CreatedAt.After(at) }), err
			}}
		}, []string{"due"}},
		"delayed payments are never due": {func(in store.Store) *faulty {
			return &faulty{Store: in, due: func(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
				all, err := in.Due(ctx, at, limit)
				return slices.DeleteFunc(all, func(r redemption.Redemption) bool { return r.AwaitingPayment }), err
			}}
		}, []string{"due"}},
		"coupons that changed come first": {func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				page, err := in.ListCoupons(ctx, list)
				slices.SortStableFunc(page.Items, func(a, b coupon.Coupon) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
				return page, err
			}}
		}, []string{"list coupons newest first"}},
		"the total is what is left": {func(in store.Store) *faulty {
			var before memory[int64]
			return &faulty{Store: in, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
				page, err := in.ListRedemptions(ctx, list)
				listed, _ := before.get(list.After)
				page.Total -= listed
				before.put(page.Next, listed+int64(len(page.Items)))
				before.put("", 0)
				return page, err
			}}
		}, []string{"list redemptions"}},
		"later pages are of all states": {func(in store.Store) *faulty {
			return &faulty{Store: in, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
				if list.After != "" {
					list.State = 0
				}
				return in.ListRedemptions(ctx, list)
			}}
		}, []string{"list redemptions"}},
		"lists have no allow-lists": {func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				page, err := in.ListCoupons(ctx, list)
				for i := range page.Items {
					page.Items[i].AllowedUserEmails = coupon.EmailSet{}
				}
				return page, err
			}}
		}, []string{"lists count allow-lists"}},
		"lists tell the addresses": {
			tellingAddresses(func(store.CouponList) bool { return true }), []string{"lists hold no addresses"},
		},
		"later pages of a search tell the addresses": {
			tellingAddresses(func(l store.CouponList) bool { return l.After != "" && l.Search != "" }), []string{"lists hold no addresses"},
		},
		"totals stop early": {func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				page, err := in.ListCoupons(ctx, list)
				page.Total, page.AtLeast = min(page.Total, store.ExactTotal-1), page.Total >= store.ExactTotal
				return page, err
			}, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
				page, err := in.ListRedemptions(ctx, list)
				page.Total = min(page.Total, store.ExactTotal)
				return page, err
			}}
		}, []string{"totals are exact"}},
		"the first mirror stays": {func(in store.Store) *faulty {
			return &faulty{Store: in, confirmMirror: func(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
				if c, err := in.Coupon(ctx, id); err == nil && c.Mirror.Revision == m.Revision {
					m.CouponID, m.PromotionCodeID = c.Mirror.CouponID, c.Mirror.PromotionCodeID
				}
				return in.ConfirmMirror(ctx, id, m)
			}}
		}, []string{"confirm the mirror"}},
	}
}

// tellingAddresses returns a store with whole allow-lists in some of its lists.
func tellingAddresses(in func(store.CouponList) bool) func(store.Store) *faulty {
	return func(inner store.Store) *faulty {
		return &faulty{Store: inner, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
			page, err := inner.ListCoupons(ctx, list)
			for i, listed := range page.Items {
				if c, err := inner.Coupon(ctx, listed.ID); err == nil && in(list) {
					page.Items[i].AllowedUserEmails = c.AllowedUserEmails
				}
			}
			return page, err
		}}
	}
}

// nanoseconds gives out the instants of take-overs and transitions as they came.
func nanoseconds(in store.Store) *faulty {
	return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
		r, err := in.TakeOver(ctx, t)
		if err == nil && !r.Replayed {
			r.Redemption.UpdatedAt, r.Redemption.Deadline = t.At, t.Deadline
		}
		return r, err
	}, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
		r, err := in.Transition(ctx, id, e)
		if err == nil && r.State == redemption.Released {
			r.UpdatedAt = e.At
		}
		return r, err
	}}
}
