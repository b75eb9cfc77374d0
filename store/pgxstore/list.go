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

// The totals of lists are counted up to here, so that a page takes as long on a
// large database as on a small one. Redemptions are counted in an index, and
// searched coupons one by one.
const (
	maxCountedRedemptions = 10_000
	maxCountedCoupons     = store.ExactTotal
)

// newest orders the rows and takes the first of them; one entry more than the page
// has tells whether there is a next one. The bound is written out: for one that it
// does not know, PostgreSQL plans as if a tenth of the table were wanted.
func newest(row string, most int) string {
	return fmt.Sprintf(" ORDER BY %s.created_at DESC, %s.id DESC LIMIT %d", row, row, most)
}

// total returns a counted number, and whether there are more than the most that are
// counted.
func total(counted, most int64) (n int64, atLeast bool) { return min(counted, most), counted > most }

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
	if !storable(list.Search) || strings.Contains(list.Search, fieldSeparator) {
		return store.CouponPage{}, new(filter).after("c", list.After) // what is no cursor is refused all the same
	}
	var page store.CouponPage
	err = s.snapshot(ctx, func(on session) error {
		page = store.CouponPage{}
		statements, err := s.couponList(ctx, on, list)
		if err != nil {
			return err
		}
		var counted int64
		if err := queryRowOn(ctx, on, statements.mode, statements.count, []any{&counted}, statements.counted...); err != nil {
			return err
		}
		if page.Total = counted; list.Search != "" {
			page.Total, page.AtLeast = total(counted, maxCountedCoupons)
		}
		return queryOn(ctx, on, statements.mode, statements.page, func(rows pgx.Rows) error {
			c, err := scanCoupon(rows)
			page.Items = append(page.Items, c)
			return err
		}, statements.paged...)
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

// listStatements count and read a page.
type listStatements struct {
	mode           pgx.QueryExecMode
	count, page    string
	counted, paged []any
}

// couponList returns the statements of a list of coupons.
func (s *Store) couponList(ctx context.Context, on session, list store.CouponList) (listStatements, error) {
	l := listStatements{mode: s.mode, count: `SELECT coalesce(sum(t.coupons), 0)::bigint FROM {couponkit_totals} t`}
	var f filter
	if list.Search != "" {
		text := store.Fold(list.Search)
		part, err := s.lookFor(ctx, on, text)
		if err != nil {
			return listStatements{}, err
		}
		f.addSearch(text, part)
		l.mode = s.searchMode()
		l.count = `SELECT count(*) FROM (SELECT FROM {coupons} c` + f.where() + newest("c", maxCountedCoupons+1) + `) f`
		l.counted = slices.Clone(f.arguments)
	}
	if err := f.after("c", list.After); err != nil {
		return listStatements{}, err
	}
	rows := `SELECT c.* FROM {coupons} c` + f.where() + newest("c", list.PageSize+1)
	if list.After == "" && list.Page > 1 {
		f.arguments = append(f.arguments, (list.Page-1)*list.PageSize)
		rows += fmt.Sprintf(" OFFSET $%d", len(f.arguments))
	}
	l.count = s.names.expand(l.count)
	l.page = s.names.expand(`SELECT ` + couponColumns + `, NULL::text[] FROM (` + rows + `) c ` + couponCounts +
		` ORDER BY c.created_at DESC, c.id DESC`)
	l.paged = f.arguments
	return l, nil
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
	statements, err := s.redemptionList(list)
	if err != nil || !storable(list.CouponID, list.CustomerID) {
		return store.RedemptionPage{}, err
	}
	var page store.RedemptionPage
	err = s.snapshot(ctx, func(on session) (err error) {
		var counted int64
		if err := queryRowOn(ctx, on, statements.mode, statements.count, []any{&counted}, statements.counted...); err != nil {
			return err
		}
		page.Total, page.AtLeast = total(counted, maxCountedRedemptions)
		page.Items, err = s.redemptionsOn(ctx, on, statements.page, statements.paged...)
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

// redemptionList returns the statements of a list of redemptions. The records of a
// customer are few. All others are found in the order of the list: the indexes have
// the state first, and the beginnings of its lists are put together.
func (s *Store) redemptionList(list store.RedemptionList) (listStatements, error) {
	const every = maxCountedRedemptions + 1
	var f filter
	source, rest := `{coupon_redemptions} r`, ``
	if list.CustomerID != "" {
		f.add("r.customer_id = ?", list.CustomerID)
		if list.State != 0 {
			f.add("r.state = ?", list.State.String())
		}
	} else {
		f.arguments = []any{states(list.State)}
		f.add("r.state = s.state")
		source, rest = `unnest($1::text[]) AS s (state) CROSS JOIN LATERAL (SELECT r.* FROM {coupon_redemptions} r`, `) r`
	}
	if list.CouponID != "" {
		f.add("r.coupon_id = ?", list.CouponID)
	}
	l := listStatements{mode: s.mode, counted: slices.Clone(f.arguments)}
	limit := fmt.Sprintf(" LIMIT %d", every)
	l.count = `SELECT count(*) FROM (SELECT FROM ` + source + f.where()
	if rest != "" {
		l.count += limit + rest
	}
	l.count = s.names.expand(l.count + limit + `) f`)
	if err := f.after("r", list.After); err != nil {
		return listStatements{}, err
	}
	l.page = `SELECT ` + columnsOf("r", redemptionColumns) + ` FROM ` + source + f.where()
	if rest != "" {
		l.page += newest("r", list.PageSize+1) + rest
	}
	l.page = s.names.expand(l.page + newest("r", list.PageSize+1))
	l.paged = f.arguments
	return l, nil
}

// states are the names of one state, or of all.
func states(only redemption.State) []string {
	if only != 0 {
		return []string{only.String()}
	}
	return []string{redemption.Reserved.String(), redemption.Completed.String(), redemption.Released.String()}
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
