package storetest_test

import (
	"context"
	"errors"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// brokenEvents are stores that take an event to be about more than it is, or take one that
// they have to refuse.
func brokenEvents() map[string]subject {
	return map[string]subject{
		"a session that a transition brings is the order's too": {func(in store.Store) *faulty {
			var brought memory[string]
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				r, err := in.Transition(ctx, id, e)
				if err == nil && e.Kind == redemption.SessionAttached {
					brought.put(r.OrderID, e.SessionID)
				}
				return r, err
			}, outOrder: func(o store.Order) store.Order {
				if session, known := brought.get(o.ID); known && o.SessionID == "" {
					o.SessionID = session
				}
				return o
			}}
		}, []string{"transition"}},
		"events may be without an instant": {func(in store.Store) *faulty {
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				e.At = dated(e.At)
				return in.Transition(ctx, id, e)
			}, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
				t.Event.At = dated(t.Event.At)
				return in.Settle(ctx, t)
			}}
		}, []string{"events without an instant"}},
		"take-overs may be without an instant": {func(in store.Store) *faulty {
			return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
				t.At = dated(t.At)
				return in.TakeOver(ctx, t)
			}}
		}, []string{"changes without an instant"}},
		"sessions may be attached without an instant": {func(in store.Store) *faulty {
			return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
				a.At = dated(a.At)
				return in.AttachSession(ctx, a)
			}}
		}, []string{"changes without an instant"}},
		"an order keeps any session": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			s, err := in.Settle(ctx, t)
			if o, unknown := in.Order(ctx, t.Event.OrderID); errors.Is(err, pricing.ErrInvalid) && unknown == nil && o.ReservationID == "" {
				return store.Settled{Order: o.After(t.Event), Changed: true}, nil
			}
			return s, err
		}), []string{"settlements that do not validate"}},
		"a redemption keeps any session": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			s, err := in.Settle(ctx, t)
			if r, unknown := in.Redemption(ctx, t.ReservationID); errors.Is(err, pricing.ErrInvalid) && unknown == nil {
				r, err = redemption.Apply(r, t.Event)
				return store.Settled{Redemption: r, Changed: true}, err
			}
			return s, err
		}), []string{"settlements that do not validate"}},
		"an order alone finds its reservation, whatever that has": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			s, err := in.Settle(ctx, t)
			if err == nil && t.Event.SessionID == "" && s.Redemption.ID == "" && s.Order.ReservationID != "" {
				s.Redemption, err = in.Redemption(ctx, s.Order.ReservationID)
			}
			return s, err
		}), []string{"a session that never came to be"}},
	}
}

// dated is the instant, or some other for none.
func dated(at time.Time) time.Time {
	if at.IsZero() {
		return time.Unix(1_800_000_000, 0)
	}
	return at
}
