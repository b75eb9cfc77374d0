package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/internal/sqlparts"
)

// following narrows a list to what follows a cursor. Oldest lists begin with the oldest record.
func following(all sqlparts.Conditions, after, alias string, oldest bool) (sqlparts.Conditions, error) {
	if after == "" {
		return all, nil
	}
	cursor, err := store.ParseCursor(after)
	if err != nil {
		return all, err
	}
	sign := "<"
	if oldest {
		sign = ">"
	}
	at := cursor.CreatedAt.UnixMicro()
	all.And(alias+".created_at "+sign+"= ?", at)
	all.And("("+alias+".created_at "+sign+" ? OR "+alias+".id "+sign+" ?)", at, cursor.ID)
	return all, nil
}

// order is the end of a list's statement. What is due is few, and found by the deadline:
// it is sorted, and no index is asked for the order.
func order(alias string, oldest bool) string {
	if oldest {
		return " ORDER BY " + alias + ".created_at + 0, " + alias + ".id LIMIT ?"
	}
	return " ORDER BY " + alias + ".created_at DESC, " + alias + ".id DESC LIMIT ?"
}

// found is a page of a list.
type found[R any] struct {
	Items   []R
	Total   int64
	AtLeast bool
	Next    string
}

// paged reads a page. The function reads one record more than the page has, and counts.
func paged[R coupon.Coupon | store.Settled | redemption.Use](
	ctx context.Context, s *Store, what string, size int, read func(context.Context, *session, *found[R]) error,
) (page found[R], err error) {
	err = s.view(ctx, what, func(ctx context.Context, t *session) error {
		page = found[R]{}
		err := read(ctx, t, &page)
		page.Items, page.Next = store.Cut(page.Items, size)
		return err
	})
	return answered(page, err)
}

// maxCounted is up to where rows are counted that an index has.
const maxCounted = 10 * store.ExactTotal

// total counts rows, and reports whether there are more than the most.
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
		all.And("INSTR(c.search, ?) > 0", store.Fold(list.Search))
	}
	all.Coupons(list)
	some, err := following(all, list.After, "c", false)
	if err != nil {
		return store.CouponPage{}, err
	}
	page, err := paged(ctx, s, "list coupons", list.PageSize, func(ctx context.Context, t *session, page *found[coupon.Coupon]) (err error) {
		if all.Empty() {
			page.Total, err = t.number(ctx, "SELECT COUNT(*) FROM {coupons}")
		} else {
			page.Total, page.AtLeast, err = t.total(ctx, "{coupons} c", all, store.ExactTotal)
		}
		if err == nil {
			page.Items, err = t.listed(ctx, "SELECT "+of("c", couponColumns)+" FROM {coupons} c"+some.Where()+order("c", false)+" OFFSET ?",
				append(some.Args, int64(list.PageSize+1), int64(list.Page-1)*int64(list.PageSize))...)
		}
		return err
	})
	return store.CouponPage(page), err
}

// listed reads coupons with their counts.
func (s *session) listed(ctx context.Context, statement string, args ...any) (items []coupon.Coupon, err error) {
	if err := s.each(ctx, statement, func(rows *sql.Rows) error {
		row, err := scanCoupon(rows)
		items = append(items, row.Coupon)
		return err
	}, args...); err != nil {
		return nil, err
	}
	counts, err := s.counts(ctx, each(items, func(c coupon.Coupon) string { return redemption.CouponUses(c.ID) }))
	for i := range items {
		setCounts(&items[i], counts[i])
	}
	return items, err
}

// ListOrders implements [store.Orders].
func (s *Store) ListOrders(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.OrderPage{}, err
	}
	var all sqlparts.Conditions
	all.Equal("o.customer_id", list.CustomerID)
	all.Equal("o.state", list.State.String())
	all.Period("o.created_at", list.Created)
	oldest := !list.DueAt.IsZero()
	if oldest {
		all.And("o.deadline <= ?", coupon.Instant(list.DueAt).UnixMicro())
	}
	some, err := following(all, list.After, "o", oldest)
	if err != nil {
		return store.OrderPage{}, err
	}
	page, err := paged(ctx, s, "list orders", list.PageSize, func(ctx context.Context, t *session, page *found[store.Settled]) (err error) {
		page.Items, err = t.orders(ctx, "SELECT "+of("o", orderColumns)+" FROM {orders} o"+some.Where()+order("o", oldest),
			append(some.Args, int64(list.PageSize+1))...)
		return err
	})
	return store.OrderPage{Items: page.Items, Next: page.Next}, err
}

// dueUses finds each kind by an index of its own. What is to be refunded is reserved no more.
const dueUses = `(SELECT id FROM {uses} WHERE deadline <= ? AND state = 'reserved' AND order_id IS NULL
	UNION ALL SELECT id FROM {uses} WHERE points_state = 'refund_due') due JOIN {uses} u ON u.id = due.id`

// usesOfCustomer finds uses on SQLite, which has no index of them by customer: those of the
// customer's orders, and points reservations without an order.
const usesOfCustomer = `(SELECT x.id FROM {orders} o JOIN {uses} x ON x.order_id = o.id WHERE o.customer_id = ?
	UNION ALL SELECT id FROM {uses} WHERE customer_id = ? AND exchange_id IS NOT NULL AND order_id IS NULL
	) mine JOIN {uses} u ON u.id = mine.id`

// ListUses implements [store.Orders].
func (s *Store) ListUses(ctx context.Context, list store.UseList) (store.UsePage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.UsePage{}, err
	}
	from, oldest := "{uses} u", !list.DueAt.IsZero()
	var all sqlparts.Conditions
	switch {
	case oldest:
		from, all.Args = dueUses, []any{coupon.Instant(list.DueAt).UnixMicro()}
	case findable(list.CustomerID) && s.grammar.dialect == SQLite:
		from, all.Args = usesOfCustomer, []any{list.CustomerID, list.CustomerID}
	}
	all.Equal("u.coupon_id", list.CouponID)
	all.Equal("u.customer_id", list.CustomerID)
	all.Equal("u.idempotency_key", list.Key)
	all.Equal("u.exchange_id", list.ExchangeID)
	all.Equal("u.state", list.State.String())
	some, err := following(all, list.After, "u", oldest)
	if err != nil {
		return store.UsePage{}, err
	}
	page, err := paged(ctx, s, "list uses", list.PageSize, func(ctx context.Context, t *session, page *found[redemption.Use]) (err error) {
		if page.Total, page.AtLeast, err = t.total(ctx, from, all, maxCounted); err == nil {
			page.Items, err = t.uses(ctx, "SELECT "+of("u", useColumns)+" FROM "+from+some.Where()+order("u", oldest),
				append(some.Args, int64(list.PageSize+1))...)
		}
		return err
	})
	return store.UsePage(page), err
}
