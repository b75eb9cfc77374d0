package storetest_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// settling returns a store that settles in its own way.
func settling(how func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error)) func(store.Store) *faulty {
	return func(in store.Store) *faulty {
		return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) { return how(ctx, in, t) }}
	}
}

func brokenSettlements() map[string]subject {
	return map[string]subject{
		"orders are forgotten": {func(in store.Store) *faulty {
			return &faulty{Store: in, outOrder: func(o store.Order) store.Order {
				o.State = store.OrderOpen
				return o
			}}
		}, []string{"take over", "take over and payment in a race", "complete", "settle an order without a coupon", "transition", "everything at once"}},
		"every delivery is counted": {countingDeliveries, []string{"complete", "complete in a race"}},
		"everything is a change": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			s, err := in.Settle(ctx, t)
			s.Changed = true
			return s, err
		}), []string{"complete", "complete in a race", "a session that never came to be", "events about nothing"}},
		"an expiry releases what was paid": {releasingPaid, []string{"every order of events ends the same", "released places are free"}},
		"an expiry stands": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			r, err := in.Redemption(ctx, t.ReservationID)
			if err == nil && r.State == redemption.Released {
				return store.Settled{Redemption: r}, nil
			}
			return in.Settle(ctx, t)
		}), []string{"every order of events ends the same", "payment after release"}},
		"an expiry releases what is leaving": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			if r, err := in.Redemption(ctx, t.ReservationID); err == nil && t.Event.At.Before(r.LeavingUntil) {
				t.Event.At = r.LeavingUntil
			}
			return in.Settle(ctx, t)
		}), []string{"a reservation that leaves its session", "a reservation that never leaves", "the machine decides"}},
		"what leaves is left alone for ever": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			if r, err := in.Redemption(ctx, t.ReservationID); err == nil && t.Event.Kind == redemption.SessionExpired && !r.LeavingUntil.IsZero() {
				return store.Settled{Redemption: r}, nil
			}
			return in.Settle(ctx, t)
		}), []string{"a reservation that never leaves"}},
		"leaving is not kept": {func(in store.Store) *faulty {
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				if r, err := in.Redemption(ctx, id); err == nil && e.Kind == redemption.Leaving {
					return redemption.Apply(r, e)
				}
				return in.Transition(ctx, id, e)
			}}
		}, []string{"a reservation that leaves its session", "the machine decides"}},
		"unpaid is paid": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			if t.Event.Kind == redemption.SessionUnpaid {
				t.Event.Kind = redemption.SessionCompleted
			}
			return in.Settle(ctx, t)
		}), []string{"unpaid waits"}},
		"metadata are not read": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			t.ReservationID = ""
			return in.Settle(ctx, t)
		}), []string{"settle finds by metadata"}},
		"the reservation that is named is settled": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			if r, err := in.Redemption(ctx, t.ReservationID); err == nil {
				t.Event.OrderID = r.OrderID
				if r.SessionID != "" {
					t.Event.SessionID = r.SessionID
				}
			}
			return in.Settle(ctx, t)
		}), []string{"late events of a session that was left", "settle minds whose session it is"}},
		"an old session keeps its reservation": {oldSessions, []string{"late events of a session that was left", "late payment of a session that was left"}},
		"any event is of a session": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			s, err := in.Settle(ctx, t)
			return s, without(err, redemption.ErrIllegal)
		}), []string{"settle takes events of sessions"}},
		"an event needs a session": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			if t.Event.SessionID == "" {
				return store.Settled{}, nil
			}
			return in.Settle(ctx, t)
		}), []string{"a session that never came to be"}},
		"unknown sessions are errors": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			s, err := in.Settle(ctx, t)
			if err == nil && s.Redemption.ID == "" && s.Order.IsZero() {
				err = store.ErrNotFound
			}
			return s, err
		}), []string{"events about nothing"}},
		"orders without a coupon are not settled": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			if o, err := in.Order(ctx, t.Event.OrderID); err == nil && o.CouponID == "" {
				return store.Settled{}, nil
			}
			return in.Settle(ctx, t)
		}), []string{"settle an order without a coupon"}},
		"payments without a place are dropped": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			t.CouponID = ""
			return in.Settle(ctx, t)
		}), []string{"late payment of a session that was left", "payment without a reservation"}},
		"payments over the limit are not flagged": {func(in store.Store) *faulty {
			return &faulty{Store: in, outRecord: func(r redemption.Redemption) redemption.Redemption {
				r.OverLimit = false
				return r
			}}
		}, []string{"payment after release", "payment without a reservation", "late payment of a session that was left"}},
		"payments with text that cannot be kept are dropped": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			if strings.ContainsRune(t.Event.OrderID, 0) {
				return store.Settled{}, nil
			}
			return in.Settle(ctx, t)
		}), []string{"text that cannot be kept hides nothing"}},
		"nobody is a customer": {func(in store.Store) *faulty {
			return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
				if t.CustomerID == "" && t.CouponID != "" {
					t.CustomerID = "nobody"
				}
				return in.Settle(ctx, t)
			}, outRecord: func(r redemption.Redemption) redemption.Redemption {
				if r.CustomerID == "nobody" {
					r.CustomerID = ""
				}
				return r
			}}
		}, []string{"payment of nobody"}},
		"payments are told apart by delivery": {func(in store.Store) *faulty {
			var deliveries atomic.Int64
			return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
				if t.Event.Kind == redemption.SessionCompleted && t.CouponID != "" && t.Event.OrderID == "" {
					t.Event.SessionID += "#" + strconv.FormatInt(deliveries.Add(1), 10)
				}
				return in.Settle(ctx, t)
			}}
		}, []string{"payment without a reservation in a race"}},
		"a deleted coupon takes no payment": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			if _, err := in.Coupon(ctx, t.CouponID); errors.Is(err, coupon.ErrNotFound) {
				return store.Settled{}, err
			}
			return in.Settle(ctx, t)
		}), []string{"payment of a deleted coupon"}},
		"the session that was seen is not compared": {func(in store.Store) *faulty {
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				if r, err := in.Redemption(ctx, id); err == nil {
					e.SessionID = r.SessionID
				}
				return in.Transition(ctx, id, e)
			}}
		}, []string{"the machine decides", "illegal transitions change nothing"}},
		"illegal events are ignored": {func(in store.Store) *faulty {
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				r, err := in.Transition(ctx, id, e)
				return r, without(err, redemption.ErrIllegal)
			}}
		}, []string{"the machine decides", "illegal transitions change nothing"}},
	}
}

// countingDeliveries counts a use with every payment that is delivered.
func countingDeliveries(in store.Store) *faulty {
	var count memory[int64]
	return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		s, err := in.Settle(ctx, t)
		if err == nil && t.Event.Kind == redemption.SessionCompleted {
			count.change(s.Redemption.CouponID, func(n int64) int64 { return n + 1 })
		}
		return s, err
	}, outCoupon: func(c coupon.Coupon) coupon.Coupon {
		c.UsedCount, _ = count.get(c.ID)
		return c
	}}
}

// releasingPaid releases completed redemptions when their session expires.
func releasingPaid(in store.Store) *faulty {
	var released memory[bool]
	return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		s, err := in.Settle(ctx, t)
		if err == nil && t.Event.Kind == redemption.SessionExpired && s.Redemption.State == redemption.Completed {
			released.put(s.Redemption.ID, true)
			released.put(s.Redemption.CouponID, true)
		}
		return s, err
	}, outRecord: func(r redemption.Redemption) redemption.Redemption {
		if gone, _ := released.get(r.ID); gone {
			r.State = redemption.Released
		}
		return r
	}, outCoupon: func(c coupon.Coupon) coupon.Coupon {
		if gone, _ := released.get(c.ID); gone {
			c.UsedCount--
		}
		return c
	}}
}

// oldSessions finds the reservation of a session that it has left.
func oldSessions(in store.Store) *faulty {
	var first memory[string]
	return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
		o, err := in.AttachSession(ctx, a)
		first.put(a.SessionID, o.ReservationID)
		return o, err
	}, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		id, _ := first.get(t.Event.SessionID)
		if r, err := in.Redemption(ctx, id); err == nil && r.SessionID != t.Event.SessionID {
			t.Event.SessionID, t.Event.OrderID, t.ReservationID = r.SessionID, r.OrderID, id
			if r.SessionID == "" {
				t.Event.SessionID = "cs_of_" + id
			}
		}
		return in.Settle(ctx, t)
	}}
}
