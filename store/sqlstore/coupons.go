package sqlstore

import (
	"context"
	"database/sql"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

const (
	lockCoupon   = `SELECT ` + couponColumns + ` FROM {coupons} WHERE id = ?{for_update}`
	findCode     = `SELECT coupon_id FROM {codes} WHERE live = 1 AND code_key = ?`
	findCounter  = `SELECT COUNT(*) FROM {counters} WHERE counter = ?`
	insertCoupon = `{insert} {coupons} (` + couponColumns + `) VALUES {rows}`
	updateCoupon = `UPDATE {coupons} SET state = ?, revision = ?, version = ?, unlimited = ?, updated_at = ?,
	starts_at = ?, expires_at = ?, emails = ?, max_uses = ?, search = ?, doc = ? WHERE id = ?`
	deleteCoupon = `DELETE FROM {coupons} WHERE id = ?`
	deleteEmails = `DELETE FROM {coupon_emails} WHERE coupon_id = ?`
	insertEmails = `{insert} {coupon_emails} (coupon_id, email, position) VALUES {rows}`
	lockSlots    = `SELECT slot, reserved, completed FROM {counters}{by_id} WHERE counter = ? ORDER BY slot{for_update}`
	deleteSlots  = `DELETE FROM {counters} WHERE counter = ?`
)

// LoadCoupon implements [engine.CouponTx].
func (s *session) LoadCoupon(ctx context.Context, id string, code coupon.Code) (stored engine.StoredCoupon, err error) {
	if !findable(id) {
		return stored, nil
	}
	if err := s.each(ctx, lockCoupon, func(rows *sql.Rows) (err error) {
		stored, err = scanCoupon(rows)
		return err
	}, id); err != nil {
		return stored, err
	}
	if !code.IsZero() {
		if err := s.each(ctx, findCode+s.find, func(rows *sql.Rows) error { return rows.Scan(&stored.CodeOf) }, code.String()); err != nil {
			return stored, err
		}
	}
	counter := eligibility.CouponUses(id)
	if stored.Coupon.ID == "" {
		counted, err := s.number(ctx, findCounter+s.find, s.stored(counter))
		stored.Counted = counted > 0
		return stored, err
	}
	counts, err := s.counts(ctx, []string{counter})
	setCounts(&stored.Coupon, counts[0])
	return stored, err
}

func setCounts(c *coupon.Coupon, count eligibility.Count) {
	c.UsedCount, c.ReservedCount = count.Completed, count.Reserved
}

// SaveCoupon implements [engine.CouponTx].
func (s *session) SaveCoupon(ctx context.Context, w engine.CouponWrite) error {
	if err := s.saveCoupon(ctx, w); err != nil {
		return err
	}
	if w.Fold != "" {
		if err := s.fold(ctx, w.Fold); err != nil {
			return err
		}
	}
	if err := s.saveCodes(ctx, w); err != nil || w.Entry.Kind == "" {
		return err
	}
	return s.insert(ctx, insertEntries, [][]any{entryRow(w.Entry)})
}

func (s *session) saveCoupon(ctx context.Context, w engine.CouponWrite) error {
	c := w.Coupon
	if w.Kind == store.DeleteCoupon {
		if err := s.exec(ctx, deleteCoupon, c.ID); err != nil {
			return err
		}
		return s.exec(ctx, deleteEmails, c.ID)
	}
	row, err := s.couponRow(w)
	if err != nil {
		return &failure{err}
	}
	if w.Kind == store.CreateCoupon {
		if err := s.insert(ctx, insertCoupon, [][]any{row}); err != nil {
			return err
		}
		return s.insertEmails(ctx, c)
	}
	// ID, code, type and createdAt do not change.
	args := append(append(append([]any{}, row[4:8]...), row[9:]...), c.ID)
	if err := s.exec(ctx, updateCoupon, args...); err != nil || w.KeepEmails {
		return err
	}
	if err := s.exec(ctx, deleteEmails, c.ID); err != nil {
		return err
	}
	return s.insertEmails(ctx, c)
}

func (s *session) insertEmails(ctx context.Context, c coupon.Coupon) error {
	rows := make([][]any, 0, c.AllowedUserEmails.Len())
	for address := range c.AllowedUserEmails.All() {
		rows = append(rows, []any{c.ID, address, int64(len(rows))})
	}
	return s.insert(ctx, insertEmails, rows)
}

// fold merges the rows of a counter into one. The caller has locked the coupon, so that nobody adds to
// the counter.
func (s *session) fold(ctx context.Context, counter string) error {
	var sum eligibility.Count
	slots := 0
	if err := s.each(ctx, lockSlots, func(rows *sql.Rows) error {
		var slot int
		var count eligibility.Count
		err := rows.Scan(&slot, &count.Reserved, &count.Completed)
		sum, slots = sum.Plus(count), slots+1
		return err
	}, s.stored(counter)); err != nil || slots == 0 {
		return err
	}
	if err := s.exec(ctx, deleteSlots, s.stored(counter)); err != nil {
		return err
	}
	return s.saveCounters(ctx, []engine.CounterWrite{{Counter: counter, By: sum, New: true}})
}

func (s *session) uses(ctx context.Context, statement string, args ...any) (found []redemption.Use, err error) {
	err = s.each(ctx, statement, collect(&found, scanUse), args...)
	return found, err
}
