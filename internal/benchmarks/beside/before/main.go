//go:build before

// Command before reserves with the store on pgx as it was at commit 31f2763, with which it is
// compiled; see load.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/benchmarks/beside/load"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

func main() {
	// A program that joins others on one database finds the coupon there.
	if err := run(context.Background(), os.Args[1], len(os.Args) > 2 && os.Args[2] == "join"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dsn string, joins bool) error {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return err
	}
	config.MaxConns = load.Connections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Namespace{}); err != nil {
		return err
	}
	s, err := pgxstore.New(pool, pgxstore.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	c, q, err := hot()
	if err != nil {
		return err
	}
	if !joins {
		if err := s.CreateCoupon(ctx, c); err != nil {
			return err
		}
	}
	return load.Serve(ctx, func(ctx context.Context, n uint64) error {
		_, err := s.Reserve(ctx, reservation(c, q, n))
		return err
	}, os.Stdin, os.Stdout)
}

// hot is the coupon that all clients want, and a quote with it.
func hot() (coupon.Coupon, pricing.Quote, error) {
	code, err := coupon.ParseCode("HOT")
	if err != nil {
		return coupon.Coupon{}, pricing.Quote{}, err
	}
	percent, err := pricing.ParsePercent("10")
	if err != nil {
		return coupon.Coupon{}, pricing.Quote{}, err
	}
	at := time.Now()
	c := coupon.Coupon{
		ID: "cpn_hot", Code: code, Name: "Hot", Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
		Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, State: coupon.Active,
		CreatedAt: at, UpdatedAt: at, Revision: 1, Limits: coupon.Limits{MaxUses: load.MaxUses, MaxUsesPerUser: load.MaxUsesPerUser},
	}
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000},
		{ID: "2", Kind: pricing.Accessory, ItemID: "case", Quantity: 2, UnitPrice: 500},
	}}, c.Discount, nil)
	return c, q, err
}

func reservation(c coupon.Coupon, q pricing.Quote, n uint64) store.Reservation {
	at, key, customer, snapshot := time.Now(), fmt.Sprintf("%016x", n), load.Customer(n), c.Snapshot()
	r := store.Reservation{Redemption: redemption.Redemption{
		ID: load.ID("rsv_", n), Key: key, CouponID: c.ID, CustomerID: customer, State: redemption.Reserved,
		Origin: redemption.FromCheckout, OrderID: load.ID("ord_", n),
		Deadline: at.Add(time.Hour), CreatedAt: at, UpdatedAt: at,
	}}
	r.Order = &store.Order{
		ID: r.Redemption.OrderID, Key: key, Fingerprint: "f", CustomerID: customer, State: store.OrderOpen,
		CouponID: c.ID, Coupon: &snapshot, ReservationID: r.Redemption.ID, DiscountAmount: q.Discount, Quote: q,
		Deadline: at.Add(time.Hour), CreatedAt: at, UpdatedAt: at,
	}
	return r
}
