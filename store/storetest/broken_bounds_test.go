package storetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// brokenBounds are stores that keep or find less than the contract allows.
func brokenBounds() map[string]subject {
	tooLong := errors.New("data too long for column")
	return map[string]subject{
		"an order is 64 KiB of text": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				if text, err := json.Marshal(r.Order); err == nil && len(text) > 1<<16-1 {
					return store.Reserved{}, tooLong
				}
				return in.Reserve(ctx, r)
			}}
		}, []string{"the largest order"}},
		"a session's URL has 2,048 bytes": {func(in store.Store) *faulty {
			return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
				a.SessionURL = a.SessionURL[:min(2_048, len(a.SessionURL))]
				return in.AttachSession(ctx, a)
			}}
		}, []string{"the largest order"}},
		"a statement has 65,535 parameters": {func(in store.Store) *faulty {
			return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				if c.AllowedUserEmails.Len() > 1<<16-1 {
					return errors.New("more parameters than a statement takes")
				}
				return in.CreateCoupon(ctx, c)
			}}
		}, []string{"a long allow-list"}},
		"a sweep has 100 records": {func(in store.Store) *faulty {
			return &faulty{Store: in, openOrders: func(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
				return in.OpenOrders(ctx, at, min(limit, 100))
			}}
		}, []string{"work of many records"}},
		"points are looked for among those that LookUp lists": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if _, held := freePoints(ctx, in, r); got.Replayed && got.Redemption.Key != r.Redemption.Key && !held {
					return store.Reserved{Redemption: r.Redemption}, nil
				}
				return got, err
			}}
		}, []string{"points beside many reservations"}},
	}
}
