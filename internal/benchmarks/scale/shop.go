package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/engine"
)

// shop has so many coupons, and so many paid orders with one use each. Customers have four orders.
type shop struct{ coupons, uses int }

const ordersOfCustomer = 4

func (s shop) customers() int { return s.uses/ordersOfCustomer + 1 }

func now() time.Time { return time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC) }

func couponOf(n int) (coupon.Coupon, error) {
	code, err := coupon.ParseCode(fmt.Sprintf("CODE-%d", n))
	if err != nil {
		return coupon.Coupon{}, err
	}
	percent, err := pricing.ParsePercent("10")
	return coupon.Coupon{
		ID: fmt.Sprintf("cpn_%d", n), Code: code, Name: "Ten", Terms: coupon.Terms{
			Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
			Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, RefundPolicy: pricing.Keep, Limits: coupon.Limits{MaxUses: 1 << 40, MaxUsesPerUser: 1 << 20},
		},
		State:     coupon.Active,
		CreatedAt: now(), UpdatedAt: now(), Revision: 1,
	}, err
}

// orderOf is a new order of a customer with its use of a coupon.
func orderOf(c coupon.Coupon, id, customer, key string) (redemption.Order, redemption.Use, error) {
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000},
	}}, pricing.Terms{Discount: c.Discount})

	o := redemption.Order{
		ID: "ord_" + id, Key: key, Fingerprint: "f", CustomerID: customer, State: redemption.OrderOpen, Quote: q,
		Coupons: []coupon.Snapshot{c.Snapshot()}, Deadline: now().Add(time.Hour), CreatedAt: now(),
		Claims: []eligibility.Claim{{Counter: eligibility.CustomerOrders(customer), Amount: 1}},
	}
	return o, redemption.Use{
		ID: "use_" + id, CouponID: c.ID, CustomerID: customer, OrderID: o.ID, Discount: q.Discount,
		State: redemption.Reserved, Origin: redemption.FromCheckout, CreatedAt: now(), Claims: []eligibility.Claim{
			{Counter: eligibility.CouponUses(c.ID), Amount: 1, Limit: c.Limits.MaxUses},
			{Counter: eligibility.CustomerUses(c.ID, customer), Amount: 1, Limit: c.Limits.MaxUsesPerUser},
		},
	}, err
}

// fill writes the tables directly. All documents are those of one coupon and one order.
func (s shop) fill(ctx context.Context, pool *pgxpool.Pool) error {
	c, err := couponOf(0)
	if err != nil {
		return err
	}
	o, u, err := orderOf(c, "0", "customer_0", "0")
	if err != nil {
		return err
	}
	var documents [3]string
	for i, encode := range []func() ([]byte, error){
		func() ([]byte, error) { return engine.EncodeCoupon(c) }, func() ([]byte, error) { return engine.EncodeOrder(o) },
		func() ([]byte, error) { return engine.EncodeUse(u) },
	} {
		document, err := encode()
		if err != nil {
			return err
		}
		documents[i] = string(document)
	}
	end := now().UnixMicro()
	const none = -62135596800000000 // no instant
	for _, step := range []struct {
		statement string
		arguments []any
	}{
		{
			`INSERT INTO couponkit.coupons SELECT 'cpn_' || n, 'CODE-' || n, 'active', 1, 1, false, $2 || 'cpn_' || n, $3 || 'cpn_' || n || '/',
			0, 'PERCENTAGE', $7::bigint, $4, $4, $5::bigint - n, $5::bigint - n, 'code-' || n || ' ten', $6 FROM generate_series(0, $1::bigint - 1) n`,
			[]any{s.coupons, eligibility.CouponUses(""), strings.TrimSuffix(eligibility.CustomerUses("", ""), "/"), int64(none), end, documents[0], c.Limits.MaxUses},
		},
		{
			`INSERT INTO couponkit.codes SELECT 'cpn_' || n, 'CODE-' || n, true, '', 0, '', 0, '', true, $2, $3::bigint - n, $3::bigint - n, 1
			FROM generate_series(0, $1::bigint - 1) n`,
			[]any{s.coupons, int64(none), end},
		},
		{
			`INSERT INTO couponkit.orders SELECT 'ord_' || n, 'customer_' || n / $2::bigint, 'key_' || n, 'paid', 'cs_' || n, 'https://pay.example/' || n,
			'', $3, $4::bigint - n, $4::bigint - n, 2, $5 FROM generate_series(0, $1::bigint - 1) n`,
			[]any{s.uses, ordersOfCustomer, int64(none), end, documents[1]},
		},
		{
			`INSERT INTO couponkit.uses SELECT 'use_' || n, 'ord_' || n, 'cpn_' || n % $2::bigint, 'customer_' || n / $3::bigint, '', '', 'completed', 'none',
			false, $4, $5::bigint - n, $5::bigint - n, $5::bigint - n, $4, 2, $6 FROM generate_series(0, $1::bigint - 1) n`,
			[]any{s.uses, s.coupons, ordersOfCustomer, int64(none), end, documents[2]},
		},
		{
			`INSERT INTO couponkit.counters SELECT $1 || coupon_id, 0, 0, count(*) FROM couponkit.uses GROUP BY coupon_id`,
			[]any{eligibility.CouponUses("")},
		},
		{
			`INSERT INTO couponkit.counters SELECT $1 || coupon_id || '/' || customer_id, 0, 0, count(*) FROM couponkit.uses GROUP BY coupon_id, customer_id`,
			[]any{strings.TrimSuffix(eligibility.CustomerUses("", ""), "/")},
		},
		{
			`INSERT INTO couponkit.counters SELECT $1 || customer_id, 0, 0, count(*) FROM couponkit.orders GROUP BY customer_id`,
			[]any{eligibility.CustomerOrders("")},
		},
		{"VACUUM ANALYZE", nil},
		{"CHECKPOINT", nil},
	} {
		if _, err := pool.Exec(ctx, step.statement, step.arguments...); err != nil {
			return fmt.Errorf("%.60s: %w", step.statement, err)
		}
	}
	return nil
}
