//go:build before

// Command before reserves with the store on pgx as it was at commit 31f2763, with which it is
// compiled; see load.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/benchmarks/beside/load"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/sqlstore"
)

func main() {
	program, err := load.ReadProgram(os.Args[1:])
	if err == nil {
		err = run(context.Background(), program)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, program load.Program) (err error) {
	s, err := open(ctx, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	coupons := make([]coupon.Coupon, program.Coupons)
	var q pricing.Quote
	for i := range coupons {
		if coupons[i], q, err = limited(i); err != nil {
			return err
		}
		if program.Joins {
			continue
		}
		if err := s.CreateCoupon(ctx, coupons[i]); err != nil {
			return err
		}
	}
	return load.Serve(ctx, func(ctx context.Context, n uint64) error {
		_, err := s.Reserve(ctx, reservation(coupons[load.Scattered(n)%uint64(len(coupons))], q, n))
		return err
	}, os.Stdin, os.Stdout)
}

func open(ctx context.Context, program load.Program) (store.Store, error) {
	if source, ok := program.SQLite(); ok {
		return openSQLite(ctx, source)
	}
	config, err := pgxpool.ParseConfig(program.Where)
	if err != nil {
		return nil, err
	}
	config.MaxConns = load.Connections
	pool, err := pgxpool.NewWithConfig(ctx, config) // open until the program ends
	if err != nil {
		return nil, err
	}
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Namespace{}); err != nil {
		return nil, err
	}
	return pgxstore.New(pool, pgxstore.Options{})
}

func openSQLite(ctx context.Context, source string) (store.Store, error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, ""); err != nil {
		return nil, err
	}
	return sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{})
}

// limited returns a limited coupon and a quote with it. The clients compete for such coupons.
func limited(i int) (coupon.Coupon, pricing.Quote, error) {
	code, err := coupon.ParseCode(fmt.Sprintf("HOT%d", i))
	if err != nil {
		return coupon.Coupon{}, pricing.Quote{}, err
	}
	percent, err := pricing.ParsePercent("10")
	if err != nil {
		return coupon.Coupon{}, pricing.Quote{}, err
	}
	at := time.Now()
	c := coupon.Coupon{
		ID: fmt.Sprintf("cpn_hot%d", i), Code: code, Name: "Hot", Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
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
