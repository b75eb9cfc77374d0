package pgxstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// LookUp implements store.CouponReader in one round trip. Of an allow-list it
// moves at most the one entry that lets the customer in.
func (s *Store) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
	if err := s.ready(ctx); err != nil {
		return store.Found{}, err
	}
	statement, key := s.sql.lookUpByID, by.CouponID
	if key == "" {
		statement, key = s.sql.lookUpByCode, by.Code.String()
	}
	if key == "" || !storable(key) {
		return store.Found{}, unknownCoupon(by.CouponID)
	}
	customer := by.CustomerID
	if !storable(customer) {
		customer = ""
	}
	own, domain := coupon.EmailEntries(by.Email)
	if !storable(own) {
		own = ""
	}
	var found store.Found
	err := s.retry(ctx, func() error {
		var r lookUpReader
		err := s.query(ctx, statement, r.scan, key, customer, own, store.MaxHeld, domain)
		if err != nil {
			return fmt.Errorf("look up coupon: %w", err)
		}
		if !r.any {
			return unknownCoupon(by.CouponID)
		}
		found = r.found
		return nil
	})
	return found, err
}

// lookUpReader reads the rows of a look-up: the coupon in each, and one of the
// reservations that the customer holds.
type lookUpReader struct {
	found store.Found
	any   bool
}

func (r *lookUpReader) scan(rows pgx.Rows) error {
	var c couponRow
	var h redemptionRow
	var allowed *string
	targets := append(c.targets(), &allowed, &r.found.CompletedByCustomer, &r.found.ReservedByCustomer)
	if err := rows.Scan(append(targets, h.targets()...)...); err != nil {
		return err
	}
	if !r.any {
		r.any = true
		var err error
		if r.found.Coupon, err = c.coupon(); err != nil {
			return err
		}
		entry := ""
		if allowed != nil {
			entry = *allowed
		}
		r.found.Coupon.AllowedUserEmails = coupon.NarrowedEmailSet(c.emails, entry)
	}
	held, err := h.redemption()
	if err == nil && held != (redemption.Redemption{}) {
		r.found.Held = append(r.found.Held, held)
	}
	return err
}
