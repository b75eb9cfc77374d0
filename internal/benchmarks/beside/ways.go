package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	nextredemption "github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	nextstore "github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	next "github.com/couponkit/couponkit/store/pgxstore"
)

const (
	places      = 1_000_000_000
	perCustomer = 1_000_000
)

// hot is the coupon that all clients want.
func hot() coupon.Coupon {
	code, _ := coupon.ParseCode("HOT")
	percent, _ := pricing.ParsePercent("10")
	at := time.Now()
	return coupon.Coupon{
		ID: "cpn_hot", Code: code, Name: "Hot", Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
		Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, State: coupon.Active,
		CreatedAt: at, UpdatedAt: at, Revision: 1, Limits: coupon.Limits{MaxUses: places, MaxUsesPerUser: perCustomer},
	}
}

func quote(c coupon.Coupon) pricing.Quote {
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000},
		{ID: "2", Kind: pricing.Accessory, ItemID: "case", Quantity: 2, UnitPrice: 500},
	}}, c.Discount, nil)
	if err != nil {
		panic(err)
	}
	return q
}

// mixed spreads n, so that customers come in no order.
func mixed(n uint64) uint64 {
	n ^= n >> 31
	n *= 0x94d049bb133111eb
	return n ^ n>>29
}

func id(prefix string, n uint64) string {
	return fmt.Sprintf("%s%012x%016x", prefix, time.Now().UnixMilli(), n)
}

// before is the present store.
func before(orders bool) way {
	c := hot()
	q, snapshot := quote(c), c.Snapshot()
	return way{name: "before", prepare: func(ctx context.Context, pool *pgxpool.Pool) error {
		if err := pgxstore.Migrate(ctx, pool, pgxstore.Namespace{}); err != nil {
			return err
		}
		s, err := pgxstore.New(pool, pgxstore.Options{})
		if err != nil {
			return err
		}
		return s.CreateCoupon(ctx, c)
	}, open: func(pool *pgxpool.Pool) (func(context.Context, uint64) error, func() error, error) {
		s, err := pgxstore.New(pool, pgxstore.Options{})
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, n uint64) error {
			at, key := time.Now(), fmt.Sprintf("%016x", n)
			customer := fmt.Sprintf("customer-%016x", mixed(n))
			r := store.Reservation{Redemption: redemption.Redemption{
				ID: id("rsv_", n), Key: key, CouponID: c.ID, CustomerID: customer, State: redemption.Reserved,
				Deadline: at.Add(time.Hour), CreatedAt: at, UpdatedAt: at,
			}}
			if !orders {
				r.Redemption.Origin, r.Redemption.Points, r.Redemption.PointsState = redemption.FromPoints, 50, redemption.PointsPending
			} else {
				r.Redemption.Origin, r.Redemption.OrderID = redemption.FromCheckout, id("ord_", n)
				r.Order = &store.Order{
					ID: r.Redemption.OrderID, Key: key, Fingerprint: "f", CustomerID: customer, State: store.OrderOpen,
					CouponID: c.ID, Coupon: &snapshot, ReservationID: r.Redemption.ID, DiscountAmount: q.Discount, Quote: q,
					Deadline: at.Add(time.Hour), CreatedAt: at, UpdatedAt: at,
				}
			}
			_, err := s.Reserve(ctx, r)
			return err
		}, s.Close, nil
	}}
}

// after is the new store.
func after(orders bool) way {
	c := hot()
	q, snapshot := quote(c), c.Snapshot()
	return way{name: "after", prepare: func(ctx context.Context, pool *pgxpool.Pool) error {
		if err := next.Migrate(ctx, pool, next.Options{}); err != nil {
			return err
		}
		s, err := next.New(pool, next.Options{})
		if err != nil {
			return err
		}
		_, err = s.SaveCoupon(ctx, nextstore.CouponChange{Kind: nextstore.CreateCoupon, Coupon: c, At: time.Now()})
		return err
	}, open: func(pool *pgxpool.Pool) (func(context.Context, uint64) error, func() error, error) {
		s, err := next.New(pool, next.Options{})
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, n uint64) error {
			at, key := time.Now(), fmt.Sprintf("%016x", n)
			customer := fmt.Sprintf("customer-%016x", mixed(n))
			use := nextredemption.Use{
				ID: id("use_", n), CouponID: c.ID, CustomerID: customer, State: nextredemption.Reserved, CreatedAt: at,
				Claims: []nextredemption.Claim{
					{Counter: nextredemption.CouponUses(c.ID), Amount: 1, Limit: places},
					{Counter: nextredemption.CustomerUses(c.ID, customer), Amount: 1, Limit: perCustomer},
				},
			}
			r := nextstore.Reservation{Coupons: []nextstore.CouponAt{{ID: c.ID, Revision: 1}}}
			if !orders {
				use.Origin, use.Points, use.PointsState = nextredemption.FromPoints, 50, nextredemption.PointsPending
				use.Key, use.ExchangeID, use.Deadline = key, use.ID, at.Add(time.Hour)
			} else {
				use.Origin, use.OrderID, use.Discount = nextredemption.FromCheckout, id("ord_", n), q.Discount
				r.Order = nextredemption.Order{
					ID: use.OrderID, Key: key, Fingerprint: "f", CustomerID: customer, State: nextredemption.OrderOpen,
					Coupons: []coupon.Snapshot{snapshot}, Quote: q, Deadline: at.Add(time.Hour), CreatedAt: at,
					Claims: []nextredemption.Claim{{Counter: nextredemption.CustomerOrders(customer), Amount: 1}},
				}
			}
			r.Uses = []nextredemption.Use{use}
			_, err := s.Reserve(ctx, r)
			return err
		}, s.Close, nil
	}}
}
