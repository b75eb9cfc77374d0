package sqlstore

import (
	"context"
	"fmt"
	"strings"
)

// Many customers are counted in one statement, of one of two sizes: it is prepared,
// and what is left over is filled up.
const (
	fewCustomers  = 8
	manyCustomers = 64
)

// foresee counts the uses of all customers who want to reserve in one batch, where
// that takes fewer statements than counting them one by one. It needs the database
// to itself, as one writer has it.
func (t *tx) foresee(ctx context.Context, requests []*request) error {
	if len(requests) < fewCustomers/2 {
		return nil
	}
	wanted := make(map[string][]any)
	for _, r := range requests {
		if r.wish.couponID != "" {
			wanted[r.wish.couponID] = append(wanted[r.wish.couponID], r.wish.customerID)
		}
	}
	t.taken = make(map[wish]int64, len(requests))
	for couponID, customers := range wanted {
		c, err := t.hold(ctx, couponID)
		if err != nil {
			return err
		}
		if c.limits.MaxUsesPerUser == 0 {
			continue
		}
		for len(customers) >= fewCustomers/2 {
			size := fewCustomers
			if len(customers) > manyCustomers/2 {
				size = manyCustomers
			}
			n := min(size, len(customers))
			if err := t.countMany(ctx, couponID, customers[:n], size); err != nil {
				return fmt.Errorf("count uses of customers: %w", err)
			}
			customers = customers[n:]
		}
	}
	return nil
}

func (t *tx) countMany(ctx context.Context, couponID string, customers []any, size int) error {
	args := make([]any, 1, size+1)
	args[0] = couponID
	for i := range size {
		args = append(args, customers[min(i, len(customers)-1)])
	}
	for _, customer := range customers {
		t.taken[wish{couponID, customer.(string)}] = 0 //nolint:errcheck,forcetypeassert // see foresee
	}
	rows, err := t.query(ctx, countByCustomers+"("+strings.Repeat("?, ", size-1)+"?) GROUP BY r.customer_id", args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		of := wish{couponID: couponID}
		var taken int64
		if err := rows.Scan(&of.customerID, &taken); err != nil {
			return err
		}
		t.taken[of] = taken
	}
	return rows.Err()
}

const countByCustomers = `SELECT r.customer_id, COUNT(*) FROM {coupon_redemptions} r
	WHERE r.coupon_id = ? AND r.state <> 'released' AND r.customer_id IN `
