package scale

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/gates"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// faults are queries that count what must not be. They say in SQL, for databases of
// any size, what storetest.CheckInvariants says of a store.
var faults = []struct{ what, query string }{
	{"coupons whose counts are not those of their redemptions", `
		SELECT count(*) FROM (
			SELECT coalesce(c.id, r.coupon_id) AS id, c.used_count + coalesce(k.completed, 0) AS completed,
				c.reserved_count + coalesce(k.reserved, 0) AS reserved, coalesce(r.completed, 0) AS rows_completed,
				coalesce(r.reserved, 0) AS rows_reserved
			FROM coupons c
			FULL JOIN (SELECT coupon_id, count(*) FILTER (WHERE state = 'completed') AS completed,
				count(*) FILTER (WHERE state = 'reserved') AS reserved FROM coupon_redemptions GROUP BY 1) r ON r.coupon_id = c.id
			LEFT JOIN (SELECT coupon_id, sum(completed) AS completed, sum(reserved) AS reserved
				FROM coupon_counters GROUP BY 1) k ON k.coupon_id = c.id) f
		WHERE completed IS DISTINCT FROM rows_completed OR reserved IS DISTINCT FROM rows_reserved`},
	{"coupons with more uses than they allow", `
		SELECT count(*) FROM coupons c JOIN (SELECT coupon_id, count(*) AS taken FROM coupon_redemptions
			WHERE state <> 'released' AND NOT over_limit GROUP BY 1) r ON r.coupon_id = c.id WHERE r.taken > c.max_uses`},
	{"customers with more uses than their coupon allows", `
		SELECT count(*) FROM (SELECT r.coupon_id, r.customer_id FROM coupon_redemptions r JOIN coupons c ON c.id = r.coupon_id
			WHERE c.max_uses_per_user IS NOT NULL AND r.state <> 'released' AND NOT r.over_limit
			GROUP BY 1, 2, c.max_uses_per_user HAVING count(*) > c.max_uses_per_user) f`},
	{"redemptions of a checkout whose order is not theirs, or in another state", `
		SELECT count(*) FROM coupon_redemptions r LEFT JOIN orders o ON o.id = r.order_id
		WHERE r.origin = 'checkout' AND (o.reservation_id, o.coupon_id, o.customer_id, o.session_id, o.key,
			CASE o.state WHEN 'paid' THEN 'completed' WHEN 'cancelled' THEN 'released' ELSE 'reserved' END)
			IS DISTINCT FROM (r.id, r.coupon_id, r.customer_id, r.session_id, r.key, r.state)`},
	{"coupons whose number of addresses is not that of their list", `
		SELECT count(*) FROM coupons c LEFT JOIN (SELECT coupon_id, count(*) AS n FROM coupon_allowed_emails GROUP BY 1) e
			ON e.coupon_id = c.id WHERE c.allowed_emails <> coalesce(e.n, 0)`},
	{"coupons more or less than the total says", `
		SELECT abs((SELECT count(*) FROM coupons) - (SELECT sum(coupons) FROM couponkit_totals))`},
}

// Check reads the whole database and returns everything that is wrong with it,
// joined, or nil.
func Check(ctx context.Context, pool *pgxpool.Pool) error {
	var found []error
	for _, fault := range faults {
		var n int64
		if err := pool.QueryRow(ctx, fault.query).Scan(&n); err != nil {
			return fmt.Errorf("%s: %w", fault.what, err)
		}
		if n != 0 {
			found = append(found, fmt.Errorf("%d %s", n, fault.what))
		}
	}
	return errors.Join(append(found, gates.Check(ctx, pool, pgxstore.DefaultSchema))...)
}
