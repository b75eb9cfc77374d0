package storetest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// brokenRequests are stores that compare other things of two requests with one key than the
// contract says.
func brokenRequests() map[string]subject {
	another := "nothing but the fingerprint is compared"
	return map[string]subject{
		"metadata are part of a request": {reserving(func(first store.Reserved, r store.Reservation) bool {
			return r.Order != nil && !maps.Equal(first.Order.Metadata, r.Order.Metadata)
		}), []string{another}},
		"the price in points is part of a request": {reserving(func(first store.Reserved, r store.Reservation) bool {
			return r.Order == nil && first.Redemption.Key == r.Redemption.Key && first.Redemption.Points != r.Redemption.Points
		}), []string{another}},
		"prices of an order without a coupon are part of a request": {func(in store.Store) *faulty {
			return &faulty{Store: in, createOrder: func(ctx context.Context, o store.Order) (store.Order, bool, error) {
				first, replayed, err := in.CreateOrder(ctx, o)
				if replayed && first.Quote.Total != o.Quote.Total {
					return store.Order{}, false, store.ErrKeyReused
				}
				return first, replayed, err
			}}
		}, []string{another}},
		"prices of a take-over are part of a request": {takingOver(func(_ context.Context, _ store.Store, first store.Reserved, t store.TakeOver) error {
			if first.Replayed && first.Order.Quote.Total != t.Order.Quote.Total {
				return store.ErrKeyReused
			}
			return nil
		}), []string{another}},
		"a take-over looks for the reservation before the key": {takingOver(func(ctx context.Context, in store.Store, _ store.Reserved, t store.TakeOver) error {
			_, err := in.Redemption(ctx, t.ReservationID)
			return err
		}), []string{"keys of take-overs"}},
		"a take-over asks the coupon before the key": {takingOver(func(ctx context.Context, in store.Store, first store.Reserved, t store.TakeOver) error {
			if c, err := in.Coupon(ctx, t.Order.CouponID); err == nil && first.Replayed && !c.Active() {
				return coupon.Reject(c.ID, coupon.CouponInactive, coupon.Params{})
			}
			return nil
		}), []string{"keys of take-overs"}},
		"a take-over with the key of a checkout is another request": {takingOver(func(_ context.Context, _ store.Store, first store.Reserved, t store.TakeOver) error {
			if first.Replayed && first.Redemption.Key == t.Order.Key {
				return store.ErrKeyReused
			}
			return nil
		}), []string{"keys of take-overs"}},
		"an order without a coupon minds no key of a take-over": {func(in store.Store) *faulty {
			return &faulty{Store: in, createOrder: func(ctx context.Context, o store.Order) (store.Order, bool, error) {
				got, replayed, err := in.CreateOrder(ctx, o)
				if first, unknown := in.OrderByKey(ctx, o.CustomerID, o.Key); errors.Is(err, store.ErrKeyReused) && unknown == nil {
					if r, _ := in.Redemption(ctx, first.ReservationID); r.Key != o.Key {
						return first, true, nil
					}
				}
				return got, replayed, err
			}}
		}, []string{"keys of take-overs"}},
		"keys are kept for a day": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if got.Replayed && r.Order != nil && r.Redemption.CreatedAt.Sub(got.Redemption.CreatedAt) > 24*time.Hour {
					o := r.Order.Clone()
					o.Key += "'"
					r.Order, r.Redemption.Key = &o, o.Key
					return in.Reserve(ctx, r)
				}
				return got, err
			}}
		}, []string{"keys are for ever"}},
	}
}

// reserving refuses a repeated request that it takes for another.
func reserving(another func(first store.Reserved, r store.Reservation) bool) func(store.Store) *faulty {
	return func(in store.Store) *faulty {
		return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
			got, err := in.Reserve(ctx, r)
			if got.Replayed && another(got, r) {
				return store.Reserved{}, store.ErrKeyReused
			}
			return got, err
		}}
	}
}

// takingOver refuses what the contract lets pass.
func takingOver(
	refuse func(ctx context.Context, in store.Store, got store.Reserved, t store.TakeOver) error,
) func(store.Store) *faulty {
	return func(in store.Store) *faulty {
		return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
			got, err := in.TakeOver(ctx, t)
			if err != nil {
				return got, err
			}
			if refused := refuse(ctx, in, got, t); refused != nil {
				return store.Reserved{}, refused
			}
			return got, nil
		}}
	}
}

// brokenHalves are stores in which a call that is refused has done the first half.
func brokenHalves() map[string]subject {
	return map[string]subject{
		"a take-over that fails has cancelled the first order": {func(in store.Store) *faulty {
			var left memory[redemption.Event]
			return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
				before, _ := in.Redemption(ctx, t.ReservationID)
				got, err := in.TakeOver(ctx, t)
				if idConflict(err) {
					left.put(before.OrderID, redemption.Event{Kind: redemption.TakenOver, At: t.At, SessionID: t.FromSessionID})
				}
				return got, err
			}, outOrder: afterEvents(&left)}
		}, []string{"a take-over that fails leaves the first order"}},
		"a payment that fails has paid the order": {func(in store.Store) *faulty {
			var paid memory[redemption.Event]
			return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
				s, err := in.Settle(ctx, t)
				if errors.Is(err, store.ErrConflict) {
					paid.put(t.Event.OrderID, t.Event)
				}
				return s, err
			}, outOrder: afterEvents(&paid)}
		}, []string{"a payment that fails pays nothing"}},
		"a conflict of IDs uses the key up": {func(in store.Store) *faulty {
			var used memory[bool]
			free := func(customer, key string) bool { gone, _ := used.get(customer + "\x00" + key); return !gone }
			note := func(customer, key string, err error) {
				if idConflict(err) {
					used.put(customer+"\x00"+key, true)
				}
			}
			return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
				if !free(t.Order.CustomerID, t.Order.Key) {
					return store.Reserved{}, store.ErrKeyReused
				}
				got, err := in.TakeOver(ctx, t)
				note(t.Order.CustomerID, t.Order.Key, err)
				return got, err
			}, createOrder: func(ctx context.Context, o store.Order) (store.Order, bool, error) {
				if !free(o.CustomerID, o.Key) {
					return store.Order{}, false, store.ErrKeyReused
				}
				got, replayed, err := in.CreateOrder(ctx, o)
				note(o.CustomerID, o.Key, err)
				return got, replayed, err
			}}
		}, []string{"a conflict leaves the key free"}},
	}
}

// idConflict reports an ErrConflict that is none of its more exact kinds.
func idConflict(err error) bool {
	return errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrSuperseded) &&
		!errors.Is(err, store.ErrStaleRevision) && !errors.Is(err, store.ErrKeyReused)
}

// afterEvents shows orders after events that changed nothing else.
func afterEvents(events *memory[redemption.Event]) func(store.Order) store.Order {
	return func(o store.Order) store.Order {
		if e, known := events.get(o.ID); known {
			return o.After(e)
		}
		return o
	}
}

// brokenOrders are stores that mind instants, states or letters where the contract does not,
// or not as it does.
func brokenOrders() map[string]subject {
	return map[string]subject{
		"events that are older than the record are ignored": {settling(func(ctx context.Context, in store.Store, t store.Settlement) (store.Settled, error) {
			if r, err := in.Redemption(ctx, t.ReservationID); err == nil && r.SessionID == t.Event.SessionID && t.Event.At.Before(r.UpdatedAt) {
				o, err := in.Order(ctx, r.OrderID)
				return store.Settled{Redemption: r, Order: o}, err
			}
			return in.Settle(ctx, t)
		}), []string{"payment of an earlier instant"}},
		"only what was released is refunded": {func(in store.Store) *faulty {
			return &faulty{Store: in, due: func(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
				all, err := in.Due(ctx, at, 1_000_000)
				all = slices.DeleteFunc(all, func(r redemption.Redemption) bool { return r.State == redemption.Completed })
				return all[:min(len(all), max(limit, 0))], err
			}}
		}, []string{"points of what was paid are due"}},
		"points of what was paid are not given back": {func(in store.Store) *faulty {
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				if r, err := in.Redemption(ctx, id); err == nil && r.State == redemption.Completed && e.Kind == redemption.PointsGivenBack {
					return redemption.Redemption{}, &redemption.TransitionError{ID: id, State: r.State, Kind: e.Kind, Cause: redemption.ErrIllegal}
				}
				return in.Transition(ctx, id, e)
			}}
		}, []string{"points of what was paid are due"}},
		"leaving is never taken back": {func(in store.Store) *faulty {
			return &faulty{Store: in, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
				if r, err := in.Redemption(ctx, id); err == nil && e.Kind == redemption.Leaving && e.Deadline.IsZero() {
					e.Deadline = r.LeavingUntil
				}
				return in.Transition(ctx, id, e)
			}}
		}, []string{"leaving is taken back"}},
		"a deleted coupon keeps its limits": {limitsOutliveTheCoupon, []string{"payment of a deleted coupon"}},
		"equal instants go by a collation": {sorted(func(aAt time.Time, aID string, bAt time.Time, bID string) int {
			if c := aAt.Compare(bAt); c != 0 {
				return c
			}
			return strings.Compare(strings.ToLower(aID), strings.ToLower(bID))
		}), []string{"lists of one instant", "work of one instant"}},
		"instants are compared by the millisecond": {sorted(func(aAt time.Time, aID string, bAt time.Time, bID string) int {
			if c := aAt.Truncate(time.Millisecond).Compare(bAt.Truncate(time.Millisecond)); c != 0 {
				return c
			}
			return strings.Compare(aID, bID)
		}), []string{"lists of one instant", "work of one instant"}},
	}
}

// limitsOutliveTheCoupon flags payments over the limits that a coupon had when it was deleted.
func limitsOutliveTheCoupon(in store.Store) *faulty {
	var gone memory[coupon.Limits]
	var flagged memory[bool]
	return &faulty{Store: in, deleteCoupon: func(ctx context.Context, id string, revision int64) error {
		c, _ := in.Coupon(ctx, id)
		err := in.DeleteCoupon(ctx, id, revision)
		if err == nil {
			gone.put(id, c.Limits)
		}
		return err
	}, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		limits, deleted := gone.get(t.CouponID)
		page, _ := in.ListRedemptions(ctx, store.RedemptionList{CouponID: t.CouponID, State: redemption.Completed})
		s, err := in.Settle(ctx, t)
		if err == nil && deleted && s.Changed && limits.MaxUses > 0 && int64(len(page.Items)) >= limits.MaxUses {
			flagged.put(s.Redemption.ID, true)
		}
		return s, err
	}, outRecord: func(r redemption.Redemption) redemption.Redemption {
		if over, _ := flagged.get(r.ID); over {
			r.OverLimit = true
		}
		return r
	}}
}

// sorted has lists and work in an order of its own, within a page.
func sorted(compare func(aAt time.Time, aID string, bAt time.Time, bID string) int) func(store.Store) *faulty {
	records := func(a, b redemption.Redemption) int { return compare(a.CreatedAt, a.ID, b.CreatedAt, b.ID) }
	return func(in store.Store) *faulty {
		return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
			page, err := in.ListCoupons(ctx, list)
			slices.SortStableFunc(page.Items, func(a, b coupon.Coupon) int { return compare(b.CreatedAt, b.ID, a.CreatedAt, a.ID) })
			return page, err
		}, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
			page, err := in.ListRedemptions(ctx, list)
			slices.SortStableFunc(page.Items, func(a, b redemption.Redemption) int { return records(b, a) })
			return page, err
		}, due: func(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
			all, err := in.Due(ctx, at, 1_000_000)
			slices.SortStableFunc(all, records)
			return all[:min(len(all), max(limit, 0))], err
		}, openOrders: func(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
			all, err := in.OpenOrders(ctx, at, 1_000_000)
			slices.SortStableFunc(all, func(a, b store.Order) int { return compare(a.CreatedAt, a.ID, b.CreatedAt, b.ID) })
			return all[:min(len(all), max(limit, 0))], err
		}}
	}
}
