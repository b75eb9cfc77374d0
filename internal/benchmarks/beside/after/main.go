// Command after reserves with the present store on pgx; see load.
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
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Options{}); err != nil {
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
		if _, err = s.SaveCoupon(ctx, store.CouponChange{Kind: store.CreateCoupon, Coupon: c, At: time.Now()}); err != nil {
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
	}}, pricing.Terms{Discount: c.Discount})

	return c, q, err
}

func reservation(c coupon.Coupon, q pricing.Quote, n uint64) store.Reservation {
	at, customer := time.Now(), load.Customer(n)
	order := redemption.Order{
		ID: load.ID("ord_", n), Key: fmt.Sprintf("%016x", n), Fingerprint: "f", CustomerID: customer, State: redemption.OrderOpen,
		Coupons: []coupon.Snapshot{c.Snapshot()}, Quote: q, Deadline: at.Add(time.Hour), CreatedAt: at,
		Claims: []redemption.Claim{{Counter: redemption.CustomerOrders(customer), Amount: 1}},
	}
	use := redemption.Use{
		ID: load.ID("use_", n), CouponID: c.ID, CustomerID: customer, OrderID: order.ID, Discount: q.Discount,
		State: redemption.Reserved, Origin: redemption.FromCheckout, CreatedAt: at,
		Claims: []redemption.Claim{
			{Counter: redemption.CouponUses(c.ID), Amount: 1, Limit: load.MaxUses},
			{Counter: redemption.CustomerUses(c.ID, customer), Amount: 1, Limit: load.MaxUsesPerUser},
		},
	}
	return store.Reservation{Order: order, Uses: []redemption.Use{use}, Coupons: []store.CouponAt{{ID: c.ID, Revision: 1}}}
}
