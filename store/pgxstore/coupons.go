package pgxstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// CreateCoupon implements store.Catalog.
func (s *Store) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	c.StartsAt, c.ExpiresAt = instant(c.StartsAt), instant(c.ExpiresAt) // as they are stored
	if err := c.Validate(); err != nil {
		return err
	}
	if c.AllowedUserEmails.Narrowed() {
		return &pricing.ValidationError{Fields: []pricing.FieldError{{
			Field: "allowedUserEmails", Code: pricing.FieldMalformed, Message: "the set was narrowed to one address",
		}}}
	}
	return s.retry(ctx, func() error {
		return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
			done, err := s.execOn(ctx, tx, s.sql.createCoupon, append(identity(c), terms(c)...)...)
			if err != nil {
				return fmt.Errorf("create coupon: %w", err)
			}
			if done == 0 {
				return s.creationConflict(ctx, tx, c)
			}
			// A payment for a deleted coupon of this ID may have been recorded meanwhile.
			var used bool
			if err := queryRowOn(ctx, tx, s.mode, s.sql.used, []any{&used}, c.ID); err != nil {
				return fmt.Errorf("create coupon: redemptions: %w", err)
			}
			if used {
				return fmt.Errorf("coupon %s has redemptions: %w", c.ID, store.ErrConflict)
			}
			if c.AllowedUserEmails.Len() == 0 {
				return nil
			}
			if _, err := s.execOn(ctx, tx, s.sql.addEmails, c.ID, c.AllowedUserEmails.Slice()); err != nil {
				return fmt.Errorf("create coupon: addresses: %w", err)
			}
			return nil
		})
	})
}

// creationConflict tells what the coupon has in common with another one.
func (s *Store) creationConflict(ctx context.Context, tx pgx.Tx, c coupon.Coupon) error {
	var id string
	err := queryRowOn(ctx, tx, s.mode, s.sql.couponIDByCode, []any{&id}, c.Code.String())
	switch {
	case missing(err):
		return fmt.Errorf("coupon %s exists: %w", c.ID, store.ErrConflict)
	case err != nil:
		return fmt.Errorf("create coupon: %w", err)
	}
	return coupon.Reject(c.ID, coupon.CodeTaken, coupon.Params{})
}

// UpdateCoupon implements store.Catalog.
func (s *Store) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	if err := s.ready(ctx); err != nil {
		return coupon.Coupon{}, err
	}
	var updated coupon.Coupon
	err := s.change(ctx, c.ID, c.Revision, func(tx pgx.Tx) error {
		before, err := s.couponOn(ctx, tx, s.sql.couponTerms, c.ID)
		if err != nil {
			return err
		}
		updated = c
		updated.Code, updated.Discount, updated.Currency = before.Code, before.Discount, before.Currency
		updated.CreatedAt, updated.UpdatedAt = before.CreatedAt, instant(c.UpdatedAt)
		updated.UsedCount, updated.ReservedCount = before.UsedCount, before.ReservedCount
		updated.StartsAt, updated.ExpiresAt = instant(c.StartsAt), instant(c.ExpiresAt)
		updated.Revision = before.Revision + 1
		narrowed := c.AllowedUserEmails.Narrowed()
		if narrowed {
			updated.AllowedUserEmails = before.AllowedUserEmails // how many; which they are stays
		}
		if err := updated.Validate(); err != nil {
			return err
		}
		if _, err := s.execOn(ctx, tx, s.sql.updateCoupon, append([]any{c.ID}, terms(updated)...)...); err != nil {
			return fmt.Errorf("update coupon: %w", err)
		}
		if narrowed {
			updated, err = s.couponOn(ctx, tx, s.sql.coupon, c.ID)
			return err
		}
		addresses := append([]string{}, c.AllowedUserEmails.Slice()...)
		if _, err := s.execOn(ctx, tx, s.sql.replaceEmails, c.ID, addresses); err != nil {
			return fmt.Errorf("update coupon: addresses: %w", err)
		}
		return nil
	})
	if err != nil {
		return coupon.Coupon{}, err
	}
	return updated, nil
}

// ConfirmMirror implements store.Catalog.
func (s *Store) ConfirmMirror(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
	if err := s.ready(ctx); err != nil {
		return coupon.Coupon{}, err
	}
	if err := m.Validate(); err != nil {
		return coupon.Coupon{}, err
	}
	var confirmed coupon.Coupon
	err := s.change(ctx, id, m.Revision, func(tx pgx.Tx) error {
		if _, err := s.execOn(ctx, tx, s.sql.confirmMirror, id, m.Revision, m.CouponID, m.PromotionCodeID); err != nil {
			return fmt.Errorf("confirm mirror: %w", err)
		}
		var err error
		confirmed, err = s.couponOn(ctx, tx, s.sql.coupon, id)
		return err
	})
	return confirmed, err
}

// change runs work with the coupon locked against everybody, also those who
// reserve without a limit, if its revision is still the given one.
func (s *Store) change(ctx context.Context, id string, revision int64, work func(pgx.Tx) error) error {
	if !storable(id) {
		return unknownCoupon(id)
	}
	return s.retry(ctx, func() error {
		return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
			var current int64
			err := queryRowOn(ctx, tx, s.mode, s.sql.lockCoupon, []any{&current}, id)
			switch {
			case missing(err):
				return unknownCoupon(id)
			case err != nil:
				return fmt.Errorf("lock coupon: %w", err)
			case current != revision:
				return fmt.Errorf("coupon %s has revision %d, not %d: %w", id, current, revision, store.ErrStaleRevision)
			}
			return work(tx)
		})
	})
}

// DeleteCoupon implements store.Catalog.
func (s *Store) DeleteCoupon(ctx context.Context, id string, revision int64) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.change(ctx, id, revision, func(tx pgx.Tx) error {
		if _, err := s.execOn(ctx, tx, s.sql.deleteCoupon, id, revision); err != nil {
			return fmt.Errorf("delete coupon: %w", err)
		}
		return nil
	})
}

// Coupon implements store.CouponReader.
func (s *Store) Coupon(ctx context.Context, id string) (coupon.Coupon, error) {
	if err := s.ready(ctx); err != nil {
		return coupon.Coupon{}, err
	}
	if !storable(id) {
		return coupon.Coupon{}, unknownCoupon(id)
	}
	var c coupon.Coupon
	err := s.retry(ctx, func() (err error) {
		c, err = s.couponOn(ctx, s.db, s.sql.coupon, id)
		return err
	})
	return c, err
}

// couponOn reads the coupon that a statement finds, with the addresses that it has.
func (s *Store) couponOn(ctx context.Context, on session, statement, id string) (c coupon.Coupon, err error) {
	err = queryOn(ctx, on, s.mode, statement, func(rows pgx.Rows) error {
		c, err = scanCoupon(rows)
		return err
	}, id)
	if err != nil {
		return coupon.Coupon{}, fmt.Errorf("read coupon: %w", err)
	}
	if c.ID == "" {
		return coupon.Coupon{}, unknownCoupon(id)
	}
	return c, nil
}

func unknownCoupon(id string) error {
	return coupon.Reject(id, coupon.CouponNotFound, coupon.Params{})
}

// execOn runs a statement and returns how many rows it has changed.
func (s *Store) execOn(ctx context.Context, on session, statement string, arguments ...any) (int64, error) {
	if s.mode != 0 {
		arguments = append([]any{s.mode}, arguments...)
	}
	tag, err := on.Exec(ctx, statement, arguments...)
	return tag.RowsAffected(), err
}
