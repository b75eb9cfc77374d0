package storetest_test

import (
	"context"
	"errors"
	"sync"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func brokenReservations() map[string]subject {
	return map[string]subject{
		"the counter is read, then written": {lostUpdate, []string{"no limit lets all pass"}},
		"limits are checked, then used":     {checkThenAct, []string{"maxUses is exact in a race", "maxUsesPerUser is exact in a race"}},
		"the limit of a customer is not kept": {func(in store.Store) *faulty {
			return withoutLimits(in, func(l coupon.Limits) coupon.Limits { return coupon.Limits{MaxUses: l.MaxUses} })
		}, []string{"maxUsesPerUser is exact in a race", "both limits hold together", "rejections name the limits"}},
		"a race is a conflict": {func(in store.Store) *faulty {
			var busy sync.Mutex
			var met gates
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				if !busy.TryLock() {
					met.pass("", 2)
					return store.Reserved{}, store.ErrConflict
				}
				defer busy.Unlock()
				met.pass("", 2)
				return in.Reserve(ctx, r)
			}}
		}, []string{"no limit lets all pass"}},
		"reserved places are never given back": {func(in store.Store) *faulty {
			var made memory[int64]
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if err == nil && !got.Replayed {
					made.change(r.Redemption.CouponID, func(n int64) int64 { return n + 1 })
				}
				return got, err
			}, outCoupon: func(c coupon.Coupon) coupon.Coupon {
				n, _ := made.get(c.ID)
				c.ReservedCount = n
				return c
			}}
		}, []string{"reserve counts", "transition"}},
		"the caller's revision is trusted": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				r.CouponRevision = 0
				return in.Reserve(ctx, r)
			}, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
				t.CouponRevision = 0
				return in.TakeOver(ctx, t)
			}}
		}, []string{"reserve asks the stored coupon", "take over of a coupon that changed"}},
		"the order is stored first": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if err != nil && r.Order != nil {
					o := r.Order.Clone()
					o.CouponID, o.Coupon, o.ReservationID = "", nil, ""
					_, _, _ = in.CreateOrder(ctx, o)
				}
				return got, err
			}}
		}, []string{"a refused reservation stores nothing"}},
		"one reason is enough": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				var rejection *coupon.Rejection
				if errors.As(err, &rejection) {
					rejection.Reasons = rejection.Reasons[:1]
				}
				return got, err
			}}
		}, []string{"rejections name the limits"}},
		"released places stay taken": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				page, err := in.ListRedemptions(ctx, store.RedemptionList{CouponID: r.Redemption.CouponID})
				if err != nil {
					return store.Reserved{}, err
				}
				c, err := in.Coupon(ctx, r.Redemption.CouponID)
				if err != nil {
					return store.Reserved{}, err
				}
				if err := store.WithinLimits(c.ID, coupon.Limits{MaxUses: c.Limits.MaxUses}, page.Total, 0); err != nil {
					return store.Reserved{}, err
				}
				return in.Reserve(ctx, r)
			}}
		}, []string{"released places are free"}},
	}
}

// lostUpdate counts the uses itself, and does not count those that another call
// counts at the same time.
func lostUpdate(in store.Store) *faulty {
	var count memory[int64]
	var gap gates
	return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		n, _ := count.get(r.Redemption.CouponID)
		gap.pass(r.Redemption.CouponID, 2)
		got, err := in.Reserve(ctx, r)
		if err == nil {
			count.put(r.Redemption.CouponID, n+1)
		}
		return got, err
	}, outCoupon: func(c coupon.Coupon) coupon.Coupon {
		c.ReservedCount, _ = count.get(c.ID)
		return c
	}}
}

// withoutLimits keeps the limits away from the sound store, but for what keep leaves
// of them.
func withoutLimits(in store.Store, keep func(coupon.Limits) coupon.Limits) *faulty {
	var limits memory[coupon.Limits]
	return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
		limits.put(c.ID, c.Limits)
		c.Limits = keep(c.Limits)
		return in.CreateCoupon(ctx, c)
	}, outCoupon: func(c coupon.Coupon) coupon.Coupon {
		c.Limits, _ = limits.get(c.ID)
		return c
	}}
}

// checkThenAct lets everybody who has seen a free place have it.
func checkThenAct(in store.Store) *faulty {
	f := withoutLimits(in, func(coupon.Limits) coupon.Limits { return coupon.Limits{} })
	var gap gates
	f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		found, err := f.LookUp(ctx, store.LookUp{CouponID: r.Redemption.CouponID, CustomerID: r.Redemption.CustomerID})
		if err != nil {
			return store.Reserved{}, err
		}
		limits := found.Coupon.Limits
		taken := found.Coupon.UsedCount + found.Coupon.ReservedCount
		if err := store.WithinLimits(r.Redemption.CouponID, limits, taken, found.CompletedByCustomer+found.ReservedByCustomer); err != nil {
			return store.Reserved{}, err
		}
		name := r.Redemption.CouponID
		if limits.MaxUses == 0 {
			name += r.Redemption.CustomerID
		}
		gap.pass(name, int(max(limits.MaxUses, limits.MaxUsesPerUser))+1)
		return in.Reserve(ctx, r)
	}
	return f
}

func brokenKeys() map[string]subject {
	return map[string]subject{
		"limits come before the key": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				found, err := in.LookUp(ctx, store.LookUp{CouponID: r.Redemption.CouponID, CustomerID: r.Redemption.CustomerID})
				if err != nil {
					return store.Reserved{}, err
				}
				if err := store.WithinLimits(r.Redemption.CouponID, found.Coupon.Limits, found.Coupon.UsedCount+found.Coupon.ReservedCount, 0); err != nil {
					return store.Reserved{}, err
				}
				return in.Reserve(ctx, r)
			}}
		}, []string{"a repeated key returns the first result"}},
		"replays are not told": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				got.Replayed = false
				return got, err
			}, createOrder: func(ctx context.Context, o store.Order) (store.Order, bool, error) {
				got, _, err := in.CreateOrder(ctx, o)
				return got, false, err
			}}
		}, []string{"a key in a race is used once", "one reservation by points at a time", "create an order again", "create an order in a race"}},
		"a used key is enough": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if errors.Is(err, store.ErrKeyReused) {
					got.Order, err = in.OrderByKey(ctx, r.Redemption.CustomerID, r.Redemption.Key)
					got.Replayed = true
				}
				return got, err
			}}
		}, []string{"a key for something else"}},
		"points mind no order": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if errors.Is(err, store.ErrKeyReused) && r.Redemption.Origin == redemption.FromPoints {
					if _, other := in.OrderByKey(ctx, r.Redemption.CustomerID, r.Redemption.Key); other == nil {
						r.Redemption.Key += "'"
						return in.Reserve(ctx, r)
					}
				}
				return got, err
			}}
		}, []string{"a key for something else"}},
		"keys are shared between customers": {func(in store.Store) *faulty {
			var first memory[store.Reserved]
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				if before, used := first.get(r.Redemption.Key); used {
					before.Replayed = true
					return before, nil
				}
				got, err := in.Reserve(ctx, r)
				if err == nil {
					first.put(r.Redemption.Key, got)
				}
				return got, err
			}}
		}, []string{"keys are the customer's"}},
		"a reservation that is held uses the key up": {func(in store.Store) *faulty {
			var first memory[string]
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				if id, used := first.get(r.Redemption.Key); used {
					before, err := in.Redemption(ctx, id)
					return store.Reserved{Redemption: before, Replayed: true}, err
				}
				got, err := in.Reserve(ctx, r)
				if err == nil && r.Redemption.Origin == redemption.FromPoints {
					first.put(r.Redemption.Key, got.Redemption.ID)
				}
				return got, err
			}}
		}, []string{"the key of a reservation that is held"}},
		"any reservation by points will do": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				found, err := in.LookUp(ctx, store.LookUp{CouponID: r.Redemption.CouponID, CustomerID: r.Redemption.CustomerID})
				if err == nil && r.Redemption.Origin == redemption.FromPoints && len(found.Held) > 0 {
					return store.Reserved{Redemption: found.Held[0], Replayed: true}, nil
				}
				return in.Reserve(ctx, r)
			}}
		}, []string{"one reservation by points at a time"}},
		"a held reservation is a conflict": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if got.Replayed && r.Order == nil {
					return store.Reserved{}, store.ErrConflict
				}
				return got, err
			}}
		}, []string{"one reservation by points in a race"}},
		"refunds are recorded once": {func(in store.Store) *faulty {
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				before, err := in.Redemption(ctx, id)
				if err == nil && e.Kind == redemption.PointsGivenBack && before.PointsState == redemption.PointsRefunded {
					return before, redemption.ErrIllegal
				}
				return in.Transition(ctx, id, e)
			}}
		}, []string{"points go one way"}},
		"refused points are a cancellation": {func(in store.Store) *faulty {
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				if e.Kind == redemption.PointsRefused {
					e.Kind = redemption.Cancelled
				}
				return in.Transition(ctx, id, e)
			}}
		}, []string{"the machine decides", "refused points"}},
		"a reservation without an order cannot move": {func(in store.Store) *faulty {
			return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
				if r, err := in.Redemption(ctx, t.ReservationID); err == nil && r.OrderID == "" {
					return store.Reserved{}, store.ErrSuperseded
				}
				return in.TakeOver(ctx, t)
			}}
		}, []string{"points reservation into a checkout"}},
		"no session is checked": {unchecked, []string{
			"take over of what has moved on", "one take-over in a race", "take over and attach in a race",
			"attach to what has moved on", "attach in a race",
		}},
		"take-overs are not repeated": {func(in store.Store) *faulty {
			return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
				got, err := in.TakeOver(ctx, t)
				if got.Replayed {
					return store.Reserved{}, store.ErrSuperseded
				}
				return got, err
			}}
		}, []string{"take over is repeated by its key", "take over with one key in a race"}},
		"keys of take-overs are looked up, then written": {func(in store.Store) *faulty {
			var gap gates
			return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
				if _, err := in.OrderByKey(ctx, t.Order.CustomerID, t.Order.Key); err == nil {
					return in.TakeOver(ctx, t)
				}
				gap.pass(t.Order.Key, 2)
				got, err := in.TakeOver(ctx, t)
				if got.Replayed {
					return store.Reserved{}, store.ErrConflict
				}
				return got, err
			}}
		}, []string{"take over with one key in a race"}},
		"anybody takes over": {func(in store.Store) *faulty {
			return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
				if r, err := in.Redemption(ctx, t.ReservationID); err == nil {
					t.Order.CustomerID = r.CustomerID
				}
				return in.TakeOver(ctx, t)
			}}
		}, []string{"take over by somebody else"}},
	}
}

// unchecked takes over from whatever session there is, and attaches to what has
// moved on.
func unchecked(in store.Store) *faulty {
	return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
		for {
			r, err := in.Redemption(ctx, t.ReservationID)
			if err != nil {
				return store.Reserved{}, err
			}
			t.FromSessionID = r.SessionID
			got, err := in.TakeOver(ctx, t)
			if !errors.Is(err, redemption.ErrOtherSession) {
				return got, err
			}
		}
	}, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
		o, err := in.AttachSession(ctx, a)
		return o, without(err, store.ErrSuperseded)
	}}
}
