// Package pgxstore_test holds the store on pgx to its contract on a real PostgreSQL.
package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
)

var shared = postgrestest.Shared{
	Prepare: func(ctx context.Context, dsn string) error {
		pool, err := pgxpool.New(ctx, dsn)
		if err != nil {
			return err
		}
		defer pool.Close()
		return pgxstore.Migrate(ctx, pool, pgxstore.Options{})
	},
	Empty: func(ctx context.Context, dsn string) error {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, emptying, pgx.QueryExecModeSimpleProtocol)
		return errors.Join(err, conn.Close(ctx))
	},
}

const emptying = `DELETE FROM couponkit.coupons; DELETE FROM couponkit.coupon_emails; DELETE FROM couponkit.codes; DELETE FROM couponkit.code_batches; DELETE FROM couponkit.orders;
	DELETE FROM couponkit.uses; DELETE FROM couponkit.counters; DELETE FROM couponkit.attempts; DELETE FROM couponkit.journal_pending; DELETE FROM couponkit.journal;
	UPDATE couponkit.journal_head SET position = 0`

func TestMain(m *testing.M) {
	if dsn := os.Getenv(guesserVariable); dsn != "" {
		if err := runGuesser(context.Background(), dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
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

func newStore(tb testing.TB, pool *pgxpool.Pool, options pgxstore.Options) *pgxstore.Store {
	tb.Helper()
	s, err := pgxstore.New(pool, options)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

var at = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// quote is what the orders of the tests cost.
func quote(tb testing.TB) pricing.Quote {
	tb.Helper()
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000},
	}}, pricing.Terms{})

	require.NoError(tb, err)
	return q
}

func newCoupon(tb testing.TB, id string, limits coupon.Limits) coupon.Coupon {
	tb.Helper()
	code, err := coupon.ParseCode(id)
	require.NoError(tb, err)
	percent, err := pricing.ParsePercent("10")
	require.NoError(tb, err)
	return coupon.Coupon{
		ID: coupon.IDPrefix + id, Code: code, Name: "Coupon " + id, Terms: coupon.Terms{
			Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
			Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, RefundPolicy: pricing.Keep, Limits: limits,
		},
		State:     coupon.Active,
		CreatedAt: at, UpdatedAt: at, Revision: 1,
	}
}

func create(tb testing.TB, s store.Store, c coupon.Coupon) coupon.Coupon {
	tb.Helper()
	saved, err := s.SaveCoupon(tb.Context(), store.CouponChange{Kind: store.CreateCoupon, Coupon: c, Unlimited: c.Limits.MaxUses == 0, At: at})
	require.NoError(tb, err)
	return saved
}

// checkout is the reservation of an order with one use of the coupon.
func checkout(c coupon.Coupon, q pricing.Quote, customer, key string) store.Reservation {
	order := redemption.OrderIDPrefix + customer + "-" + key
	return store.Reservation{
		Order: redemption.Order{
			ID: order, Key: key, Fingerprint: "f", CustomerID: customer, State: redemption.OrderOpen, Quote: q,
			CreatedAt: at, Deadline: at.Add(time.Hour), Claims: []eligibility.Claim{{Counter: eligibility.CustomerOrders(customer), Amount: 1}},
		},
		Uses: []redemption.Use{{
			ID: redemption.UseIDPrefix + customer + "-" + key, CouponID: c.ID, CustomerID: customer, OrderID: order,
			State: redemption.Reserved, Origin: redemption.FromCheckout, CreatedAt: at, Claims: []eligibility.Claim{
				{Counter: eligibility.CouponUses(c.ID), Amount: 1, Limit: c.Limits.MaxUses},
				{Counter: eligibility.CustomerUses(c.ID, customer), Amount: 1, Limit: c.Limits.MaxUsesPerUser},
			},
		}},
		Coupons: []store.CouponAt{{ID: c.ID, Revision: c.Revision}},
	}
}

func paid(orderID string) store.Settlement {
	return store.Settlement{Event: redemption.Event{Kind: redemption.Paid, At: at, OrderID: orderID, SessionID: "cs_" + orderID}}
}
