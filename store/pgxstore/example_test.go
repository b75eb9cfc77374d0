package pgxstore_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// A host migrates at every start, in every process, and keeps the store until it
// ends. The pool stays its own.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://shop@db.example.org/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Namespace{}); err != nil {
		log.Fatal(err)
	}
	coupons, err := pgxstore.New(pool, pgxstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer coupons.Close()

	found, err := coupons.LookUp(ctx, store.LookUp{CouponID: "cpn_welcome", CustomerID: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Coupon.UsedCount, found.CompletedByCustomer)
}

// The store's tables can be in a schema of their own, and it can report what the
// group commit does. Behind a proxy that pools transactions it sends statements
// without preparing them.
func ExampleNew() {
	pool, err := pgxpool.New(context.Background(), "postgres://shop@pgbouncer.example.org:6432/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	coupons, err := pgxstore.New(pool, pgxstore.Options{
		Namespace:     pgxstore.Namespace{Schema: "shop", Prefix: "promo_"},
		QueryExecMode: pgx.QueryExecModeExec,
		Batch: pgxstore.BatchOptions{OnBatch: func(r pgxstore.BatchReport) {
			if r.Took > time.Second {
				log.Printf("%s: %d calls waited %s and took %s: %v", r.Operation, r.Size, r.Waited, r.Took, r.Err)
			}
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer coupons.Close()
}

// Any number of processes may migrate at once.
func ExampleMigrate() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://owner@db.example.org/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Namespace{Schema: "shop"}); err != nil {
		log.Fatal(err)
	}
}

// Hosts with a migration tool of their own write the steps into its files.
func ExampleMigrations() {
	steps, err := pgxstore.Migrations(pgxstore.Namespace{Schema: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range steps[:2] {
		fmt.Printf("%04d_%s.sql names its tables: %t\n", step.Version, step.Name, strings.Contains(step.SQL, `"shop"."coupons"`))
	}
	// Output:
	// 0001_tables.sql names its tables: true
	// 0002_reserve.sql names its tables: true
}

// The search over coupons is quick on large databases where pg_trgm is installed.
func ExampleSearchIndex() {
	script, err := pgxstore.SearchIndex(pgxstore.Namespace{Prefix: "shop_"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(script, `"shop_coupons_search_idx"`))
	// Output: true
}

// A webhook counts the use of a coupon and marks the host's own order as paid, both or
// neither: the host named its order in the metadata of the checkout. A payment that is
// flagged is recorded, and somebody looks at it before anything is shipped. The events of an
// order may say more than once that it is paid.
func ExampleStore_WithTx() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://shop@db.example.org/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	coupons, err := pgxstore.New(pool, pgxstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer coupons.Close()
	payments := fakeprocessor.New(fakeprocessor.Options{})
	webhook := payments.Handler(func(ctx context.Context, e processor.Event) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			service, err := couponkit.New(coupons.WithTx(tx), payments)
			if err != nil {
				return err
			}
			outcome, err := service.HandleEvent(ctx, e)
			if err != nil || outcome.Order.State != store.OrderPaid {
				return err
			}
			_, err = tx.Exec(ctx, `UPDATE shop_orders SET paid = true, look = $2 WHERE id = $1 AND NOT paid`,
				outcome.Order.Metadata["shopOrder"], outcome.Flag != couponkit.FlagNone)
			return err
		})
	})
	if err := http.ListenAndServe("localhost:8080", webhook); err != nil {
		log.Fatal(err)
	}
}
