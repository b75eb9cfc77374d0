package storetest_test

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// brokenEnds are stores of which a call looks whether it may, and does so although what it
// saw has ended meanwhile.
func brokenEnds() map[string]subject {
	return map[string]subject{
		"a take-over goes by what it saw":    {takeOverByWhatItSaw, []string{"a take-over beside an end"}},
		"an attachment goes by what it saw":  {attachmentByWhatItSaw, []string{"an attachment beside an end"}},
		"a reservation goes by what it saw":  {reservationByWhatItSaw, []string{"a reservation beside a deletion"}},
		"take-overs look their keys up once": {keyByWhatItSaw, []string{"one key at once for a take-over and another"}},
	}
}

// ending returns a store whose calls that end a reservation wait until it was looked at.
func ending(in store.Store, looked *looks) *faulty {
	return &faulty{Store: in, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
		looked.await(t.ReservationID)
		return in.Settle(ctx, t)
	}, transition: func(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
		looked.await(id)
		return in.Transition(ctx, id, e)
	}}
}

// ended waits until a reservation is not as it was.
func ended(ctx context.Context, in store.Store, before redemption.Redemption) {
	soon(func() bool { now, err := in.Redemption(ctx, before.ID); return err != nil || now != before })
}

func takeOverByWhatItSaw(in store.Store) *faulty {
	var looked looks
	f := ending(in, &looked)
	f.takeOver = func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
		before, _ := in.Redemption(ctx, t.ReservationID)
		looked.at(before.ID)
		if before.Usable() && before.SessionID == t.FromSessionID {
			ended(ctx, in, before)
		}
		got, err := in.TakeOver(ctx, t)
		if errors.Is(err, store.ErrSuperseded) && before.Usable() {
			return store.Reserved{Redemption: before, Order: t.Order}, nil
		}
		return got, err
	}
	return f
}

func attachmentByWhatItSaw(in store.Store) *faulty {
	var looked looks
	f := ending(in, &looked)
	f.attachSession = func(ctx context.Context, a store.Attachment) (store.Order, error) {
		o, _ := in.Order(ctx, a.OrderID)
		before, _ := in.Redemption(ctx, o.ReservationID)
		looked.at(before.ID)
		if before.Live() && o.SessionID == "" {
			ended(ctx, in, before)
		}
		got, err := in.AttachSession(ctx, a)
		if errors.Is(err, store.ErrSuperseded) {
			return o.Attach(a)
		}
		return got, err
	}
	return f
}

func reservationByWhatItSaw(in store.Store) *faulty {
	var looked looks
	return &faulty{Store: in, deleteCoupon: func(ctx context.Context, id string, revision int64) error {
		looked.await(id)
		return in.DeleteCoupon(ctx, id, revision)
	}, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		_, unknown := in.Coupon(ctx, r.Redemption.CouponID)
		looked.at(r.Redemption.CouponID)
		soon(func() bool { _, err := in.Coupon(ctx, r.Redemption.CouponID); return err != nil })
		got, err := in.Reserve(ctx, r)
		if errors.Is(err, coupon.ErrNotFound) && unknown == nil {
			return store.Reserved{Redemption: r.Redemption, Order: *r.Order}, nil
		}
		return got, err
	}}
}

// keyByWhatItSaw leaves a key that another call has used meanwhile to an index.
func keyByWhatItSaw(in store.Store) *faulty {
	var looked looks
	return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
		_, unknown := in.OrderByKey(ctx, t.Order.CustomerID, t.Order.Key)
		looked.at(t.Order.Key)
		soon(func() bool { _, err := in.OrderByKey(ctx, t.Order.CustomerID, t.Order.Key); return err == nil })
		got, err := in.TakeOver(ctx, t)
		if errors.Is(err, store.ErrKeyReused) && unknown != nil {
			return store.Reserved{}, errors.New("duplicate key value violates a unique constraint")
		}
		return got, err
	}, createOrder: func(ctx context.Context, o store.Order) (store.Order, bool, error) {
		looked.await(o.Key)
		return in.CreateOrder(ctx, o)
	}}
}
