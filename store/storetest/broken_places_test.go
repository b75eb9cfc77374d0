package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// brokenPlaces are stores that are wrong about a place or a payment in one case of many.
func brokenPlaces() map[string]subject {
	return map[string]subject{
		"pending points take no place": {pendingFree, []string{"pending points take a place"}},
		"another session of an order is an error": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			r, err := in.Redemption(ctx, t.ReservationID)
			if err == nil && r.SessionID != "" && r.SessionID != t.Event.SessionID && r.OrderID == t.Event.OrderID {
				return store.Settled{}, redemption.ErrOtherSession
			}
			return in.Settle(ctx, t)
		}), []string{"settle minds whose session it is"}},
		"points in no checkout are anybody's": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			r, err := in.Redemption(ctx, t.ReservationID)
			if err == nil && r.SessionID == "" && r.OrderID == "" && t.Event.OrderID != "" {
				return store.Settled{Redemption: r}, nil
			}
			return in.Settle(ctx, t)
		}), []string{"settle minds whose session it is"}},
		"prices are part of a request": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if got.Replayed && r.Order != nil && r.Order.Quote.Total != got.Order.Quote.Total {
					return store.Reserved{}, store.ErrKeyReused
				}
				return got, err
			}}
		}, []string{"a repeated key returns the first result"}},
		"a key of points is for any coupon": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if errors.Is(err, store.ErrKeyReused) && r.Redemption.Origin == redemption.FromPoints {
					return usedKey(ctx, in, r)
				}
				return got, err
			}}
		}, []string{"a key for something else"}},
		"a transition may be of a session": {func(in store.Store) *faulty {
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				if !e.OfSession() {
					return in.Transition(ctx, id, e)
				}
				settled, err := in.Settle(ctx, store.Settlement{Event: e, ReservationID: id})
				return settled.Redemption, err
			}}
		}, []string{"transition takes no events of sessions"}},
		"ended orders have lost their key": {func(in store.Store) *faulty {
			return &faulty{Store: in, orderByKey: func(ctx context.Context, customerID, key string) (store.Order, error) {
				o, err := in.OrderByKey(ctx, customerID, key)
				if err == nil && o.State == store.OrderCancelled {
					return store.Order{}, store.ErrNotFound
				}
				return o, err
			}}
		}, []string{"orders by key"}},
		"uses over the limit are not counted": {overLimitFree, []string{"payment after release"}},
		"a session is of its first order":     {firstOfSession, []string{"a session of several orders"}},
		"sessions are looked up, then given":  {sessionCheckThenAct, []string{"one session in a race", "attach and payment in a race"}},
		"a reservation brings any session": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if errors.Is(err, store.ErrSuperseded) {
					r.Redemption.SessionID = ""
					return in.Reserve(ctx, r)
				}
				return got, err
			}}
		}, []string{"reserve with the session of another"}},
		"a transition to a taken session is ignored": {func(in store.Store) *faulty {
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				r, err := in.Transition(ctx, id, e)
				if errors.Is(err, store.ErrSuperseded) {
					return in.Redemption(ctx, id)
				}
				return r, err
			}}
		}, []string{"a transition to the session of another"}},
		"payments mind no key": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			settled, err := in.Settle(ctx, t)
			if _, unknown := in.Redemption(ctx, t.NewID); errors.Is(err, store.ErrConflict) && unknown != nil {
				t.NewID += "'"
				return in.Settle(ctx, t)
			}
			return settled, err
		}), []string{"payment with a used ID"}},
		"a payment leaves its key free": {keysOfPayments, []string{"payment with a used ID"}},
		"a take-over needs a place": {func(in store.Store) *faulty {
			return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
				if c, err := in.Coupon(ctx, t.Order.CouponID); err == nil && c.Limits.MaxUses > 0 && c.UsedCount+c.ReservedCount > c.Limits.MaxUses {
					return store.Reserved{}, coupon.Reject(c.ID, coupon.UsageLimitReached, coupon.Params{MaxUses: c.Limits.MaxUses})
				}
				return in.TakeOver(ctx, t)
			}}
		}, []string{"take over"}},
	}
}

// usedKey returns the customer's redemption of the key.
func usedKey(ctx context.Context, in store.Store, r store.Reservation) (store.Reserved, error) {
	page, err := in.ListRedemptions(ctx, store.RedemptionList{CustomerID: r.Redemption.CustomerID, PageSize: store.MaxPageSize})
	for _, used := range page.Items {
		if used.Key == r.Redemption.Key && used.Origin == redemption.FromPoints {
			return store.Reserved{Redemption: used, Replayed: true}, nil
		}
	}
	return store.Reserved{}, errors.Join(err, store.ErrKeyReused)
}

// withRoom reserves once more under limits that leave room for some redemptions.
func withRoom(
	ctx context.Context, in store.Store, r store.Reservation, uncounted func(redemption.Redemption) bool,
) (store.Reserved, error) {
	got, refused := in.Reserve(ctx, r)
	if !errors.Is(refused, coupon.ErrUsageLimitReached) && !errors.Is(refused, coupon.ErrUserUsageLimitReached) {
		return got, refused
	}
	page, err := in.ListRedemptions(ctx, store.RedemptionList{CouponID: r.Redemption.CouponID, PageSize: store.MaxPageSize})
	if err != nil || !slices.ContainsFunc(page.Items, uncounted) {
		return got, refused
	}
	c, err := in.Coupon(ctx, r.Redemption.CouponID)
	if err != nil {
		return got, err
	}
	limits := c.Limits
	c.Limits = coupon.Limits{}
	if c, err = in.UpdateCoupon(ctx, c); err != nil {
		return got, err
	}
	r.CouponRevision = 0
	got, err = in.Reserve(ctx, r)
	c.Limits = limits
	_, restored := in.UpdateCoupon(ctx, c)
	return got, errors.Join(err, restored)
}

// pendingFree keeps no place for points that are being debited.
func pendingFree(in store.Store) *faulty {
	return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		return withRoom(ctx, in, r, func(r redemption.Redemption) bool {
			return r.Live() && r.PointsState == redemption.PointsPending
		})
	}}
}

// overLimitFree does not count uses that are over the limit.
func overLimitFree(in store.Store) *faulty {
	return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		return withRoom(ctx, in, r, func(r redemption.Redemption) bool { return r.OverLimit })
	}}
}

// firstOfSession settles the order to which a session was attached first.
func firstOfSession(in store.Store) *faulty {
	var first memory[string]
	return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
		o, err := in.AttachSession(ctx, a)
		if err == nil {
			first.change(a.SessionID, func(id string) string { return cmp.Or(id, o.ID) })
		}
		return o, err
	}, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		if id, known := first.get(t.Event.SessionID); known && t.Event.OrderID == "" {
			t.Event.OrderID = id
		}
		return in.Settle(ctx, t)
	}}
}

// keysOfPayments lets an exchange of points have the key of a payment.
func keysOfPayments(in store.Store) *faulty {
	return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		got, err := in.Reserve(ctx, r)
		paid, unknown := in.Redemption(ctx, r.Redemption.Key)
		if errors.Is(err, store.ErrKeyReused) && r.Order == nil && unknown == nil && paid.Origin == redemption.FromPayment {
			return store.Reserved{Redemption: paid, Replayed: true}, nil
		}
		return got, err
	}}
}

// sessionCheckThenAct looks whether a session is free, and gives it away afterwards. Beneath,
// each redemption has one of its own.
func sessionCheckThenAct(in store.Store) *faulty {
	var taken memory[bool]
	var gap gates
	look := func(session, id string) string {
		_, known := taken.get(session)
		gap.pass(session, 2)
		taken.put(session, true)
		if known {
			return session
		}
		return session + "#" + id
	}
	seen := func(session string) string { return strings.SplitN(session, "#", 2)[0] }
	return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
		a.SessionID = look(a.SessionID, a.OrderID)
		return in.AttachSession(ctx, a)
	}, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
		e.SessionID = look(e.SessionID, id)
		return in.Transition(ctx, id, e)
	}, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		if r.Redemption.SessionID != "" {
			r.Redemption.SessionID = look(r.Redemption.SessionID, r.Redemption.ID)
		}
		return in.Reserve(ctx, r)
	}, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		t.Event.SessionID = look(t.Event.SessionID, t.NewID)
		return in.Settle(ctx, t)
	}, outRecord: func(r redemption.Redemption) redemption.Redemption {
		r.SessionID = seen(r.SessionID)
		return r
	}, outOrder: func(o store.Order) store.Order {
		o.SessionID = seen(o.SessionID)
		return o
	}}
}
