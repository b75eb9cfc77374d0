package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// open is shown in the README.
func open(ctx context.Context, pool *pgxpool.Pool, payments *stripeprocessor.Processor) (*couponkit.Service, http.Handler, error) {
	options := pgxstore.Options{Schema: "coupons"}
	if err := pgxstore.Migrate(ctx, pool, options); err != nil {
		return nil, nil, err
	}
	coupons, err := pgxstore.New(pool, options)
	if err != nil {
		return nil, nil, err
	}
	var service *couponkit.Service
	record := func(ctx context.Context, p couponkit.Payment) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			outcome, err := service.In(coupons.WithTx(tx)).Record(ctx, p)
			for _, o := range append(outcome.Ended, outcome.Order) {
				if err == nil {
					_, err = tx.Exec(ctx, `UPDATE shop_orders SET state = $2 WHERE id = $1`, o.Metadata["shopOrder"], o.State.String())
				}
			}
			return err
		})
	}
	service, err = couponkit.New(coupons, couponkit.WithProcessor(payments), couponkit.WithRecorder(record))
	return service, payments.Handler(service.Webhook(nil)), err
}

// TestTheHostsOrderIsPaidWithTheUse: the recorder of the README counts the use and changes the
// host's own order in one transaction, and neither when the host's statement fails.
func TestTheHostsOrderIsPaidWithTheUse(t *testing.T) {
	ctx := t.Context()
	var server postgrestest.Shared
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	pool := postgrestest.NewPool(t, server.Need(t).NewDatabase(t))
	const secret = "whsec_readme"
	account := stripefake.New(stripefake.Options{WebhookSecret: secret})
	api := httptest.NewServer(account)
	t.Cleanup(api.Close)
	payments, err := stripeprocessor.New("sk_test_readme", stripeprocessor.Options{
		BaseURL: api.URL, HTTPClient: api.Client(), WebhookSecrets: []string{secret},
	})
	require.NoError(t, err)
	service, handler, err := open(ctx, pool, payments)
	require.NoError(t, err)
	webhook := httptest.NewServer(handler)
	t.Cleanup(webhook.Close)

	made, err := service.Create(ctx, coupon.Draft{
		Code: "TEN", Name: "Ten off", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"},
	})
	require.NoError(t, err)
	checkout, err := service.Checkout(ctx, couponkit.CheckoutRequest{
		Key: "attempt-1", Codes: []string{"TEN"}, Customer: eligibility.Customer{ID: "ann", Email: "ann@example.org"},
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
		}},
		Metadata:   map[string]string{"shopOrder": "42"},
		SuccessURL: "https://example.org/thanks", CancelURL: "https://example.org/cart",
	})
	require.NoError(t, err)
	require.NoError(t, account.Pay(checkout.Session.ID))
	deliver := func() (failures int) {
		for _, e := range account.Events() {
			if status, err := account.Send(ctx, webhook.Client(), webhook.URL, e); err != nil || status != http.StatusOK {
				failures++
			}
		}
		return failures
	}
	used := func() int64 {
		c, err := service.Get(ctx, made.ID)
		require.NoError(t, err)
		return c.UsedCount
	}

	require.NotZero(t, deliver(), "there is no table shop_orders")
	require.Zero(t, used())
	_, err = pool.Exec(ctx, `CREATE TABLE shop_orders (id text PRIMARY KEY, state text NOT NULL DEFAULT 'open');
		INSERT INTO shop_orders (id) VALUES ('42')`, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	require.Zero(t, deliver())
	require.EqualValues(t, 1, used())
	var state string
	require.NoError(t, pool.QueryRow(ctx, `SELECT state FROM shop_orders WHERE id = '42'`).Scan(&state))
	require.Equal(t, "paid", state)
}
