package sqlstore

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// condition is the WHERE of a list, built of fixed texts.
type condition struct {
	terms []string
	args  []any
}

func (c *condition) and(term string, args ...any) {
	c.terms = append(c.terms, term)
	c.args = append(c.args, args...)
}

func (c *condition) where() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.terms, " AND ")
}

// after narrows to what comes after the cursor in a list that is newest first.
func (c *condition) after(text, alias string) error {
	cursor, err := store.ParseCursor(text)
	if err != nil {
		return err
	}
	if !storable(cursor.ID) {
		return invalidField("after", pricing.FieldMalformed, "is no cursor of this list")
	}
	at := micros(cursor.CreatedAt)
	c.and(alias+".created_at <= ?", at)
	c.and("("+alias+".created_at < ? OR "+alias+".id < ?)", at, cursor.ID)
	return nil
}

// The totals of lists are counted up to here, so that a page does not take the longer the
// more there is. Redemptions are counted in an index, and searched coupons one by one.
const (
	maxCountedRedemptions = 10_000
	maxCountedCoupons     = store.ExactTotal
)

// total counts rows, and reports whether there are more than the most that are counted.
func (t *tx) total(ctx context.Context, of string, all condition, most int64) (n int64, atLeast bool, err error) {
	err = t.row(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+of+all.where()+" LIMIT ?) counted", append(slices.Clone(all.args), most+1)...).Scan(&n)
	return min(n, most), n > most, err
}

// couponTotal is exact without a search: then there is nothing to look into.
func (t *tx) couponTotal(ctx context.Context, all condition) (n int64, atLeast bool, err error) {
	if len(all.terms) > 0 {
		return t.total(ctx, "{coupons} c", all, maxCountedCoupons)
	}
	return n, false, t.row(ctx, "SELECT COUNT(*) FROM {coupons} c").Scan(&n)
}

// ListCoupons implements [store.CouponReader]. Allow-lists tell their size only.
func (s *Store) ListCoupons(ctx context.Context, list store.CouponList) (page store.CouponPage, err error) {
	if err := s.ready(ctx); err != nil {
		return store.CouponPage{}, err
	}
	list, err = list.Normalise()
	if err != nil {
		return store.CouponPage{}, err
	}
	var all, some condition
	if list.Search != "" {
		all.and("INSTR(c.search_text, ?) > 0", store.Fold(list.Search))
		some = condition{terms: all.terms[:1:1], args: all.args[:1:1]}
	}
	skip := 0
	if list.After != "" {
		if err := some.after(list.After, "c"); err != nil {
			return store.CouponPage{}, err
		}
	} else if skip = math.MaxInt; list.Page <= math.MaxInt/list.PageSize {
		skip = (list.Page - 1) * list.PageSize
	}
	err = s.snapshot(ctx, "list coupons", func(ctx context.Context, t *tx) error {
		page = store.CouponPage{}
		if !storable(list.Search) {
			return nil
		}
		if page.Total, page.AtLeast, err = t.couponTotal(ctx, all); err != nil {
			return err
		}
		return t.listCoupons(ctx, some, list.PageSize, skip, &page)
	})
	return page, err
}

func (t *tx) listCoupons(ctx context.Context, some condition, size, skip int, page *store.CouponPage) error {
	rows, err := t.query(ctx, `SELECT `+couponColumns+` FROM {coupons} c`+some.where()+
		` ORDER BY c.created_at DESC, c.id DESC LIMIT ? OFFSET ?`, append(some.args, size+1, skip)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row couponRow
		if err := rows.Scan(row.targets()...); err != nil {
			return err
		}
		if len(page.Items) == size {
			last := page.Items[size-1]
			page.Next = store.Cursor{CreatedAt: last.CreatedAt, ID: last.ID}.String()
			continue
		}
		c, err := row.coupon()
		if err != nil {
			return err
		}
		c.AllowedUserEmails = coupon.NarrowedEmailSet(int(row.emails), "")
		page.Items = append(page.Items, c)
	}
	return rows.Err()
}

// Redemption implements [store.RedemptionReader].
func (s *Store) Redemption(ctx context.Context, id string) (r redemption.Redemption, err error) {
	err = s.read(ctx, "read redemption", func(ctx context.Context, t *tx) error {
		if !findable(id) {
			return store.ErrNotFound
		}
		r, err = scanRedemption(t.row(ctx, redemptionByID, id))
		return orElse(err, store.ErrNotFound)
	})
	return r, err
}

// listed is what a list of redemptions has. SQLite would look for those of a customer among
// all of the coupon, or of all customers, in their order.
func (s *schema) listed(list store.RedemptionList) (all condition) {
	couponID := list.CouponID
	switch {
	case s.rowLocks || list.CustomerID == "":
	case couponID == "":
		all.and(ofCustomer, list.CustomerID, list.CustomerID)
	default:
		all.and(ofCustomerAndCoupon, couponID, list.CustomerID)
		couponID = ""
	}
	for _, by := range [...]struct{ column, value string }{
		{"r.coupon_id", couponID}, {"r.customer_id", list.CustomerID}, {"r.state", list.State.String()},
	} {
		if by.value != "" {
			all.and(by.column+" = ?", by.value)
		}
	}
	return all
}

// ListRedemptions implements [store.RedemptionReader].
func (s *Store) ListRedemptions(ctx context.Context, list store.RedemptionList) (page store.RedemptionPage, err error) {
	if err := s.ready(ctx); err != nil {
		return store.RedemptionPage{}, err
	}
	list, err = list.Normalise()
	if err != nil {
		return store.RedemptionPage{}, err
	}
	all := s.schema.listed(list)
	some := condition{terms: append([]string{}, all.terms...), args: append([]any{}, all.args...)}
	if list.After != "" {
		if err := some.after(list.After, "r"); err != nil {
			return store.RedemptionPage{}, err
		}
	}
	known := list.State == 0 || list.State.String() != ""
	err = s.snapshot(ctx, "list redemptions", func(ctx context.Context, t *tx) error {
		page = store.RedemptionPage{}
		if !known || !storable(list.CouponID) || !storable(list.CustomerID) {
			return nil
		}
		if page.Total, page.AtLeast, err = t.total(ctx, "{coupon_redemptions} r", all, maxCountedRedemptions); err != nil {
			return err
		}
		found, err := t.redemptions(ctx, `SELECT `+redemptionColumns+` FROM {coupon_redemptions} r`+some.where()+
			` ORDER BY r.created_at DESC, r.id DESC LIMIT ?`, append(some.args, list.PageSize+1)...)
		if err != nil {
			return err
		}
		if page.Items = found; len(found) > list.PageSize {
			page.Items = found[:list.PageSize]
			last := page.Items[list.PageSize-1]
			page.Next = store.Cursor{CreatedAt: last.CreatedAt, ID: last.ID}.String()
		}
		return nil
	})
	return page, err
}

// dueRedemptions finds each kind by an index of its own, and none in both: SQLite would look
// through the whole table for what is to be compared. Only what is returned is read in full.
const dueRedemptions = `SELECT ` + redemptionColumns + ` FROM (SELECT u.id FROM (
		SELECT d.id, d.created_at FROM {coupon_redemptions} d WHERE d.state = 'reserved' AND d.deadline IS NOT NULL AND d.deadline <= ?
		UNION ALL SELECT d.id, d.created_at FROM {coupon_redemptions} d WHERE d.points_state = 'refund_due'
			AND NOT (d.state = 'reserved' AND d.deadline IS NOT NULL AND d.deadline <= ?)
	) u ORDER BY u.created_at, u.id LIMIT ?) due CROSS JOIN {coupon_redemptions} r ON r.id = due.id ORDER BY r.created_at, r.id`

// Due implements [store.RedemptionReader].
func (s *Store) Due(ctx context.Context, at time.Time, limit int) (due []redemption.Redemption, err error) {
	err = s.read(ctx, "list due redemptions", func(ctx context.Context, t *tx) error {
		if limit <= 0 { // MySQL 8.0.19 crashes when a prepared UNION runs again after LIMIT 0
			return nil
		}
		until := micros(coupon.Instant(at))
		due, err = t.redemptions(ctx, dueRedemptions, until, until, limit)
		return err
	})
	return due, err
}

func (t *tx) redemptions(ctx context.Context, statement string, args ...any) ([]redemption.Redemption, error) {
	rows, err := t.query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []redemption.Redemption
	for rows.Next() {
		r, err := scanRedemption(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, rows.Err()
}
