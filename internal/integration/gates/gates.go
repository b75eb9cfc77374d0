// Package gates looks at the gates of a pgxstore, for tests that have the tables at hand: row 0
// of a coupon in coupon_counters, which knows the most that its other rows may have together.
package gates

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Check returns an error that names the coupons with a limit over all customers of which more is
// counted elsewhere than their gates know of: whoever looks at such a gate alone may find a place
// where there is none. The schema has no prefix, and nobody writes meanwhile.
func Check(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, schema string,
) error {
	var wrong *string
	counters := pgx.Identifier{schema, "coupon_counters"}.Sanitize()
	err := db.QueryRow(ctx, `SELECT string_agg(g.coupon_id, ', ') FROM `+counters+` g
		JOIN (SELECT coupon_id, sum(completed + reserved) AS taken FROM `+counters+` WHERE stripe > 0 GROUP BY 1) k
			ON k.coupon_id = g.coupon_id
		WHERE g.stripe = 0 AND g.max_uses IS NOT NULL AND g.elsewhere < k.taken`, pgx.QueryExecModeExec).Scan(&wrong)
	if err == nil && wrong != nil {
		err = fmt.Errorf("more is counted elsewhere than these gates know of: %s", *wrong)
	}
	return err
}
