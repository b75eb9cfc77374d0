package sqldb_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// exampleStore opens a new SQLite file with a coupon for one use, as a host does at its start.
func exampleStore(ctx context.Context) (db *sql.DB, coupons *sqlstore.Store, remove func()) {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	db, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db")+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		log.Fatal(err)
	}
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		log.Fatal(err)
	}
	coupons, err = sqlstore.New(ctx, db, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := coupons.SaveCoupon(ctx, store.CouponChange{Kind: store.CreateCoupon, Coupon: hotCoupon(1, 1), At: noon()}); err != nil {
		log.Fatal(err)
	}
	return db, coupons, func() {
		_ = coupons.Close()
		_ = db.Close()
		_ = os.RemoveAll(dir)
	}
}

// A host migrates at every start, and keeps the store until it ends.
func Example() {
	ctx := context.Background()
	_, coupons, remove := exampleStore(ctx)
	defer remove()

	reserved, err := coupons.Reserve(ctx, checkoutOf(hotCoupon(1, 1), "ann", "", "1"))
	fmt.Println(reserved.Order.State, reserved.Uses[0].State, err)
	_, err = coupons.Reserve(ctx, checkoutOf(hotCoupon(1, 1), "bob", "", "2"))
	fmt.Println(err)
	settled, err := coupons.Apply(ctx, pay("ord_1"))
	fmt.Println(settled.Order.State, settled.Uses[0].State, err)
	found, err := store.Find(ctx, coupons, store.LookUp{Names: store.ByCode(hotCoupon(1, 1).Code), Identities: []string{"ann"}})
	fmt.Println(found.Coupon.UsedCount, found.ByCustomer[0].Completed, err)
	// Output:
	// open reserved <nil>
	// a limit leaves no room: shared/uses/cpn_hot
	// paid completed <nil>
	// 1 1 <nil>
}

// The use of a coupon and a row of the host are committed together.
func ExampleStore_WithTx() {
	ctx := context.Background()
	db, coupons, remove := exampleStore(ctx)
	defer remove()
	if _, err := db.ExecContext(ctx, "CREATE TABLE invoices (order_id TEXT PRIMARY KEY)"); err != nil {
		log.Fatal(err)
	}

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, "INSERT INTO invoices VALUES ('ord_1')"); err != nil {
		log.Fatal(err)
	}
	reserved, err := coupons.WithTx(tx).Reserve(ctx, checkoutOf(hotCoupon(1, 1), "ann", "", "1"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reserved.Order.ID, tx.Rollback())

	_, err = coupons.Order(ctx, store.OrderKey{ID: reserved.Order.ID})
	fmt.Println("after the rollback:", err)
	// Output:
	// ord_1 <nil>
	// after the rollback: not found in the store
}

// A host sweeps within its own transaction, and notes there what it has to ship. If it dies
// before the commit, nothing was recorded, and the next sweep finds the payment again. The
// processor is asked while the transaction is open, so a small limit keeps it short.
func ExampleStore_WithTx_sweep() {
	ctx := context.Background()
	db, coupons, remove := exampleStore(ctx)
	defer remove()
	if _, err := db.ExecContext(ctx, "CREATE TABLE shipments (order_id TEXT PRIMARY KEY)"); err != nil {
		log.Fatal(err)
	}
	now := time.Now()
	clock := func() time.Time { return now }
	payments := fakeprocessor.New(fakeprocessor.Options{Now: clock})

	sweep := func(end func(*sql.Tx) error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // after a commit it does nothing
		service, err := couponkit.New(coupons.WithTx(tx), couponkit.WithProcessor(payments), couponkit.WithClock(clock))
		if err != nil {
			return err
		}
		report, err := service.Sweep(ctx, 50)
		if err != nil {
			log.Print(err) // of some records; what the others were found to be is in the report
		}
		for _, paid := range report.Paid {
			if _, err := tx.ExecContext(ctx, "INSERT INTO shipments VALUES (?) ON CONFLICT DO NOTHING", paid.Order.ID); err != nil {
				return err
			}
		}
		fmt.Println("found paid:", len(report.Paid))
		return end(tx)
	}

	shop, err := couponkit.New(coupons, couponkit.WithProcessor(payments), couponkit.WithClock(clock))
	if err != nil {
		log.Fatal(err)
	}
	checkout, err := shop.Checkout(ctx, couponkit.CheckoutRequest{Cart: shopCart(), Customer: eligibility.Customer{ID: "ann"}})
	if err != nil {
		log.Fatal(err)
	}
	if err := payments.Pay(checkout.Session.ID); err != nil { // and its event is lost
		log.Fatal(err)
	}
	now = now.Add(2 * time.Hour)
	fmt.Println(sweep((*sql.Tx).Rollback)) // as the database does when the host dies
	fmt.Println(sweep((*sql.Tx).Commit))
	fmt.Println(sweep((*sql.Tx).Commit))
	// Output:
	// found paid: 1
	// <nil>
	// found paid: 1
	// <nil>
	// found paid: 0
	// <nil>
}

// A host keeps its own table of returns. It first commits its row, then refunds outside of a
// transaction with the ID of the row as the key, and then completes the row. A host that dies in
// between repeats all of it, and the money is returned once. Money that the host returns itself,
// such as in cash, is recorded with Elsewhere in the transaction that completes the row.
func ExampleStore_WithTx_refund() {
	ctx := context.Background()
	db, coupons, remove := exampleStore(ctx)
	defer remove()
	if _, err := db.ExecContext(ctx, "CREATE TABLE shop_returns (id TEXT PRIMARY KEY, amount INTEGER)"); err != nil {
		log.Fatal(err)
	}
	payments := fakeprocessor.New(fakeprocessor.Options{})
	shop, err := couponkit.New(coupons, couponkit.WithProcessor(payments))
	if err != nil {
		log.Fatal(err)
	}
	order := paidOrder(ctx, shop, payments)

	giveBack := func(id string, units int64, cash, dies bool) error {
		if _, err := db.ExecContext(ctx, "INSERT INTO shop_returns (id) VALUES (?) ON CONFLICT DO NOTHING", id); err != nil {
			return err
		}
		request := couponkit.RefundRequest{OrderID: order, Key: id, Elsewhere: cash, Returns: pricing.Returns{
			Lines: []pricing.LineReturn{{Line: 0, Quantity: units}},
		}}
		var refunded couponkit.RefundResult
		if !cash { // the processor returns the money: no rollback may forget it
			if refunded, err = shop.Refund(ctx, request); err != nil || dies {
				return err
			}
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // after a commit it does nothing
		if cash {
			inside, err := couponkit.New(coupons.WithTx(tx), couponkit.WithProcessor(payments))
			if err != nil {
				return err
			}
			if refunded, err = inside.Refund(ctx, request); err != nil {
				return err
			}
		}
		amount := refunded.Refund.Result.Amount
		if _, err := tx.ExecContext(ctx, "UPDATE shop_returns SET amount = ? WHERE id = ?", amount, id); err != nil {
			return err
		}
		fmt.Println(id, amount, refunded.Refund.Repayment.State, "replayed:", refunded.Replayed)
		return tx.Commit()
	}
	fmt.Println(giveBack("return-1", 1, false, true)) // the host dies before its row is complete
	fmt.Println(giveBack("return-1", 1, false, false))
	fmt.Println(giveBack("return-2", 1, true, false))

	stored, err := shop.Order(ctx, couponkit.OrderRequest{OrderID: order, AnyCustomer: true})
	if err != nil {
		log.Fatal(err)
	}
	returned, err := payments.Refunds(ctx, stored.Order.SessionID)
	fmt.Println(len(stored.Order.Refunds), "returns,", len(returned.Refunds), "refund at the processor", err)
	// Output:
	// <nil>
	// return-1 9999 succeeded replayed: true
	// <nil>
	// return-2 9999 elsewhere replayed: false
	// <nil>
	// 2 returns, 1 refund at the processor <nil>
}

// paidOrder lets a customer buy and pay.
func paidOrder(ctx context.Context, shop *couponkit.Service, payments *fakeprocessor.Processor) (id string) {
	checkout, err := shop.Checkout(ctx, couponkit.CheckoutRequest{Cart: shopCart(), Customer: eligibility.Customer{ID: "ann"}})
	if err != nil {
		log.Fatal(err)
	}
	if err := payments.Pay(checkout.Session.ID); err != nil {
		log.Fatal(err)
	}
	if err := payments.Deliver(ctx, fakeprocessor.Serve(payments.Handler(shop.Webhook(nil)))); err != nil {
		log.Fatal(err)
	}
	return checkout.Order.ID
}
