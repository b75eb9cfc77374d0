package storetest_test

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// brokenEndings are stores whose callers had better not leave.
func brokenEndings() map[string]subject {
	during := "contexts that end during a write"
	return map[string]subject{
		"a reservation whose caller leaves has no order": {func(in store.Store) *faulty {
			var half memory[bool]
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if err == nil && !got.Replayed && r.Order != nil && ctx.Err() != nil {
					half.put(r.Order.ID, true)
					return store.Reserved{}, ctx.Err()
				}
				half.put(r.Redemption.OrderID, false)
				return got, err
			}, order: func(ctx context.Context, id string) (store.Order, error) {
				if gone, _ := half.get(id); gone {
					return store.Order{}, store.ErrNotFound
				}
				return in.Order(ctx, id)
			}}
		}, []string{during}},
		"who leaves is told of the connection": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			s, err := in.Settle(ctx, t)
			if err == nil && ctx.Err() != nil {
				return store.Settled{}, errors.New("driver: bad connection")
			}
			return s, err
		}), []string{during}},
		"who leaves is told that all is done": {func(in store.Store) *faulty {
			return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
				o, unknown := in.Order(context.WithoutCancel(ctx), a.OrderID)
				if ctx.Err() != nil && unknown == nil {
					return o.Attach(a)
				}
				return in.AttachSession(ctx, a)
			}}
		}, []string{during}},
		"who leaves cannot come back": {func(in store.Store) *faulty {
			var left memory[bool]
			return &faulty{Store: in, createOrder: func(ctx context.Context, o store.Order) (store.Order, bool, error) {
				if gone, _ := left.get(o.Key); gone {
					return store.Order{}, false, store.ErrKeyReused
				}
				got, replayed, err := in.CreateOrder(ctx, o)
				if ctx.Err() != nil {
					left.put(o.Key, true)
					return store.Order{}, false, ctx.Err()
				}
				return got, replayed, err
			}}
		}, []string{during}},
		"lists end where the caller leaves": {func(in store.Store) *faulty {
			return &faulty{Store: in, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
				page, err := in.ListRedemptions(ctx, list)
				for i := range page.Items {
					if ctx.Err() != nil {
						page.Items, page.Next = append([]redemption.Redemption(nil), page.Items[:i]...), ""
						break
					}
				}
				return page, err
			}}
		}, []string{"contexts that end during a read"}},
	}
}
