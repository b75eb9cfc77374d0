package sqlstore

import (
	"context"
	"database/sql"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

const (
	lockCoupon   = `SELECT ` + couponColumns + ` FROM {coupons} WHERE id = ?{for_update}`
	findCode     = `SELECT id FROM {coupons} WHERE code = ?`
	findCounter  = `SELECT COUNT(*) FROM {counters} WHERE counter = ?`
	insertCoupon = `{insert} {coupons} (` + couponColumns + `) VALUES {rows}`
	updateCoupon = `UPDATE {coupons} SET state = ?, revision = ?, version = ?, unlimited = ?, updated_at = ?,
	starts_at = ?, expires_at = ?, emails = ?, max_uses = ?, search = ?, doc = ? WHERE id = ?`
	deleteCoupon = `DELETE FROM {coupons} WHERE id = ?`
	deleteEmails = `DELETE FROM {coupon_emails} WHERE coupon_id = ?`
	insertEmails = `{insert} {coupon_emails} (coupon_id, email, position) VALUES {rows}`
	selectEmails = `SELECT email FROM {coupon_emails} WHERE coupon_id = ? ORDER BY position`
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
	if err := s.each(ctx, findCode+s.find, func(rows *sql.Rows) error { return rows.Scan(&stored.CodeOf) }, code.String()); err != nil {
		return stored, err
	}
	counter := redemption.CouponUses(id)
	if stored.Coupon.ID == "" {
		counted, err := s.number(ctx, findCounter+s.find, s.stored(counter))
		stored.Counted = counted > 0
		return stored, err
	}
	counts, err := s.counts(ctx, []string{counter})
	setCounts(&stored.Coupon, counts[0])
	return stored, err
}

func setCounts(c *coupon.Coupon, count redemption.Count) {
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
	// Neither ID, code, type nor createdAt change.
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

// fold makes one row of the rows of a counter. The caller has locked the coupon, so that
// nobody adds to them.
func (s *session) fold(ctx context.Context, counter string) error {
	var sum redemption.Count
	slots := 0
	if err := s.each(ctx, lockSlots, func(rows *sql.Rows) error {
		var slot int
		var count redemption.Count
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

// LookUp implements [store.Coupons].
func (s *Store) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
	column, name := "c.id", by.CouponID
	if name == "" {
		column, name = "c.code", by.Code.String()
	}
	var found store.Found
	err := s.view(ctx, "look up coupon", func(ctx context.Context, t *session) (err error) {
		found = store.Found{}
		if !findable(name) {
			return coupon.Reject(by.CouponID, coupon.CouponNotFound, coupon.Params{})
		}
		if found.Coupon, err = t.coupon(ctx, column, name, by.Email); err != nil {
			return err
		}
		if found.Coupon.ID == "" {
			return coupon.Reject(by.CouponID, coupon.CouponNotFound, coupon.Params{})
		}
		if by.Whole {
			if err := t.readEmails(ctx, &found.Coupon); err != nil {
				return err
			}
		}
		if err := t.lookUpCounts(ctx, by.Identities, &found); err != nil || !findable(by.CustomerID) {
			return err
		}
		found.Held, err = t.uses(ctx, selectHeld, by.CustomerID, found.Coupon.ID, int64(store.MaxHeld))
		return err
	})
	return answered(found, err)
}

const (
	selectCoupon = `SELECT ` + couponColumns + `, (SELECT COUNT(*) FROM {coupon_emails} e WHERE e.coupon_id = c.id AND e.email = ?),
	(SELECT COUNT(*) FROM {coupon_emails} e WHERE e.coupon_id = c.id AND e.email = ?)
	FROM {coupons} c WHERE `
	// The order is one that no index has. Otherwise SQLite reads all uses of the coupon.
	selectHeld = `SELECT ` + useColumns + ` FROM {uses} WHERE customer_id = ? AND coupon_id = ? AND state = 'reserved'
	ORDER BY created_at + 0 DESC, id DESC LIMIT ?`
)

// coupon reads a coupon whose allow-list is narrowed to the address.
func (s *session) coupon(ctx context.Context, column, name, email string) (c coupon.Coupon, err error) {
	own, domain := coupon.EmailEntries(email)
	if !store.IsText(own) {
		own, domain = "", ""
	}
	err = s.each(ctx, selectCoupon+column+" = ?", func(rows *sql.Rows) error {
		var listed, covered int
		row, err := scanCoupon(rows, &listed, &covered)
		c = row.Coupon
		switch total := c.AllowedUserEmails.Len(); {
		case listed > 0:
			c.AllowedUserEmails = coupon.NarrowedEmailSet(total, own)
		case covered > 0:
			c.AllowedUserEmails = coupon.NarrowedEmailSet(total, domain)
		}
		return err
	}, own, domain, name)
	return c, err
}

func (s *session) readEmails(ctx context.Context, c *coupon.Coupon) error {
	addresses := make([]string, 0, c.AllowedUserEmails.Len())
	if err := s.each(ctx, selectEmails, collect(&addresses, one[string]), c.ID); err != nil {
		return err
	}
	c.AllowedUserEmails = coupon.StoredEmailSet(addresses...)
	return nil
}

func (s *session) lookUpCounts(ctx context.Context, identities []string, found *store.Found) error {
	id := found.Coupon.ID
	customers := each(identities, func(identity string) string { return redemption.CustomerUses(id, identity) })
	counts, err := s.counts(ctx, append([]string{redemption.CouponUses(id)}, customers...))
	setCounts(&found.Coupon, counts[0])
	if len(identities) > 0 {
		found.ByCustomer = counts[1:]
	}
	return err
}

func (s *session) uses(ctx context.Context, statement string, args ...any) (found []redemption.Use, err error) {
	err = s.each(ctx, statement, collect(&found, scanUse), args...)
	return found, err
}
