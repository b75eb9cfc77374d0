package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// Coupon implements [store.CouponReader].
func (s *Store) Coupon(ctx context.Context, id string) (c coupon.Coupon, err error) {
	err = s.snapshot(ctx, "read coupon", func(ctx context.Context, t *tx) error {
		if !findable(id) {
			return sql.ErrNoRows
		}
		c, err = t.coupon(ctx, id)
		return err
	})
	return c, orElse(err, coupon.Reject(id, coupon.CouponNotFound, coupon.Params{}))
}

// lookUp reads everything in one statement, and so in one state of the database:
// the coupon, the figures, and one row for each reservation that the customer
// holds, or one without a reservation. The customer's rows are read once, and again
// only if there is a reservation.
var (
	lookUpByID   = fmt.Sprintf(lookUp, "c.id")
	lookUpByCode = fmt.Sprintf(lookUp, "c.code")
	lookUp       = `SELECT ` + couponColumns + `,
	(SELECT e.email FROM {coupon_allowed_emails} e WHERE e.coupon_id = c.id AND e.email IN (?, ?) LIMIT 1),
	h.completed, h.reserved, ` + outerJoined(redemptionColumns) + `
	FROM {coupons} c CROSS JOIN (
		SELECT COUNT(CASE u.state WHEN 'completed' THEN 1 END) AS completed, COUNT(CASE u.state WHEN 'reserved' THEN 1 END) AS reserved
		FROM {coupon_redemptions} u WHERE u.customer_id = ? AND u.coupon_id = (SELECT c.id FROM {coupons} c WHERE %[1]s = ?)) h
	LEFT JOIN {coupon_redemptions} r ON h.reserved > 0 AND r.coupon_id = c.id AND r.customer_id = ? AND r.state = 'reserved'
	WHERE %[1]s = ? ORDER BY r.created_at, r.id LIMIT ?`
)

// outerJoined makes the columns of a row that is not there readable.
func outerJoined(columns string) string {
	columns = regexp.MustCompile(`r\.(points|awaiting_payment|over_limit|created_at|updated_at)\b`).
		ReplaceAllString(columns, "COALESCE(r.$1, 0)")
	return regexp.MustCompile(`r\.(id|idempotency_key|coupon_id|customer_id|state|origin|order_id|session_id|points_state)\b`).
		ReplaceAllString(columns, "COALESCE(r.$1, '')")
}

// LookUp implements [store.CouponReader].
func (s *Store) LookUp(ctx context.Context, by store.LookUp) (found store.Found, err error) {
	statement, name := lookUpByID, by.CouponID
	if name == "" {
		statement, name = lookUpByCode, by.Code.String()
	}
	unknown := coupon.Reject(by.CouponID, coupon.CouponNotFound, coupon.Params{})
	own, domain := coupon.EmailEntries(by.Email)
	err = s.read(ctx, "look up coupon", func(ctx context.Context, t *tx) error {
		if !storable(name) || name == "" {
			return unknown
		}
		customer := nullable(by.CustomerID)
		rows, err := t.query(ctx, statement, nullable(own), nullable(domain), customer, name, customer, name, store.MaxHeld)
		if err != nil {
			return err
		}
		defer rows.Close()
		found = store.Found{}
		for rows.Next() {
			if err := scanFound(&found, rows); err != nil {
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if found.Coupon.ID == "" {
			return unknown
		}
		return nil
	})
	return found, err
}

// nullable returns NULL, which equals nothing, for text that finds nothing.
func nullable(text string) any {
	if !findable(text) {
		return nil
	}
	return text
}

func scanFound(into *store.Found, rows *sql.Rows) error {
	var (
		row     couponRow
		held    redemptionRow
		allowed sql.Null[string]
	)
	targets := append(row.targets(), &allowed, &into.CompletedByCustomer, &into.ReservedByCustomer)
	if err := rows.Scan(append(targets, held.targets()...)...); err != nil {
		return err
	}
	if into.Coupon.ID == "" {
		c, err := row.coupon()
		if err != nil {
			return err
		}
		c.AllowedUserEmails = coupon.NarrowedEmailSet(int(row.emails), allowed.V)
		into.Coupon = c
	}
	if held.r.ID == "" {
		return nil
	}
	r, err := held.redemption()
	if err != nil {
		return err
	}
	into.Held = append(into.Held, r)
	return nil
}
