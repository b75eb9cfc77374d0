package pgxstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/store/internal/sqlparts"
)

// Order implements [store.Orders] in one round trip.
func (s *Store) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	for _, text := range [...]string{by.ID, by.SessionID, by.CustomerID, by.Key} {
		if !store.IsText(text) {
			return store.Settled{}, store.ErrNotFound
		}
	}
	condition, arguments := "o.customer_id = $1 AND o.key = $2", []any{by.CustomerID, by.Key}
	switch {
	case by.ID != "":
		condition, arguments = "o.id = $1", []any{by.ID}
	case by.SessionID != "":
		condition, arguments = "o.session_id = $1 AND o.session_id <> ''", []any{by.SessionID}
	}
	statement := s.sql.name("read an order", `SELECT `+settledList+` FROM {orders} o`+withUses+` WHERE `+condition+byUse)
	found, err := s.readOrders(ctx, "read an order", statement, arguments...)
	if err != nil {
		return store.Settled{}, err
	}
	return found.First()
}

// readOrders reads orders with their uses in one round trip.
func (s *Store) readOrders(ctx context.Context, what, statement string, arguments ...any) (found engine.List[store.Settled], err error) {
	err = s.read(ctx, func() *pgx.Batch {
		found = engine.List[store.Settled]{}
		b := new(pgx.Batch)
		queue(b, scanSettled(&found), statement, arguments...)
		return b
	})
	return found, wrap(what, err)
}

// readAll reads the rows of one statement in one round trip.
func readAll[T any](
	ctx context.Context, s *Store, what string, scan func(into *[]T) func(pgx.Rows) error, statement string, arguments ...any,
) ([]T, error) {
	var items []T
	err := s.read(ctx, func() *pgx.Batch {
		items = nil
		b := new(pgx.Batch)
		queue(b, scan(&items), statement, arguments...)
		return b
	})
	if err != nil {
		return nil, wrap(what, err)
	}
	return items, nil
}

// settledList and withUses select orders o with their uses u in one statement. Two statements could
// return the order before a change and its uses after the change.
const (
	settledList = orderList + `, ` + useList
	withUses    = ` LEFT JOIN LATERAL (SELECT * FROM {uses} u WHERE u.order_id = o.id AND u.order_id <> '' OFFSET 0) u ON true`
	byUse       = ` ORDER BY u.coupon_id, u.id`
)

// Counts implements [store.Counters] in one round trip.
func (s *Store) Counts(ctx context.Context, counters []string) ([]eligibility.Count, error) {
	found := map[string]eligibility.Count{}
	text := slices.DeleteFunc(slices.Clone(counters), func(key string) bool { return !store.IsText(key) })
	err := s.read(ctx, func() *pgx.Batch {
		b := new(pgx.Batch)
		queue(b, scanCount(found), s.sql.counts, text)
		return b
	})
	if err != nil {
		return nil, wrap("read counters", err)
	}
	return each(counters, func(key string) eligibility.Count { return found[key] }), nil
}

// list describes a page to read.
type list struct {
	sqlparts.Conditions

	from    string // table and its alias
	joined  string // joins for the rows of the page
	columns string
	alias   string
	states  []string // conditions on the state: each has an index, and the pages are merged
	oldest  bool
	size    int
	offset  int
}

// after restricts the list to the records after a cursor.
func (l *list) after(cursor string) error {
	if cursor == "" {
		return nil
	}
	at, err := store.ParseCursor(cursor)
	if err != nil {
		return err
	}
	sign := "<"
	if l.oldest {
		sign = ">"
	}
	l.And(fmt.Sprintf("(%s.created_at, %s.id) %s (?, ?)", l.alias, l.alias, sign), micros(at.CreatedAt), at.ID)
	return nil
}

// rows returns a SELECT of the first rows of the list.
func (l *list) rows(columns string, most int) string {
	order := l.order() + fmt.Sprintf(" LIMIT %d", most)
	one := func(more ...string) string {
		return "SELECT " + columns + " FROM " + l.from + numbered(l.Where(more...)) + order
	}
	if len(l.states) == 0 {
		return one()
	}
	parts := each(l.states, func(state string) string { return "(" + one(l.alias+".state "+state) + ")" })
	return "SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") " + l.alias + order
}

// count returns a SELECT that counts the rows, up to the limit of exact totals plus one.
func (l *list) count() string {
	const most = store.ExactTotal + 1
	return "SELECT count(*) FROM (" + l.rows(l.alias+".created_at, "+l.alias+".id", most) + ") counted"
}

// page returns a SELECT of the page and one more row.
func (l *list) page() string {
	rows := l.rows(l.alias+".*", l.offset+l.size+1)
	return "SELECT " + l.columns + " FROM (" + rows + fmt.Sprintf(" OFFSET %d", l.offset) + ") " + l.alias + l.joined + l.order()
}

func (l *list) order() string {
	text := fmt.Sprintf(" ORDER BY %s.created_at DESC, %s.id DESC", l.alias, l.alias)
	if l.oldest {
		text = strings.ReplaceAll(text, "DESC", "ASC")
	}
	return text
}

// page is a page of a list with its total, like [store.CouponPage] and [store.UsePage].
type page[T any] struct {
	Items      []T
	Unreadable []*store.UnreadableError
	Total      int64
	AtLeast    bool
	Next       string
}

// readPage counts a list and reads the page after a cursor, in one round trip.
func readPage[T coupon.Coupon | redemption.Use](
	ctx context.Context, s *Store, what string, l list, after string, scan func(pgx.Rows) (T, error),
) (p page[T], err error) {
	count, arguments := l.count(), l.Args // take these before the cursor is added: the total does not depend on the page
	if err := l.after(after); err != nil {
		return p, err
	}
	var found engine.List[T]
	err = s.read(ctx, func() *pgx.Batch {
		p, found = page[T]{}, engine.List[T]{}
		b := new(pgx.Batch)
		queue(b, func(row pgx.Rows) error { return row.Scan(&p.Total) }, s.sql.name("count "+what, count), arguments...)
		queue(b, func(row pgx.Rows) error { return found.Add(scan(row)) }, s.sql.name("list "+what, l.page()), l.Args...)
		return b
	})
	if err != nil {
		return page[T]{}, wrap("list "+what, err)
	}
	p.Total, p.AtLeast = min(p.Total, store.ExactTotal), p.Total > store.ExactTotal
	p.Items, p.Unreadable, p.Next = found.Page(l.size)
	return p, nil
}

// ListCoupons implements [store.Coupons] in one round trip.
func (s *Store) ListCoupons(ctx context.Context, asked store.CouponList) (store.CouponPage, error) {
	asked, err := asked.Normalize()
	if err != nil {
		return store.CouponPage{}, err
	}
	l := list{from: "{coupons} c", joined: couponCounts, columns: couponList + `, k.reserved, k.completed`, alias: "c", size: asked.PageSize, offset: (asked.Page - 1) * asked.PageSize}
	if asked.Search != "" {
		l.And(`(c.search LIKE ? OR c.id = (SELECT k.coupon_id FROM {codes} k WHERE k.code_key = ? AND k.live))`,
			likePattern(asked.Search), asked.Code().String())
	}
	l.Coupons(asked)
	found, err := readPage(ctx, s, "coupons", l, asked.After, func(row pgx.Rows) (c coupon.Coupon, err error) {
		err = new(couponRow).counted(row, &c)
		return c, err
	})
	return store.CouponPage(found), err
}

// likePattern returns a pattern for LIKE that finds text anywhere. Every character of text is literal.
func likePattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(store.Fold(text)) + "%"
}

// Ended orders that are due have their own index.
var (
	allOrderStates = []string{"= 'open'", "= 'awaiting_payment'", "= 'paid'", "= 'cancelled'", "= 'partly_refunded'", "= 'refunded'", "= 'ending'"}
	dueOrderStates = []string{"= 'open'", "= 'awaiting_payment'", "= 'ending'", "IN ('paid', 'cancelled', 'partly_refunded', 'refunded')"}
	allUseStates   = []string{"= 'reserved'", "= 'completed'", "= 'released'"}
)

func inState[S fmt.Stringer](state S) []string { return []string{"= '" + state.String() + "'"} }

// ListOrders implements [store.Orders] in one round trip.
func (s *Store) ListOrders(ctx context.Context, asked store.OrderList) (store.OrderPage, error) {
	asked, err := asked.Normalize()
	if err != nil {
		return store.OrderPage{}, err
	}
	statement, arguments, err := s.orderList(asked)
	if err != nil {
		return store.OrderPage{}, err
	}
	found, err := s.readOrders(ctx, "list orders", statement, arguments...)
	if err != nil {
		return store.OrderPage{}, err
	}
	var page store.OrderPage
	page.Items, page.Unreadable, page.Next = found.Page(asked.PageSize)
	return page, nil
}

// orderList returns the statement and the arguments for a normalized list.
func (s *Store) orderList(asked store.OrderList) (statement string, arguments []any, err error) {
	l := list{from: "{orders} o", joined: withUses, columns: settledList, alias: "o", size: asked.PageSize, states: allOrderStates}
	if !asked.DueAt.IsZero() {
		l.oldest, l.states = true, dueOrderStates
		l.And("o.deadline <= ? AND o.deadline > -62135596800000000", micros(asked.DueAt))
	}
	switch {
	case asked.State != 0:
		l.states = inState(asked.State)
	case asked.CustomerID != "" && asked.DueAt.IsZero():
		l.states = nil // a customer has few orders
	}
	l.Equal("o.customer_id", asked.CustomerID)
	l.Period("o.created_at", asked.Created)
	if err := l.after(asked.After); err != nil {
		return "", nil, err
	}
	return s.sql.name("list orders", l.page()+strings.Replace(byUse, " ORDER BY", ",", 1)), l.Args, nil
}

// ListUses implements [store.Orders] in one round trip.
func (s *Store) ListUses(ctx context.Context, asked store.UseList) (store.UsePage, error) {
	asked, err := asked.Normalize()
	if err != nil {
		return store.UsePage{}, err
	}
	l := list{from: "{uses} u", columns: useList, alias: "u", size: asked.PageSize}
	few := asked.CustomerID != "" || asked.Key != "" || asked.ExchangeID != ""
	switch {
	case !asked.DueAt.IsZero():
		l.oldest = true
		l.And(`(u.points_state = 'refund_due' OR u.state = 'reserved' AND u.order_id = '' AND u.deadline > -62135596800000000)`)
		l.And("(u.points_state = 'refund_due' OR u.deadline <= ?)", micros(asked.DueAt))
		l.Equal("u.state", asked.State.String())
	case asked.State != 0:
		l.states = inState(asked.State)
	case !few:
		l.states = allUseStates
	}
	l.Equal("u.customer_id", asked.CustomerID)
	l.Equal("u.coupon_id", asked.CouponID)
	l.Equal("u.key", asked.Key)
	if asked.ExchangeID != "" {
		l.Equal("u.exchange_id", asked.ExchangeID)
		l.And("u.exchange_id <> ''")
	}
	found, err := readPage(ctx, s, "uses", l, asked.After, scanUse)
	return store.UsePage(found), err
}
