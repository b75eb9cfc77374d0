package storetest_test

import (
	"context"
	"errors"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// brokenSessions are stores that are wrong about the sessions and deadlines of orders.
func brokenSessions() map[string]subject {
	return map[string]subject{
		"a deadline of zero is none given": {func(in store.Store) *faulty {
			return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
				if o, err := in.Order(ctx, a.OrderID); err == nil && a.Deadline.IsZero() {
					a.Deadline = o.Deadline
				}
				return in.AttachSession(ctx, a)
			}}
		}, []string{"attach for ever"}},
		"a repeated attachment keeps the first URL": {func(in store.Store) *faulty {
			return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
				if o, err := in.Order(ctx, a.OrderID); err == nil && o.SessionID == a.SessionID && o.SessionURL != "" {
					a.SessionURL = o.SessionURL
				}
				return in.AttachSession(ctx, a)
			}}
		}, []string{"attach"}},
		"an order without a coupon takes no session of a redemption": {func(in store.Store) *faulty {
			return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
				page, _ := in.ListRedemptions(ctx, store.RedemptionList{PageSize: store.MaxPageSize})
				has := slices.ContainsFunc(page.Items, func(r redemption.Redemption) bool { return r.SessionID == a.SessionID })
				if o, err := in.Order(ctx, a.OrderID); err == nil && o.ReservationID == "" && has {
					return store.Order{}, store.ErrSuperseded
				}
				return in.AttachSession(ctx, a)
			}}
		}, []string{"attach the session of another"}},
		"sessions are those that were attached": {func(in store.Store) *faulty {
			var brought memory[bool]
			return &faulty{Store: in, createOrder: func(ctx context.Context, o store.Order) (store.Order, bool, error) {
				if o.SessionID != "" {
					brought.put(o.SessionID, true)
				}
				return in.CreateOrder(ctx, o)
			}, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
				if unknown, _ := brought.get(t.Event.SessionID); unknown {
					return store.Settled{}, nil
				}
				return in.Settle(ctx, t)
			}}
		}, []string{"an order that brings its session"}},
		"a session is of the order that was attached last": {attachedLast, []string{"a session of several orders"}},
		"the caller says that no place is left": {func(in store.Store) *faulty {
			var flagged memory[bool]
			return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
				s, err := in.Settle(ctx, t)
				if err == nil && t.Event.NoPlaceLeft {
					flagged.put(s.Redemption.ID, true)
				}
				return s, err
			}, outRecord: func(r redemption.Redemption) redemption.Redemption {
				over, _ := flagged.get(r.ID)
				r.OverLimit = r.OverLimit || over
				return r
			}}
		}, []string{"payment after release", "payment without a reservation"}},
		"a transition validates nothing": {func(in store.Store) *faulty {
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				r, err := in.Transition(ctx, id, e)
				if before, unknown := in.Redemption(ctx, id); errors.Is(err, pricing.ErrInvalid) && unknown == nil {
					return redemption.Apply(before, e)
				}
				return r, err
			}}
		}, []string{"a transition that does not validate"}},
		"payments leave IDs free": {func(in store.Store) *faulty {
			return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				err := in.CreateCoupon(ctx, c)
				page, _ := in.ListRedemptions(ctx, store.RedemptionList{CouponID: c.ID})
				reserved := slices.ContainsFunc(page.Items, func(r redemption.Redemption) bool { return r.Origin != redemption.FromPayment })
				if _, gone := in.Coupon(ctx, c.ID); errors.Is(err, store.ErrConflict) && gone != nil && !reserved {
					return nil
				}
				return err
			}}
		}, []string{"the ID of a deleted coupon"}},
	}
}

// attachedLast finds the order of a session that it was attached to last.
func attachedLast(in store.Store) *faulty {
	var last memory[string]
	return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
		before, _ := in.Order(ctx, a.OrderID)
		o, err := in.AttachSession(ctx, a)
		if err == nil && before.SessionID != a.SessionID {
			last.put(a.SessionID, o.ID)
		}
		return o, err
	}, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		if id, known := last.get(t.Event.SessionID); known && t.Event.OrderID == "" && t.ReservationID == "" {
			t.Event.OrderID = id
		}
		return in.Settle(ctx, t)
	}}
}
