package sqldb_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// exampleDatabase opens a new SQLite file, as a host does at its start.
func exampleDatabase() (db *sql.DB, remove func()) {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	db, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		_ = db.Close()
		_ = os.RemoveAll(dir)
	}
}

// A host migrates at every start, and keeps the store until it ends.
func Example() {
	ctx := context.Background()
	db, remove := exampleDatabase()
	defer remove()
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, ""); err != nil {
		log.Fatal(err)
	}
	coupons, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer coupons.Close()

	c := limitedCoupon("WELCOME", 1, 1)
	if err := coupons.CreateCoupon(ctx, c); err != nil {
		log.Fatal(err)
	}
	kept, err := coupons.Reserve(ctx, checkoutOf(c, "ann", "1"))
	fmt.Println(kept.Redemption.State, err)
	_, err = coupons.Reserve(ctx, checkoutOf(c, "bob", "2"))
	fmt.Println(err)
	settled, err := coupons.Settle(ctx, settlementOf(redemption.SessionCompleted, kept.Redemption, "cs_1"))
	fmt.Println(settled.Redemption.State, settled.Order.State, err)
	found, err := coupons.LookUp(ctx, store.LookUp{Code: c.Code, CustomerID: "ann"})
	fmt.Println(found.Coupon.UsedCount, found.CompletedByCustomer, err)
	// Output:
	// reserved <nil>
	// coupon refused: usage_limit_reached
	// completed paid <nil>
	// 1 1 <nil>
}

// The use of a coupon and a row of the host are committed together.
func ExampleStore_WithTx() {
	ctx := context.Background()
	db, remove := exampleDatabase()
	defer remove()
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, ""); err != nil {
		log.Fatal(err)
	}
	coupons, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer coupons.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE invoices (reservation TEXT PRIMARY KEY)"); err != nil {
		log.Fatal(err)
	}
	c := limitedCoupon("WELCOME", 1, 1)
	if err := coupons.CreateCoupon(ctx, c); err != nil {
		log.Fatal(err)
	}

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO invoices VALUES ('rsv_1')"); err != nil {
		log.Fatal(err)
	}
	kept, err := coupons.WithTx(tx).Reserve(ctx, checkoutOf(c, "ann", "1"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(kept.Redemption.ID, tx.Rollback())

	_, err = coupons.Redemption(ctx, kept.Redemption.ID)
	fmt.Println("after the rollback:", err)
	// Output:
	// rsv_1 <nil>
	// after the rollback: not found in the store
}
