// Command after reserves with the present store on pgx; see load.
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
	"github.com/couponkit/couponkit/eligibility"
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
		if err := createCoupon(ctx, s, coupons[i]); err != nil {
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
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Options{}); err != nil {
		return nil, err
	}
	return pgxstore.New(pool, pgxstore.Options{})
}

func openSQLite(ctx context.Context, source string) (store.Store, error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		return nil, err
	}
	return sqlstore.New(ctx, db, sqlstore.SQLite, sqlstore.Options{})
}

func createCoupon(ctx context.Context, s store.Store, c coupon.Coupon) error {
	_, err := s.SaveCoupon(ctx, store.CouponChange{Kind: store.CreateCoupon, Coupon: c, At: c.CreatedAt})
	return err
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
		ID: fmt.Sprintf("cpn_hot%d", i), Code: code, Name: "Hot", Terms: coupon.Terms{
			Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
			Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, RefundPolicy: pricing.Keep, Limits: coupon.Limits{MaxUses: load.MaxUses, MaxUsesPerUser: load.MaxUsesPerUser},
		},
		State:     coupon.Active,
		CreatedAt: at, UpdatedAt: at, Revision: 1,
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
		Claims: []eligibility.Claim{{Counter: eligibility.CustomerOrders(customer), Amount: 1}},
	}
	use := redemption.Use{
		ID: load.ID("use_", n), CouponID: c.ID, CustomerID: customer, OrderID: order.ID, Discount: q.Discount,
		State: redemption.Reserved, Origin: redemption.FromCheckout, CreatedAt: at,
		Claims: []eligibility.Claim{
			{Counter: eligibility.CouponUses(c.ID), Amount: 1, Limit: load.MaxUses},
			{Counter: eligibility.CustomerUses(c.ID, customer), Amount: 1, Limit: load.MaxUsesPerUser},
		},
	}
	return store.Reservation{Order: order, Uses: []redemption.Use{use}, Coupons: []store.CouponAt{{ID: c.ID, Revision: 1}}}
}
