package storetest_test

import (
	"context"
	"errors"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// brokenRefusals are stores that refuse with another error, or for another reason.
func brokenRefusals() map[string]subject {
	return map[string]subject{
		"refusals are bare": {bareRefusals, []string{"refusals are rejections"}},
		"nothing found is nothing found": {func(in store.Store) *faulty {
			return &faulty{Store: in, coupon: func(ctx context.Context, id string) (coupon.Coupon, error) {
				c, err := in.Coupon(ctx, id)
				return c, also(err, coupon.ErrNotFound, store.ErrNotFound)
			}, order: func(ctx context.Context, id string) (store.Order, error) {
				o, err := in.Order(ctx, id)
				return o, also(err, store.ErrNotFound, coupon.ErrNotFound)
			}}
		}, []string{"refusals are rejections", "unknown records are no coupons"}},
		"the ID is looked at before the code": {func(in store.Store) *faulty {
			return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				if _, err := in.Coupon(ctx, c.ID); err == nil {
					return store.ErrConflict
				}
				return in.CreateCoupon(ctx, c)
			}}
		}, []string{"coupon IDs are unique"}},
		"the revision comes first": {func(in store.Store) *faulty {
			stale := func(ctx context.Context, id string, revision int64) bool {
				c, err := in.Coupon(ctx, id)
				return err == nil && revision != 0 && c.Revision != revision
			}
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if errors.Is(err, coupon.ErrInactive) && stale(ctx, r.Redemption.CouponID, r.CouponRevision) {
					err = store.ErrStaleRevision
				}
				return got, err
			}}
		}, []string{"reserve asks the stored coupon"}},
		"the session comes before the coupon": {func(in store.Store) *faulty {
			return &faulty{Store: in, takeOver: func(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
				got, err := in.TakeOver(ctx, t)
				if r, unknown := in.Redemption(ctx, t.ReservationID); errors.Is(err, coupon.ErrInactive) && unknown == nil && r.SessionID != t.FromSessionID {
					err = store.ErrSuperseded
				}
				return got, err
			}}
		}, []string{"take over of a coupon that changed"}},
		"what is held comes before the coupon": {func(in store.Store) *faulty {
			return &faulty{Store: in, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				if held, free := freePoints(ctx, in, r); free && errors.Is(err, coupon.ErrInactive) {
					return store.Reserved{Redemption: held, Replayed: true}, nil
				}
				return got, err
			}}
		}, []string{"one reservation by points at a time"}},
	}
}

// bareRefusals answers with the sentinels of package coupon themselves.
func bareRefusals(in store.Store) *faulty {
	bare := func(err error) error {
		for _, sentinel := range []error{coupon.ErrNotFound, coupon.ErrInactive, coupon.ErrCodeTaken} {
			if errors.Is(err, sentinel) {
				return sentinel
			}
		}
		return err
	}
	return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
		return bare(in.CreateCoupon(ctx, c))
	}, lookUp: func(ctx context.Context, by store.LookUp) (store.Found, error) {
		found, err := in.LookUp(ctx, by)
		return found, bare(err)
	}, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		reserved, err := in.Reserve(ctx, r)
		return reserved, bare(err)
	}}
}

// also adds an error to one that matches.
func also(err, matches, added error) error {
	if errors.Is(err, matches) {
		return errors.Join(err, added)
	}
	return err
}

// freePoints returns the reservation that the customer holds and has in no checkout.
func freePoints(ctx context.Context, in store.Store, r store.Reservation) (redemption.Redemption, bool) {
	found, err := in.LookUp(ctx, store.LookUp{CouponID: r.Redemption.CouponID, CustomerID: r.Redemption.CustomerID})
	if err != nil || r.Redemption.Origin != redemption.FromPoints {
		return redemption.Redemption{}, false
	}
	i := slices.IndexFunc(found.Held, func(r redemption.Redemption) bool {
		return r.Origin == redemption.FromPoints && r.OrderID == ""
	})
	if i < 0 {
		return redemption.Redemption{}, false
	}
	return found.Held[i], true
}
