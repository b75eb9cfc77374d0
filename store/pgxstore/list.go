package pgxstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// filter collects the conditions of a list and their arguments.
type filter struct {
	conditions []string
	arguments  []any
}

// add adds a condition in which each ? stands for the next argument.
func (f *filter) add(condition string, arguments ...any) {
	for _, argument := range arguments {
		f.arguments = append(f.arguments, argument)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(f.arguments)), 1)
	}
	f.conditions = append(f.conditions, condition)
}

func (f *filter) where() string {
	if len(f.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.conditions, " AND ")
}

// after narrows the list to what comes after a cursor.
func (f *filter) after(row, cursor string) error {
	if cursor == "" {
		return nil
	}
	at, err := store.ParseCursor(cursor)
	if err != nil {
		return err
	}
	if !storable(at.ID) {
		at.ID = ""
	}
	f.add(fmt.Sprintf("(%s.created_at, %s.id) < (?, ?)", row, row), at.CreatedAt, at.ID)
	return nil
}

// page returns the end of a statement for a page, newest first, and one entry
// more, which tells whether there is a next page.
func (f *filter) page(row string, size, offset int) string {
	f.arguments = append(f.arguments, size+1, offset)
	return fmt.Sprintf("%s ORDER BY %s.created_at DESC, %s.id DESC LIMIT $%d OFFSET $%d",
		f.where(), row, row, len(f.arguments)-1, len(f.arguments))
}

// ListCoupons implements store.CouponReader. The allow-lists of its coupons are
// narrowed to none.
func (s *Store) ListCoupons(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	if err := s.ready(ctx); err != nil {
		return store.CouponPage{}, err
	}
	list, err := list.Normalise()
	if err != nil {
		return store.CouponPage{}, err
	}
	var f filter
	if list.Search != "" {
		if !storable(list.Search) || strings.Contains(list.Search, fieldSeparator) {
			return store.CouponPage{}, nil
		}
		f.add("c.search_text LIKE ?", likePattern(list.Search))
	}
	total := s.counting("{coupons} c", &f)
	if err := f.after("c", list.After); err != nil {
		return store.CouponPage{}, err
	}
	offset := 0
	if list.After == "" {
		offset = (list.Page - 1) * list.PageSize
	}
	statement := s.names.expand(selectTerms + f.page("c", list.PageSize, offset))
	var page store.CouponPage
	err = s.snapshot(ctx, func(on session) error {
		page = store.CouponPage{}
		if err := total(ctx, on, &page.Total); err != nil {
			return err
		}
		return queryOn(ctx, on, s.mode, statement, func(rows pgx.Rows) error {
			c, err := scanCoupon(rows)
			page.Items = append(page.Items, c)
			return err
		}, f.arguments...)
	})
	if err != nil {
		return store.CouponPage{}, fmt.Errorf("list coupons: %w", err)
	}
	if len(page.Items) > list.PageSize {
		page.Items = page.Items[:list.PageSize]
		last := page.Items[list.PageSize-1]
		page.Next = cursorText(last.CreatedAt, last.ID)
	}
	return page, nil
}

// ListRedemptions implements store.RedemptionReader.
func (s *Store) ListRedemptions(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
	if err := s.ready(ctx); err != nil {
		return store.RedemptionPage{}, err
	}
	list, err := list.Normalise()
	if err != nil {
		return store.RedemptionPage{}, err
	}
	if !storable(list.CouponID, list.CustomerID) {
		return store.RedemptionPage{}, nil
	}
	var f filter
	if list.CouponID != "" {
		f.add("r.coupon_id = ?", list.CouponID)
	}
	if list.CustomerID != "" {
		f.add("r.customer_id = ?", list.CustomerID)
	}
	if list.State != 0 {
		f.add("r.state = ?", list.State.String())
	}
	total := s.counting("{coupon_redemptions} r", &f)
	if err := f.after("r", list.After); err != nil {
		return store.RedemptionPage{}, err
	}
	statement := s.names.expand(`SELECT ` + columnsOf("r", redemptionColumns) + ` FROM {coupon_redemptions} r` +
		f.page("r", list.PageSize, 0))
	var page store.RedemptionPage
	err = s.snapshot(ctx, func(on session) (err error) {
		if err := total(ctx, on, &page.Total); err != nil {
			return err
		}
		page.Items, err = s.redemptionsOn(ctx, on, statement, f.arguments...)
		return err
	})
	if err != nil {
		return store.RedemptionPage{}, fmt.Errorf("list redemptions: %w", err)
	}
	if len(page.Items) > list.PageSize {
		page.Items = page.Items[:list.PageSize]
		last := page.Items[list.PageSize-1]
		page.Next = cursorText(last.CreatedAt, last.ID)
	}
	return page, nil
}

// counting returns a function that counts the rows that the filter finds.
func (s *Store) counting(source string, f *filter) func(context.Context, session, *int64) error {
	statement, arguments := s.names.expand(`SELECT count(*) FROM `+source+f.where()), slices.Clip(f.arguments)
	return func(ctx context.Context, on session, total *int64) error {
		return queryRowOn(ctx, on, s.mode, statement, []any{total}, arguments...)
	}
}

// snapshot runs reading work in which all statements see the same state; within a
// transaction of the host, what that sees.
func (s *Store) snapshot(ctx context.Context, work func(on session) error) error {
	if s.pool == nil {
		return work(s.db)
	}
	return s.retry(ctx, func() error {
		options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		return pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error { return work(tx) })
	})
}

// redemptionsOn reads whole records.
func (s *Store) redemptionsOn(ctx context.Context, on session, statement string, arguments ...any) ([]redemption.Redemption, error) {
	var list []redemption.Redemption
	err := queryOn(ctx, on, s.mode, statement, func(rows pgx.Rows) error {
		var row redemptionRow
		if err := rows.Scan(row.targets()...); err != nil {
			return err
		}
		r, err := row.redemption()
		list = append(list, r)
		return err
	}, arguments...)
	return list, err
}

func cursorText(at time.Time, id string) string { return store.Cursor{CreatedAt: at, ID: id}.String() }

// Redemption implements store.RedemptionReader.
func (s *Store) Redemption(ctx context.Context, id string) (redemption.Redemption, error) {
	if err := s.ready(ctx); err != nil {
		return redemption.Redemption{}, err
	}
	return s.oneRedemption(ctx, s.sql.redemption, id)
}

// oneRedemption reads the record that the statement finds, or it is
// store.ErrNotFound.
func (s *Store) oneRedemption(ctx context.Context, statement string, keys ...string) (redemption.Redemption, error) {
	if !storable(keys...) {
		return redemption.Redemption{}, unknownRedemption(keys)
	}
	arguments := make([]any, len(keys))
	for i, key := range keys {
		arguments[i] = key
	}
	var row redemptionRow
	err := s.retry(ctx, func() error {
		row = redemptionRow{}
		return s.queryRow(ctx, statement, row.targets(), arguments...)
	})
	switch {
	case missing(err):
		return redemption.Redemption{}, unknownRedemption(keys)
	case err != nil:
		return redemption.Redemption{}, fmt.Errorf("read redemption: %w", err)
	}
	return row.redemption()
}

func unknownRedemption(keys []string) error {
	return fmt.Errorf("redemption %q: %w", strings.Join(keys, " "), store.ErrNotFound)
}

// Due implements store.RedemptionReader.
func (s *Store) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, nil
	}
	var list []redemption.Redemption
	err := s.retry(ctx, func() (err error) {
		list, err = s.redemptionsOn(ctx, s.db, s.sql.due, instant(at), limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list what is due: %w", err)
	}
	return list, nil
}
