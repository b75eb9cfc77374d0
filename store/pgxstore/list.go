package pgxstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
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
	var found []store.Settled
	err := s.read(ctx, func() *pgx.Batch {
		found = nil
		b := new(pgx.Batch)
		queue(b, scanSettled(&found), s.sql.name("read an order", `SELECT `+settledList+` FROM {orders} o`+withUses+` WHERE `+condition+byUse), arguments...)
		return b
	})
	switch {
	case err != nil:
		return store.Settled{}, wrap("read an order", err)
	case len(found) == 0:
		return store.Settled{}, store.ErrNotFound
	}
	return found[0], nil
}

// settledList and withUses select orders o with their uses u in one statement: two could see
// the order before a change and its uses after it.
const (
	settledList = orderList + `, ` + useList
	withUses    = ` LEFT JOIN LATERAL (SELECT * FROM {uses} u WHERE u.order_id = o.id AND u.order_id <> '' OFFSET 0) u ON true`
	byUse       = ` ORDER BY u.coupon_id, u.id`
)

// Counts implements [store.Counters] in one round trip.
func (s *Store) Counts(ctx context.Context, counters []string) ([]redemption.Count, error) {
	found := map[string]redemption.Count{}
	text := slices.DeleteFunc(slices.Clone(counters), func(key string) bool { return !store.IsText(key) })
	err := s.read(ctx, func() *pgx.Batch {
		b := new(pgx.Batch)
		queue(b, scanCount(found), s.sql.counts, text)
		return b
	})
	if err != nil {
		return nil, wrap("read counters", err)
	}
	return each(counters, func(key string) redemption.Count { return found[key] }), nil
}

// list is a page that is asked for.
type list struct {
	from       string // table and alias
	joined     string // to the rows of the page
	columns    string
	alias      string
	conditions []string
	arguments  []any
	states     []string // an index has them first: the pages of each are merged
	oldest     bool
	size       int
	offset     int
}

func (l *list) where(condition string, arguments ...any) {
	for _, argument := range arguments {
		l.arguments = append(l.arguments, argument)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(l.arguments)), 1)
	}
	l.conditions = append(l.conditions, condition)
}

func (l *list) narrow(conditions []engine.Condition) {
	for _, c := range conditions {
		l.where(c.SQL, c.Args...)
	}
}

// usesOfCoupon is the number of completed and reserved uses of a coupon c.
const usesOfCoupon = `(SELECT coalesce(sum(k.reserved + k.completed), 0) FROM {counters} k WHERE k.counter = c.uses_counter)`

func (l *list) whereText(column, text string) {
	if text == "" {
		return
	}
	if !store.IsText(text) { // nothing has such text
		l.where("false")
		return
	}
	l.where(l.alias+"."+column+" = ?", text)
}

// after narrows the list to what follows a cursor.
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
	l.where(fmt.Sprintf("(%s.created_at, %s.id) %s (?, ?)", l.alias, l.alias, sign), micros(at.CreatedAt), at.ID)
	return nil
}

// rows is a SELECT of the first rows of the list.
func (l *list) rows(columns string, most int) string {
	order := l.order() + fmt.Sprintf(" LIMIT %d", most)
	one := func(more ...string) string {
		text := "SELECT " + columns + " FROM " + l.from
		if all := append(slices.Clone(l.conditions), more...); len(all) > 0 {
			text += " WHERE " + strings.Join(all, " AND ")
		}
		return text + order
	}
	if len(l.states) == 0 {
		return one()
	}
	parts := each(l.states, func(state string) string { return "(" + one(l.alias+".state = '"+state+"'") + ")" })
	return "SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") " + l.alias + order
}

// count is a SELECT that counts the rows as far as totals are exact, and one more.
func (l *list) count() string {
	const most = store.ExactTotal + 1
	return "SELECT count(*) FROM (" + l.rows(l.alias+".created_at, "+l.alias+".id", most) + ") counted"
}

// page is a SELECT of the page and one row more.
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

func total(counted int64) (n int64, atLeast bool) {
	return min(counted, store.ExactTotal), counted > store.ExactTotal
}

// ListCoupons implements [store.Coupons] in one round trip.
func (s *Store) ListCoupons(ctx context.Context, asked store.CouponList) (store.CouponPage, error) {
	asked, err := asked.Normalize()
	if err != nil {
		return store.CouponPage{}, err
	}
	l := list{from: "{coupons} c", joined: couponCounts, columns: couponList, alias: "c", size: asked.PageSize}
	if asked.Search != "" {
		l.where(`c.search LIKE ?`, likePattern(asked.Search))
	}
	l.narrow(engine.CouponConditions(asked, usesOfCoupon))
	counted := l // the total does not depend on the page
	if err := l.after(asked.After); err != nil {
		return store.CouponPage{}, err
	}
	if asked.After == "" {
		l.offset = (asked.Page - 1) * asked.PageSize
	}
	var page store.CouponPage
	var n int64
	err = s.read(ctx, func() *pgx.Batch {
		page = store.CouponPage{}
		b := new(pgx.Batch)
		queue(b, func(row pgx.Rows) error { return row.Scan(&n) }, s.sql.name("count coupons", counted.count()), counted.arguments...)
		queue(b, func(row pgx.Rows) error {
			var c coupon.Coupon
			err := scanCoupon(&c, new(int64), new(bool))(row)
			page.Items = append(page.Items, c)
			return err
		}, s.sql.name("list coupons", l.page()), l.arguments...)
		return b
	})
	if err != nil {
		return store.CouponPage{}, wrap("list coupons", err)
	}
	page.Total, page.AtLeast = total(n)
	page.Items, page.Next = store.Cut(page.Items, l.size)
	return page, nil
}

// likePattern finds text anywhere and means every character literally.
func likePattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(store.Fold(text)) + "%"
}

var (
	allOrderStates = []string{"open", "awaiting_payment", "paid", "cancelled", "partly_refunded", "refunded"}
	dueOrderStates = []string{"open", "awaiting_payment", "partly_refunded", "refunded"}
	allUseStates   = []string{"reserved", "completed", "released"}
)

// ListOrders implements [store.Orders] in one round trip.
func (s *Store) ListOrders(ctx context.Context, asked store.OrderList) (store.OrderPage, error) {
	asked, err := asked.Normalize()
	if err != nil {
		return store.OrderPage{}, err
	}
	l := list{from: "{orders} o", joined: withUses, columns: settledList, alias: "o", size: asked.PageSize, states: allOrderStates}
	if !asked.DueAt.IsZero() {
		l.oldest, l.states = true, dueOrderStates
		l.where("o.deadline <= ? AND o.deadline > -62135596800000000", micros(asked.DueAt))
	}
	switch {
	case asked.State != 0 && slices.Contains(l.states, asked.State.String()):
		l.states = []string{asked.State.String()}
	case asked.State != 0:
		l.where("false")
	case asked.CustomerID != "" && asked.DueAt.IsZero():
		l.states = nil // the orders of a customer are few
	}
	l.whereText("customer_id", asked.CustomerID)
	l.narrow(engine.OrderConditions(asked))
	if err := l.after(asked.After); err != nil {
		return store.OrderPage{}, err
	}
	var found []store.Settled
	err = s.read(ctx, func() *pgx.Batch {
		found = nil
		b := new(pgx.Batch)
		queue(b, scanSettled(&found), s.sql.name("list orders", l.page()+strings.Replace(byUse, " ORDER BY", ",", 1)), l.arguments...)
		return b
	})
	if err != nil {
		return store.OrderPage{}, wrap("list orders", err)
	}
	var page store.OrderPage
	page.Items, page.Next = store.Cut(found, l.size)
	return page, nil
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
		l.where(`(u.points_state = 'refund_due' OR u.state = 'reserved' AND u.order_id = '' AND u.deadline > -62135596800000000)`)
		l.where("(u.points_state = 'refund_due' OR u.deadline <= ?)", micros(asked.DueAt))
		l.whereText("state", asked.State.String())
	case asked.State != 0:
		l.states = []string{asked.State.String()}
	case !few:
		l.states = allUseStates
	}
	l.whereText("customer_id", asked.CustomerID)
	l.whereText("coupon_id", asked.CouponID)
	l.whereText("key", asked.Key)
	if asked.ExchangeID != "" {
		l.whereText("exchange_id", asked.ExchangeID)
		l.where("u.exchange_id <> ''")
	}
	counted := l
	counted.conditions = slices.Clone(l.conditions)
	if err := l.after(asked.After); err != nil {
		return store.UsePage{}, err
	}
	var page store.UsePage
	var n int64
	err = s.read(ctx, func() *pgx.Batch {
		page = store.UsePage{}
		b := new(pgx.Batch)
		queue(b, func(row pgx.Rows) error { return row.Scan(&n) }, s.sql.name("count uses", counted.count()), counted.arguments...)
		queue(b, collect(&page.Items, scanUse), s.sql.name("list uses", l.page()), l.arguments...)
		return b
	})
	if err != nil {
		return store.UsePage{}, wrap("list uses", err)
	}
	page.Total, page.AtLeast = total(n)
	page.Items, page.Next = store.Cut(page.Items, l.size)
	return page, nil
}
