package sqlstore

import (
	"context"
	"slices"

	"github.com/couponkit/couponkit/redemption"
)

// An idempotency key is used once by a customer: for an order, for the redemption that was
// stored with it, for an exchange of points, or for a payment without a reservation. MySQL
// has unique indexes of both tables. SQLite leaves the redemptions of checkouts out of
// that of redemptions, for the index of orders has their keys.

const (
	redemptionByKey = `SELECT ` + redemptionColumns + ` FROM {coupon_redemptions} r WHERE r.customer_id = ? AND r.idempotency_key = ?`
	// On SQLite the key of a checkout is in the index of its order.
	redemptionByItsKey = `SELECT ` + redemptionColumns + ` FROM {coupon_redemptions} r
		WHERE r.customer_id = ?1 AND r.idempotency_key = ?2 AND r.id IN (
			SELECT k.id FROM {coupon_redemptions} k WHERE k.customer_id = ?1 AND k.idempotency_key = ?2 AND k.origin <> 'checkout'
			UNION ALL SELECT o.reservation_id FROM {orders} o WHERE o.customer_id = ?1 AND o.idempotency_key = ?2)`
	// Nor is there another index that begins with the customer: these are all of the customer's.
	ofCustomer = `r.id IN (SELECT k.id FROM {coupon_redemptions} k WHERE k.customer_id = ? AND k.origin <> 'checkout'
		UNION ALL SELECT o.reservation_id FROM {orders} o WHERE o.customer_id = ?)`
	ofCustomerAndCoupon = `r.id IN (SELECT k.id FROM {coupon_redemptions} k WHERE k.coupon_id = ? AND k.customer_id = ?)`
)

// keyed returns the redemption that the customer's key made.
func (t *tx) keyed(ctx context.Context, customerID, key string) (redemption.Redemption, error) {
	if t.rowLocks {
		return t.redemptionOf(ctx, t.latest, redemptionByKey, customerID, key)
	}
	return t.redemptionOf(ctx, t.latest, redemptionByItsKey, customerID, key)
}

// insertCheckout stores the redemption beside an order that was just stored and is the only
// one with its key. On SQLite no index of redemptions has the keys of all.
const insertCheckout = `INSERT OR FAIL INTO {coupon_redemptions} (` + insertedColumns + `)
	SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
	WHERE NOT EXISTS (SELECT 1 FROM {coupon_redemptions} r
		WHERE r.customer_id = ? AND r.idempotency_key = ? AND r.origin <> 'checkout'){or_nothing}`

// insertRecord reports whether ID, key and session were new.
func (r reservation) insertRecord(ctx context.Context, t *tx) (bool, error) {
	if t.rowLocks || r.order == nil {
		return t.insert(ctx, insertRedemption, r.values...)
	}
	return t.insert(ctx, insertCheckout, slices.Concat(r.values, []any{r.record.CustomerID, r.record.Key})...)
}

// insertPayment reports whether ID, key and session were new. On SQLite no index of
// redemptions has the keys of all.
func (t *tx) insertPayment(ctx context.Context, payment redemption.Redemption) (bool, error) {
	if !t.rowLocks {
		if used, err := t.keyed(ctx, payment.CustomerID, payment.Key); err != nil || used.ID != "" {
			return false, err
		}
	}
	return t.insert(ctx, insertRedemption, redemptionValues(payment)...)
}
