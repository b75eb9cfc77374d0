package storetest_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// brokenCrossings are stores whose methods are each sound by themselves, and of which one
// writes what it read before another came in between.
func brokenCrossings() map[string]subject {
	return map[string]subject{
		"a release is written over a payment":                   {releaseOverPayment, []string{"a payment beside an end"}},
		"an expiry is written over a plain order's payment":     {expiryOverPayment, []string{"a payment beside a plain order's end"}},
		"an attachment is written over a plain order's payment": {attachOverPayment, []string{"a payment beside a plain order's end"}},
		"payments look for a place, then take it":               {placeBeforePayment(8), []string{"payments of many sessions for one place"}},
		"late payments look for a place, then take it":          {placeBeforePayment(0), []string{"a late payment beside a reservation"}},
		"keys are looked up within a coupon": {func(in store.Store) *faulty {
			var crossing gates
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				customer, key := r.Redemption.CustomerID, r.Redemption.Key
				page, _ := in.ListRedemptions(ctx, store.RedemptionList{CouponID: r.Redemption.CouponID, CustomerID: customer, PageSize: store.MaxPageSize})
				known := slices.ContainsFunc(page.Items, func(r redemption.Redemption) bool { return r.Key == key })
				crossing.pass(key, 2)
				got, err := in.Reserve(ctx, r)
				if errors.Is(err, store.ErrKeyReused) && !known {
					return store.Reserved{}, errors.New("duplicate key value violates a unique constraint")
				}
				return got, err
			}}
		}, []string{"one key at once for several things"}},
		"payments that cross wait for each other": {settlingInACircle, []string{"payments that cross"}},
		"sessions are looked up within a coupon":  {sessionWithinCoupon, []string{"one session at once for two coupons"}},
		"whatever is there already is a taken code": {func(in store.Store) *faulty {
			var crossing gates
			return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				_, unknown := in.Coupon(ctx, c.ID)
				crossing.pass(c.ID, 2)
				err := in.CreateCoupon(ctx, c)
				if errors.Is(err, store.ErrConflict) && unknown != nil {
					return coupon.Reject(c.ID, coupon.CodeTaken, coupon.Params{})
				}
				return err
			}}
		}, []string{"one ID at once for several coupons"}},
		"IDs are looked up, then written": {func(in store.Store) *faulty {
			var looked looks
			return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				looked.at(c.ID)
				soon(func() bool {
					page, _ := in.ListRedemptions(ctx, store.RedemptionList{CouponID: c.ID})
					return len(page.Items) > 0
				})
				err := in.CreateCoupon(ctx, c)
				if errors.Is(err, store.ErrConflict) {
					return nil
				}
				return err
			}, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
				looked.await(t.CouponID)
				return in.Settle(ctx, t)
			}}
		}, []string{"a coupon beside a payment of its ID"}},
		"a mirror is confirmed for whatever revision there is": {func(in store.Store) *faulty {
			var looked looks
			return &faulty{Store: in, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
				looked.await(c.ID)
				return in.UpdateCoupon(ctx, c)
			}, confirmMirror: func(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
				before, unknown := in.Coupon(ctx, id)
				looked.at(id)
				if unknown == nil && before.Revision == m.Revision {
					soon(func() bool { now, err := in.Coupon(ctx, id); return err != nil || now.Revision != before.Revision })
					now, err := in.Coupon(ctx, id)
					if err != nil {
						return now, err
					}
					m.Revision = now.Revision
				}
				return in.ConfirmMirror(ctx, id, m)
			}}
		}, []string{"a mirror beside an update"}},
		"an update makes a deleted coupon again": {func(in store.Store) *faulty {
			var looked looks
			return &faulty{Store: in, deleteCoupon: func(ctx context.Context, id string, revision int64) error {
				looked.await(id)
				return in.DeleteCoupon(ctx, id, revision)
			}, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
				before, unknown := in.Coupon(ctx, c.ID)
				looked.at(c.ID)
				if unknown == nil && before.Revision == c.Revision {
					soon(func() bool { _, err := in.Coupon(ctx, c.ID); return err != nil })
				}
				got, err := in.UpdateCoupon(ctx, c)
				if errors.Is(err, coupon.ErrNotFound) && unknown == nil {
					before.Name, before.Revision = c.Name, before.Revision+1
					return before, in.CreateCoupon(ctx, before)
				}
				return got, err
			}}
		}, []string{"a deletion beside an update"}},
	}
}

// looks lets a call wait until the one at the same time has read what it will write.
type looks struct{ seen memory[bool] }

func (l *looks) at(id string) { l.seen.put(id, true) }

func (l *looks) await(id string) {
	soon(func() bool { seen, _ := l.seen.get(id); return seen })
}

// soon waits for what the call at the same time does, if there is one.
func soon(done func() bool) {
	for range 100 {
		if done() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// releaseOverPayment reads the record, applies the event, and writes it without looking
// whether it is still as it was.
func releaseOverPayment(in store.Store) *faulty {
	var lost memory[redemption.Redemption]
	var looked looks
	return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		if t.Event.Kind == redemption.SessionCompleted {
			looked.await(t.ReservationID)
		}
		return in.Settle(ctx, t)
	}, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
		before, unknown := in.Redemption(ctx, id)
		looked.at(id)
		if unknown != nil || before.State != redemption.Reserved || e.Kind != redemption.Cancelled && e.Kind != redemption.Lapsed {
			return in.Transition(ctx, id, e)
		}
		soon(func() bool { now, err := in.Redemption(ctx, id); return err != nil || now.State != redemption.Reserved })
		got, err := in.Transition(ctx, id, e)
		if stale, legal := redemption.Apply(before, e); err != nil && legal == nil {
			lost.put(id, stale)
			return stale, nil
		}
		return got, err
	}, outRecord: func(r redemption.Redemption) redemption.Redemption {
		if stale, known := lost.get(r.ID); known {
			return stale
		}
		return r
	}}
}

// overPaid shows orders without a coupon as a call has left them that had read them before
// they were paid.
func overPaid(in store.Store) (f *faulty, beside func(ctx context.Context, id string, stale func(store.Order) store.Order, call func() error) error) {
	var lost memory[store.Order]
	var looked looks
	f = &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		if t.Event.Kind == redemption.SessionCompleted {
			looked.await(t.Event.OrderID)
		}
		return in.Settle(ctx, t)
	}, outOrder: func(o store.Order) store.Order {
		if stale, known := lost.get(o.ID); known {
			return stale
		}
		return o
	}}
	return f, func(ctx context.Context, id string, stale func(store.Order) store.Order, call func() error) error {
		before, unknown := in.Order(ctx, id)
		looked.at(id)
		if unknown != nil || before.CouponID != "" || before.State != store.OrderOpen {
			return call()
		}
		soon(func() bool { now, err := in.Order(ctx, id); return err != nil || now.State != store.OrderOpen })
		err := call()
		if now, unknown := in.Order(ctx, id); err == nil && unknown == nil && now.State == store.OrderPaid {
			lost.put(id, stale(before))
		}
		return err
	}
}

func expiryOverPayment(in store.Store) *faulty {
	f, beside := overPaid(in)
	paying := f.settle
	f.settle = func(ctx context.Context, t store.Settlement) (s store.Settled, err error) {
		if t.Event.Kind != redemption.SessionExpired {
			return paying(ctx, t)
		}
		err = beside(ctx, t.Event.OrderID, func(o store.Order) store.Order { return o.After(t.Event) }, func() (err error) {
			s, err = in.Settle(ctx, t)
			return err
		})
		return s, err
	}
	return f
}

func attachOverPayment(in store.Store) *faulty {
	f, beside := overPaid(in)
	f.attachSession = func(ctx context.Context, a store.Attachment) (o store.Order, err error) {
		stale := func(o store.Order) store.Order {
			o, _ = o.Attach(a)
			return o
		}
		err = beside(ctx, a.OrderID, stale, func() (err error) {
			o, err = in.AttachSession(ctx, a)
			return err
		})
		return o, err
	}
	return f
}

// placeBeforePayment asks for a place before anybody else has the coupon's lock: of so many
// payments at once each sees what there was before them, or one sees it before somebody else
// has reserved.
func placeBeforePayment(atOnce int) func(store.Store) *faulty {
	return func(in store.Store) *faulty {
		var crossing gates
		var looked looks
		var free memory[bool]
		return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
			page, _ := in.ListRedemptions(ctx, store.RedemptionList{CouponID: r.Redemption.CouponID})
			if atOnce == 0 && len(page.Items) > 0 { // after the payment has looked
				looked.await(r.Redemption.CouponID)
			}
			return in.Reserve(ctx, r)
		}, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
			before, unknown := in.Redemption(ctx, t.ReservationID)
			if t.Event.Kind != redemption.SessionCompleted || unknown == nil && before.State != redemption.Released {
				return in.Settle(ctx, t)
			}
			left := func() bool {
				found, err := in.LookUp(ctx, store.LookUp{CouponID: t.CouponID, CustomerID: t.CustomerID})
				c := found.Coupon
				return err == nil && store.WithinLimits(c.ID, c.Limits, c.UsedCount+c.ReservedCount, found.CompletedByCustomer+found.ReservedByCustomer) == nil
			}
			seen := left()
			looked.at(t.CouponID)
			if atOnce > 0 {
				crossing.pass(t.CouponID, atOnce)
			} else {
				soon(func() bool { return !left() })
			}
			s, err := in.Settle(ctx, t)
			if err == nil && seen && s.Redemption.OverLimit {
				free.put(s.Redemption.ID, true)
			}
			return s, err
		}, outRecord: func(r redemption.Redemption) redemption.Redemption {
			if unflagged, _ := free.get(r.ID); unflagged {
				r.OverLimit = false
			}
			return r
		}}
	}
}

// sessionWithinCoupon looks under the coupon's lock whether another redemption has a session,
// and leaves those of other coupons to an index.
func sessionWithinCoupon(in store.Store) *faulty {
	var crossing gates
	duplicate := func(ctx context.Context, couponID, session string, err error) error {
		page, _ := in.ListRedemptions(ctx, store.RedemptionList{CouponID: couponID, PageSize: store.MaxPageSize})
		own := slices.ContainsFunc(page.Items, func(r redemption.Redemption) bool { return r.SessionID == session })
		if errors.Is(err, store.ErrSuperseded) && !own {
			return errors.New("duplicate key value violates a unique constraint")
		}
		return err
	}
	return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
		before, _ := in.Order(ctx, a.OrderID)
		crossing.pass(a.SessionID, 2)
		o, err := in.AttachSession(ctx, a)
		return o, duplicate(ctx, before.CouponID, a.SessionID, err)
	}, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
		before, _ := in.Redemption(ctx, id)
		crossing.pass(e.SessionID, 2)
		r, err := in.Transition(ctx, id, e)
		return r, duplicate(ctx, before.CouponID, e.SessionID, err)
	}, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		if r.Redemption.SessionID != "" {
			crossing.pass(r.Redemption.SessionID, 2)
		}
		got, err := in.Reserve(ctx, r)
		return got, duplicate(ctx, r.Redemption.CouponID, r.Redemption.SessionID, err)
	}}
}

// settlingInACircle locks the redemption first and then the order that the event names. Of two
// calls that wait for each other the database ends one, and nobody repeats it.
func settlingInACircle(in store.Store) *faulty {
	var crossing gates
	return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		o, _ := in.Order(ctx, t.Event.OrderID)
		first, second := t.ReservationID, o.ReservationID
		if first == "" || second == "" || first == second {
			return in.Settle(ctx, t)
		}
		crossing.pass(min(first, second)+max(first, second), 2)
		if first < second {
			return store.Settled{}, errors.New("deadlock detected")
		}
		return in.Settle(ctx, t)
	}}
}
