package storetest_test

import (
	"context"

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
	}
}
