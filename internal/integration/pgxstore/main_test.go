// Package pgxstore_test holds store/pgxstore to its contract on a real PostgreSQL.
package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/gates"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

var shared = postgrestest.Shared{
	Prepare: func(ctx context.Context, dsn string) error {
		pool, err := pgxpool.New(ctx, dsn)
		if err != nil {
			return err
		}
		defer pool.Close()
		return pgxstore.Migrate(ctx, pool, pgxstore.Namespace{})
	},
	Empty: func(ctx context.Context, dsn string) error {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		return errors.Join(empty(ctx, conn, "public"), conn.Close(ctx))
	},
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// newDatabase returns a pool on an empty database with the schema.
func newDatabase(tb testing.TB, in pgxstore.Namespace, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	if in == (pgxstore.Namespace{}) {
		return postgrestest.NewPool(tb, shared.NewCopy(tb), configure...)
	}
	pool := postgrestest.NewPool(tb, shared.Need(tb).NewDatabase(tb), configure...)
	if err := pgxstore.Migrate(tb.Context(), pool, in); err != nil {
		tb.Fatal(err)
	}
	return pool
}

// lentDatabase is newDatabase for a test that leaves the schema as it was: the next test
// has the same database, which takes a small part of the time of making one.
func lentDatabase(tb testing.TB, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	return postgrestest.NewPool(tb, shared.Lend(tb), configure...)
}

// empty leaves no row in any table of the schema but the list of migrations, which is all
// that a store has kept there. To truncate takes twenty times as long. What is left must have
// gates that are right.
func empty(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}, schema string,
) error {
	if err := gates.Check(ctx, db, schema); err != nil {
		return err
	}
	var deletes string
	if err := db.QueryRow(ctx, `SELECT string_agg(format('DELETE FROM %I.%I', schemaname, tablename), '; '
			ORDER BY tablename = 'couponkit_totals') -- last: the other tables write it
		FROM pg_tables WHERE schemaname = $1 AND tablename <> 'couponkit_migrations'`,
		pgx.QueryExecModeExec, schema).Scan(&deletes); err != nil {
		return err
	}
	_, err := db.Exec(ctx, deletes, pgx.QueryExecModeSimpleProtocol)
	return err
}

// newStore returns a store on the pool that is closed when the test ends.
func newStore(tb testing.TB, pool *pgxpool.Pool, options pgxstore.Options) *pgxstore.Store {
	tb.Helper()
	s, err := pgxstore.New(pool, options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// epoch is the instant at which the tests begin.
var epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// newCoupon returns an active coupon without limits, changed as the test likes.
func newCoupon(tb testing.TB, id string, change ...func(*coupon.Coupon)) coupon.Coupon {
	tb.Helper()
	c, err := coupon.New(coupon.Draft{
		Code: id, Name: "Coupon " + id, DiscountType: pricing.Percentage, DiscountValue: ten,
		MaxUsesPerUser: coupon.Clear[int](),
	}, coupon.Creation{ID: coupon.IDPrefix + id, At: epoch})
	if err != nil {
		tb.Fatal(err)
	}
	for _, apply := range change {
		apply(&c)
	}
	return c
}

// quote is what the orders of the tests cost.
func quote(tb testing.TB) pricing.Quote {
	tb.Helper()
	percent, err := pricing.PercentFromDecimal(ten)
	if err != nil {
		tb.Fatal(err)
	}
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000},
	}}, pricing.PercentOff(percent), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return q
}

// checkout returns a reservation with its order: attempt key of the customer.
func checkout(c coupon.Coupon, q pricing.Quote, customer, key string, at time.Time) store.Reservation {
	id, orderID := redemption.IDPrefix+customer+"-"+key, store.OrderIDPrefix+customer+"-"+key
	snapshot := c.Snapshot()
	return store.Reservation{
		Redemption: redemption.Redemption{
			ID: id, Key: key, CouponID: c.ID, CustomerID: customer, State: redemption.Reserved,
			Origin: redemption.FromCheckout, OrderID: orderID, Deadline: at.Add(time.Hour), CreatedAt: at, UpdatedAt: at,
		},
		Order: &store.Order{
			ID: orderID, Key: key, Fingerprint: "f", CustomerID: customer, State: store.OrderOpen,
			CouponID: c.ID, Coupon: &snapshot, ReservationID: id, DiscountAmount: q.Discount, Quote: q,
			Metadata: map[string]string{"channel": "test"}, Deadline: at.Add(time.Hour), CreatedAt: at, UpdatedAt: at,
		},
	}
}

// again reports whether a host is to run its transaction again, as a store without a namespace
// tells.
func again(err error) bool { return new(pgxstore.Store).Retryable(err) }
