package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

const (
	couponByID    = `SELECT ` + couponColumns + ` FROM {coupons} c WHERE c.id = ?`
	couponDigest  = `SELECT c.emails_digest FROM {coupons} c WHERE c.id = ?{for_update}`
	anyRedemption = `SELECT 1 FROM {coupon_redemptions} r WHERE r.coupon_id = ? LIMIT 1`
	idByCode      = `SELECT c.id FROM {coupons} c WHERE c.code = ?`
	countEmails   = `SELECT COUNT(*) FROM {coupon_allowed_emails} e WHERE e.coupon_id = ?`
	deleteCounts  = `DELETE FROM {coupon_counts} WHERE coupon_id = ?`
	deleteCoupon  = `DELETE FROM {coupons} WHERE id = ?`
	writeMirror   = `UPDATE {coupons} SET processor_coupon_id = ?, promotion_code_id = ?, mirror_revision = ?,
	state = CASE WHEN state = 'pending' THEN 'active' ELSE state END WHERE id = ?`
)

// CreateCoupon implements [store.Catalog].
func (s *Store) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	n, err := prepareCoupon(c, emailsDigest(c.AllowedUserEmails))
	if err != nil {
		return err
	}
	if c.AllowedUserEmails.Narrowed() {
		return invalidField("allowedUserEmails", pricing.FieldMismatch, "only a part of the addresses was loaded")
	}
	return s.change(ctx, "create coupon", func(ctx context.Context, t *tx) error {
		inserted, err := t.insert(ctx, insertCoupon, slices.Concat(n.editable, n.frozen)...)
		if err != nil {
			return err
		}
		if !inserted {
			return t.whyNotCreated(ctx, n.Coupon)
		}
		if err := t.neverUsed(ctx, n.ID); err != nil {
			return err
		}
		return t.writeEmails(ctx, n.Coupon)
	})
}

// neverUsed refuses the ID of a coupon that was deleted and whose redemptions stay:
// they would count for the new one.
func (t *tx) neverUsed(ctx context.Context, id string) error {
	var one int
	err := t.latest(ctx, anyRedemption, id).Scan(&one)
	switch {
	case err == nil:
		return fmt.Errorf("coupon %s existed before: %w", id, store.ErrConflict)
	case errors.Is(err, sql.ErrNoRows):
		return nil
	}
	return err
}

// whyNotCreated is the reason for which a coupon could not be inserted.
func (t *tx) whyNotCreated(ctx context.Context, c coupon.Coupon) error {
	var id string
	err := t.latest(ctx, idByCode, c.Code.String()).Scan(&id)
	switch {
	case err == nil:
		return coupon.Reject(c.ID, coupon.CodeTaken, coupon.Params{})
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("coupon %s exists already: %w", c.ID, store.ErrConflict)
	}
	return err
}

// UpdateCoupon implements [store.Catalog]. A narrowed allow-list leaves the stored
// one as it is.
func (s *Store) UpdateCoupon(ctx context.Context, c coupon.Coupon) (updated coupon.Coupon, err error) {
	digest := emailsDigest(c.AllowedUserEmails)
	err = s.change(ctx, "update coupon", func(ctx context.Context, t *tx) error {
		before, err := t.expect(ctx, c.ID, c.Revision)
		if err != nil {
			return err
		}
		same, err := t.sameEmails(ctx, before, c.AllowedUserEmails, digest)
		if err != nil {
			return err
		}
		kept := digest
		if same {
			kept = before.digest
		}
		n, err := prepareCoupon(before.edited(c), kept)
		if err != nil {
			return err
		}
		if _, err := t.write(ctx, updateCoupon, append(n.editable, n.ID)...); err != nil {
			return err
		}
		if !same {
			if err := t.replaceEmails(ctx, n.Coupon); err != nil {
				return err
			}
		}
		updated, err = t.coupon(ctx, n.ID)
		return err
	})
	return updated, err
}

// expected is a stored coupon whose terms are about to change.
type expected struct {
	coupon.Coupon
	emails int
	digest string
}

// edited returns what the stored coupon becomes.
func (e expected) edited(c coupon.Coupon) coupon.Coupon {
	c.Code, c.Discount, c.Currency, c.CreatedAt = e.Code, e.Discount, e.Currency, e.CreatedAt
	c.Revision = e.Revision + 1
	if c.AllowedUserEmails.Narrowed() {
		c.AllowedUserEmails = coupon.NarrowedEmailSet(e.emails, "")
	}
	return c
}

// sameEmails reports whether the stored addresses are to stay: the list is narrowed, or
// they are those of the list. The digest alone does not tell: earlier builds stored,
// with the whole list, that of the one address which a narrowed list named.
func (t *tx) sameEmails(ctx context.Context, before expected, list coupon.EmailSet, digest string) (bool, error) {
	if list.Narrowed() || digest != before.digest {
		return list.Narrowed(), nil
	}
	var stored int
	if err := t.latest(ctx, countEmails, before.ID).Scan(&stored); err != nil {
		return false, fmt.Errorf("count addresses: %w", err)
	}
	return stored == list.Len(), nil
}

// expect locks a coupon that still has the revision, for its terms to change.
func (t *tx) expect(ctx context.Context, id string, revision int64) (expected, error) {
	unknown := coupon.Reject(id, coupon.CouponNotFound, coupon.Params{})
	if !findable(id) {
		return expected{}, unknown
	}
	if err := t.forget(ctx); err != nil {
		return expected{}, err
	}
	var (
		e   expected
		row couponRow
		err error
	)
	if err := t.row(ctx, couponDigest, id).Scan(&e.digest); err != nil {
		return expected{}, orElse(err, unknown)
	}
	if err := t.row(ctx, couponByID+"{for_update}", id).Scan(row.targets()...); err != nil {
		return expected{}, err
	}
	if e.Coupon, err = row.coupon(); err != nil {
		return expected{}, err
	}
	if e.emails = int(row.emails); e.Revision != revision {
		return expected{}, store.ErrStaleRevision
	}
	return e, nil
}

// coupon reads the coupon with its addresses.
func (t *tx) coupon(ctx context.Context, id string) (coupon.Coupon, error) {
	var row couponRow
	if err := t.row(ctx, couponByID, id).Scan(row.targets()...); err != nil {
		return coupon.Coupon{}, err
	}
	c, err := row.coupon()
	if err != nil {
		return coupon.Coupon{}, err
	}
	return c, t.readEmails(ctx, row.emails, &c)
}

// ConfirmMirror implements [store.Catalog].
func (s *Store) ConfirmMirror(ctx context.Context, id string, m coupon.Mirror) (confirmed coupon.Coupon, err error) {
	if err := s.ready(ctx); err != nil {
		return coupon.Coupon{}, err
	}
	if err := m.Validate(); err != nil {
		return coupon.Coupon{}, err
	}
	err = s.change(ctx, "confirm mirror", func(ctx context.Context, t *tx) error {
		if _, err := t.expect(ctx, id, m.Revision); err != nil {
			return err
		}
		if _, err := t.write(ctx, writeMirror, m.CouponID, m.PromotionCodeID, m.Revision, id); err != nil {
			return err
		}
		confirmed, err = t.coupon(ctx, id)
		return err
	})
	return confirmed, err
}

// DeleteCoupon implements [store.Catalog].
func (s *Store) DeleteCoupon(ctx context.Context, id string, revision int64) error {
	return s.change(ctx, "delete coupon", func(ctx context.Context, t *tx) error {
		if _, err := t.expect(ctx, id, revision); err != nil {
			return err
		}
		for _, statement := range [...]string{deleteCounts, deleteEmails, deleteCoupon} {
			if _, err := t.write(ctx, statement, id); err != nil {
				return err
			}
		}
		return nil
	})
}
