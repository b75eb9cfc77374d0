package storetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func brokenRest() map[string]subject {
	return map[string]subject{
		"deadlines are exclusive": {func(in store.Store) *faulty {
			return &faulty{Store: in, due: func(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
				return in.Due(ctx, at.Add(-time.Microsecond), limit)
			}, openOrders: func(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
				return in.OpenOrders(ctx, at.Add(-time.Microsecond), limit)
			}}
		}, []string{"due", "open orders"}},
		"work comes newest first": {func(in store.Store) *faulty {
			return &faulty{Store: in, due: func(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
				all, err := in.Due(ctx, at, 1_000)
				slices.Reverse(all)
				return all[:min(max(limit, 0), len(all))], err
			}, openOrders: func(ctx context.Context, at time.Time, limit int) ([]store.Order, error) {
				all, err := in.OpenOrders(ctx, at, 1_000)
				slices.Reverse(all)
				return all[:min(max(limit, 0), len(all))], err
			}}
		}, []string{"due", "open orders"}},
		"metadata are lost": {func(in store.Store) *faulty {
			return &faulty{Store: in, outOrder: func(o store.Order) store.Order {
				o.Metadata = nil
				return o
			}}
		}, []string{"create an order", "reserve keeps every field"}},
		"orders with a coupon need no place": {func(in store.Store) *faulty {
			return &faulty{Store: in, createOrder: func(ctx context.Context, o store.Order) (store.Order, bool, error) {
				o.CouponID, o.Coupon, o.ReservationID = "", nil, ""
				return in.CreateOrder(ctx, o)
			}}
		}, []string{"an order with a coupon needs its place"}},
		"a repeated order is a conflict": {func(in store.Store) *faulty {
			return &faulty{Store: in, createOrder: func(ctx context.Context, o store.Order) (store.Order, bool, error) {
				got, replayed, err := in.CreateOrder(ctx, o)
				if replayed {
					err = store.ErrConflict
				}
				return got, replayed, err
			}}
		}, []string{"create an order again", "create an order in a race"}},
		"keys are folded": {func(in store.Store) *faulty {
			return &faulty{Store: in, orderByKey: func(ctx context.Context, customerID, key string) (store.Order, error) {
				return in.OrderByKey(ctx, customerID, strings.ToLower(key))
			}}
		}, []string{"orders by key"}},
		"the reservation is not attached": {func(in store.Store) *faulty {
			var early memory[redemption.Redemption]
			return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
				if o, err := in.Order(ctx, a.OrderID); err == nil && o.ReservationID != "" {
					if r, err := in.Redemption(ctx, o.ReservationID); err == nil {
						early.put(r.ID, r)
					}
				}
				return in.AttachSession(ctx, a)
			}, outRecord: func(r redemption.Redemption) redemption.Redemption {
				if before, known := early.get(r.ID); known {
					return before
				}
				return r
			}}
		}, []string{"attach"}},
		"a session may have two redemptions": {func(in store.Store) *faulty {
			return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
				o, err := in.AttachSession(ctx, a)
				if before, unknown := in.Order(ctx, a.OrderID); errors.Is(err, store.ErrSuperseded) && unknown == nil && before.State == store.OrderOpen && before.SessionID == "" {
					a.SessionID += "-2"
					return in.AttachSession(ctx, a)
				}
				return o, err
			}}
		}, []string{"attach the session of another"}},
		"a session needs no name": {func(in store.Store) *faulty {
			return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
				if a.SessionID == "" {
					return in.Order(ctx, a.OrderID)
				}
				return in.AttachSession(ctx, a)
			}}
		}, []string{"attach needs a session"}},
		"a paid order takes no session": {func(in store.Store) *faulty {
			return &faulty{Store: in, attachSession: func(ctx context.Context, a store.Attachment) (store.Order, error) {
				if o, err := in.Order(ctx, a.OrderID); err == nil && o.Ended() {
					return store.Order{}, store.ErrSuperseded
				}
				return in.AttachSession(ctx, a)
			}}
		}, []string{"attach after the payment"}},
		"a payment completes what it names": {payingWhatIsNamed, []string{"a session pays once"}},
		"what is malformed is refused first": {func(in store.Store) *faulty {
			return &faulty{Store: in, createOrder: func(ctx context.Context, o store.Order) (store.Order, bool, error) {
				if err := o.Validate(); err != nil {
					return store.Order{}, false, err
				}
				return in.CreateOrder(ctx, o)
			}}
		}, []string{"closed stores", "ended contexts"}},
		"the context is forgotten": {forgettingContext, []string{"ended contexts"}},
		"a closed store goes on": {func(in store.Store) *faulty {
			return &faulty{Store: in, close: func() error { return nil }}
		}, []string{"closed stores"}},
		"the caller's order is kept": {func(in store.Store) *faulty {
			var kept memory[store.Order]
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				if r.Order != nil {
					kept.put(r.Order.ID, *r.Order)
				}
				return in.Reserve(ctx, r)
			}, outOrder: func(o store.Order) store.Order {
				if mine, known := kept.get(o.ID); known {
					o.Metadata, o.Quote, o.Coupon = mine.Metadata, mine.Quote, mine.Coupon
				}
				return o
			}}
		}, []string{"values that go in are copies"}},
		"orders share their metadata": {func(in store.Store) *faulty {
			var cached memory[map[string]string]
			return &faulty{Store: in, outOrder: func(o store.Order) store.Order {
				o.Metadata = cached.change(o.ID, func(m map[string]string) map[string]string {
					if m == nil {
						return o.Metadata
					}
					return m
				})
				return o
			}}
		}, []string{"values that come out are copies"}},
		"text is normalised": {func(in store.Store) *faulty {
			return &faulty{Store: in, outOrder: func(o store.Order) store.Order {
				for k, v := range o.Metadata {
					o.Metadata[k] = norm.NFC.String(v)
				}
				return o
			}}
		}, []string{"any text comes back"}},
		"customers are folded": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				r.Redemption.CustomerID = folded(r.Redemption.CustomerID)
				if r.Order != nil {
					o := r.Order.Clone()
					o.CustomerID = r.Redemption.CustomerID
					r.Order = &o
				}
				return in.Reserve(ctx, r)
			}}
		}, []string{"text is compared by byte"}},
		"text is repaired": {func(in store.Store) *faulty {
			repaired := func(text string) string { return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "") }
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				r.Redemption.CustomerID = repaired(r.Redemption.CustomerID)
				if r.Order != nil {
					o := r.Order.Clone()
					o.CustomerID = r.Redemption.CustomerID
					r.Order = &o
				}
				return in.Reserve(ctx, r)
			}, lookUp: func(ctx context.Context, by store.LookUp) (store.Found, error) {
				by.CustomerID = repaired(by.CustomerID)
				return in.LookUp(ctx, by)
			}}
		}, []string{"text that cannot be kept is refused", "text that cannot be kept is not found"}},
		"a use is not counted": {func(in store.Store) *faulty {
			return &faulty{Store: in, outCoupon: func(c coupon.Coupon) coupon.Coupon {
				c.UsedCount = max(c.UsedCount-1, 0)
				return c
			}}
		}, []string{"everything at once", "reserve counts"}},
		forgetful: {nil, []string{"what was stored outlives the store"}},
	}
}

// forgettingContext goes on when the caller has left.
func forgettingContext(in store.Store) *faulty {
	return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		return in.Reserve(context.WithoutCancel(ctx), r)
	}, coupon: func(ctx context.Context, id string) (coupon.Coupon, error) {
		return in.Coupon(context.WithoutCancel(ctx), id)
	}}
}

// payingWhatIsNamed looks for no other redemption of the session.
func payingWhatIsNamed(in store.Store) *faulty {
	var paid memory[time.Time]
	return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		if t.Event.Kind == redemption.SessionCompleted {
			paid.put(t.ReservationID, t.Event.At)
		}
		return in.Settle(ctx, t)
	}, outRecord: func(r redemption.Redemption) redemption.Redemption {
		if at, named := paid.get(r.ID); named && r.Live() {
			r.State, r.CompletedAt, r.Deadline = redemption.Completed, at, time.Time{}
		}
		return r
	}, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
		list.State = 0 // what was paid is listed as such
		return in.ListRedemptions(ctx, list)
	}}
}
