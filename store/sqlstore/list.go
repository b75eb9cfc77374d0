package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/store/internal/sqlparts"
)

// sequence is the order of a list: newest first or oldest first.
type sequence struct {
	created, id string // names of the columns
	oldest      bool
}

func newest(alias string) sequence {
	return sequence{created: alias + ".created_at", id: alias + ".id"}
}

// sorted returns the sequence with an expression that no index has. It is for short lists. Otherwise
// SQLite uses an index with the order, and not the index that finds the few rows.
func (q sequence) sorted() sequence {
	q.created += " + 0"
	return q
}

// due returns the sequence of due records, oldest first. The deadline's index finds the records.
func (q sequence) due() sequence {
	q.oldest = true
	return q.sorted()
}

// following restricts a list to the records after a cursor.
func (q sequence) following(all sqlparts.Conditions, after string) (sqlparts.Conditions, error) {
	if after == "" {
		return all, nil
	}
	cursor, err := store.ParseCursor(after)
	if err != nil {
		return all, err
	}
	sign := "<"
	if q.oldest {
		sign = ">"
	}
	at := cursor.CreatedAt.UnixMicro()
	all.And(q.created+" "+sign+"= ?", at)
	all.And("("+q.created+" "+sign+" ? OR "+q.id+" "+sign+" ?)", at, cursor.ID)
	return all, nil
}

// order returns the ORDER BY and LIMIT of a list's statement.
func (q sequence) order() string {
	if q.oldest {
		return " ORDER BY " + q.created + ", " + q.id + " LIMIT ?"
	}
	return " ORDER BY " + q.created + " DESC, " + q.id + " DESC LIMIT ?"
}

// found is a page of a list.
type found[R any] struct {
	Items      []R
	Unreadable []*store.UnreadableError
	Total      int64
	AtLeast    bool
	Next       string
}

// paged reads a page. The function read returns one record more than the page has, and the total.
func paged[R coupon.Coupon | store.Settled | redemption.Use](
	ctx context.Context, s *Store, what string, size int, read func(context.Context, *session, *found[R]) (engine.List[R], error),
) (page found[R], err error) {
	err = s.view(ctx, what, func(ctx context.Context, t *session) error {
		page = found[R]{}
		list, err := read(ctx, t, &page)
		page.Items, page.Unreadable, page.Next = list.Page(size)
		return err
	})
	return answered(page, err)
}

// maxCounted is the maximum count of rows in a filter that an index covers.
const maxCounted = 10 * store.ExactTotal

// total counts rows up to most, and reports whether there are more.
func (s *session) total(ctx context.Context, from string, all sqlparts.Conditions, most int64) (n int64, atLeast bool, err error) {
	n, err = s.number(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+from+all.Where()+" LIMIT ?) counted", append(slices.Clone(all.Args), most+1)...)
	return min(n, most), n > most, err
}

// ListCoupons implements [store.Coupons].
func (s *Store) ListCoupons(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.CouponPage{}, err
	}
	var all sqlparts.Conditions
	if list.Search != "" {
		all.And("(INSTR(c.search, ?) > 0 OR c.id = (SELECT k.coupon_id FROM {codes} k WHERE k.live = 1 AND k.code_key = ?))",
			store.Fold(list.Search), list.Code().String())
	}
	all.Coupons(list)
	q := newest("c")
	some, err := q.following(all, list.After)
	if err != nil {
		return store.CouponPage{}, err
	}
	page, err := paged(ctx, s, "list coupons", list.PageSize, func(ctx context.Context, t *session, page *found[coupon.Coupon]) (items engine.List[coupon.Coupon], err error) {
		if all.Empty() {
			page.Total, err = t.number(ctx, "SELECT COUNT(*) FROM {coupons}")
		} else {
			page.Total, page.AtLeast, err = t.total(ctx, "{coupons} c", all, store.ExactTotal)
		}
		if err == nil {
			items, err = t.listed(ctx, "SELECT "+of("c", couponColumns)+" FROM {coupons} c"+some.Where()+q.order()+" OFFSET ?",
				append(some.Args, int64(list.PageSize+1), int64(list.Page-1)*int64(list.PageSize))...)
		}
		return items, err
	})
	return store.CouponPage(page), err
}

// listed reads coupons with their counts.
func (s *session) listed(ctx context.Context, statement string, args ...any) (items engine.List[coupon.Coupon], err error) {
	if err := s.each(ctx, statement, func(rows *sql.Rows) error {
		row, err := scanCoupon(rows)
		return items.Add(row.Coupon, err)
	}, args...); err != nil {
		return items, err
	}
	counts, err := s.counts(ctx, each(items.Records, func(c coupon.Coupon) string { return eligibility.CouponUses(c.ID) }))
	for i := range items.Records {
		setCounts(&items.Records[i], counts[i])
	}
	return items, err
}

// ListOrders implements [store.Orders].
func (s *Store) ListOrders(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.OrderPage{}, err
	}
	page, err := paged(ctx, s, "list orders", list.PageSize, func(ctx context.Context, t *session, _ *found[store.Settled]) (engine.List[store.Settled], error) {
		return t.listOrders(ctx, list)
	})
	return store.OrderPage{Items: page.Items, Unreadable: page.Unreadable, Next: page.Next}, err
}

// listOrders reads the orders of a normalized list. It reads one order more than the page has.
func (s *session) listOrders(ctx context.Context, list store.OrderList) (none engine.List[store.Settled], err error) {
	var all sqlparts.Conditions
	all.Equal("o.customer_id", list.CustomerID)
	all.Equal("o.state", list.State.String())
	all.Period("o.created_at", list.Created)
	q := newest("o")
	if !list.DueAt.IsZero() {
		q = q.due()
		all.And("o.deadline <= ?", calendar.Instant(list.DueAt).UnixMicro())
	}
	some, err := q.following(all, list.After)
	if err != nil {
		return none, err
	}
	return s.orders(ctx, "SELECT "+of("o", orderColumns)+" FROM {orders} o"+some.Where()+q.order(),
		append(some.Args, int64(list.PageSize+1))...)
}

// dueUses finds each kind of due use with its own index. A use with points to refund is no longer
// reserved, so no use is found twice. CROSS JOIN makes SQLite begin with the due uses.
const dueUses = `(SELECT id FROM {uses} WHERE deadline <= ? AND state = 'reserved' AND order_id IS NULL
	UNION ALL SELECT id FROM {uses} WHERE points_state = 'refund_due') due CROSS JOIN {uses} u ON u.id = due.id`

// ListUses implements [store.Orders].
func (s *Store) ListUses(ctx context.Context, list store.UseList) (store.UsePage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.UsePage{}, err
	}
	from, q := "{uses} u", newest("u")
	var all sqlparts.Conditions
	switch {
	case !list.DueAt.IsZero():
		from, q, all.Args = dueUses, q.due(), []any{calendar.Instant(list.DueAt).UnixMicro()}
	case findable(list.CustomerID) && s.grammar.dialect == SQLite: // a customer has fewer uses than a coupon
		q = q.sorted()
	}
	all.Equal("u.coupon_id", list.CouponID)
	all.Equal("u.customer_id", list.CustomerID)
	all.Equal("u.idempotency_key", list.Key)
	all.Equal("u.exchange_id", list.ExchangeID)
	all.Equal("u.state", list.State.String())
	some, err := q.following(all, list.After)
	if err != nil {
		return store.UsePage{}, err
	}
	page, err := paged(ctx, s, "list uses", list.PageSize, func(ctx context.Context, t *session, page *found[redemption.Use]) (items engine.List[redemption.Use], err error) {
		if page.Total, page.AtLeast, err = t.total(ctx, from, all, maxCounted); err == nil {
			err = t.each(ctx, "SELECT "+of("u", useColumns)+" FROM "+from+some.Where()+q.order(),
				func(rows *sql.Rows) error { return items.Add(scanUse(rows)) }, append(some.Args, int64(list.PageSize+1))...)
		}
		return items, err
	})
	return store.UsePage(page), err
}
