package pgxstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// Load implements [engine.Tx] in one round trip. It needs a second round trip if a key was used before.
func (t *tx) Load(ctx context.Context, n engine.Need) (engine.Rows, error) {
	rows := engine.Rows{Counts: map[string]eligibility.Count{}}
	b := new(pgx.Batch)
	t.queueOrders(b, n, &rows)
	uses := t.sql.usesOf(n)
	if !uses.empty() {
		queue(b, collect(&rows.Uses, scanUse), uses.locked(unless(n.Peek, t.sql.lockUses)), uses.arguments...)
	}
	t.queueCoupons(b, n, uses, &rows)
	if len(n.Codes) > 0 {
		queue(b, collect(&rows.Codes, func(row pgx.Rows) (c engine.Code, err error) {
			err = row.Scan(&c.CouponID, &c.CodeKey.Code, &c.Active, &c.Revision)
			return c, err
		}), t.sql.readCodes, texts(n.Codes, func(k engine.CodeKey) string { return k.CouponID }), texts(n.Codes, func(k engine.CodeKey) string { return k.Code }))
	}
	t.queueCounts(b, n, &rows)
	if len(n.Free) > 0 {
		coupons := each(n.Free, func(h engine.Held) string { return h.CouponID })
		customers := each(n.Free, func(h engine.Held) string { return h.CustomerID })
		queue(b, collect(&rows.Uses, scanUse), t.sql.freeUses, coupons, customers)
	}
	if b.Len() == 0 {
		return rows, nil
	}
	if err := t.send(ctx, b, false); err != nil {
		return engine.Rows{}, err
	}
	return rows, t.loadReplayed(ctx, n, &rows)
}

// queueCounts locks counters. It only reads counters that are not changed, or that Save locks.
func (t *tx) queueCounts(b *pgx.Batch, n engine.Need, rows *engine.Rows) {
	var locked, seen []string
	for _, key := range n.Counters {
		_, late := slices.BinarySearch(n.Late, key)
		if n.Peek || late && !t.early {
			seen = append(seen, key)
		} else {
			locked = append(locked, key)
		}
	}
	if len(locked) > 0 {
		queue(b, scanCount(rows.Counts), t.sql.lockCounters, texts(locked, itself))
		t.locked = append(t.locked, locked...)
	}
	if len(seen) > 0 {
		queue(b, scanCount(rows.Counts), unless(true, t.sql.lockCounters), texts(seen, itself))
	}
}

func (t *tx) queueOrders(b *pgx.Batch, n engine.Need, rows *engine.Rows) {
	var k keys
	k.find(t.sql.byOrderID, texts(n.OrderIDs, itself))
	k.find(t.sql.byOrderKey, texts(n.OrderKeys, customerOf), texts(n.OrderKeys, keyOf))
	k.find(t.sql.bySession, texts(n.Sessions, itself))
	if !k.empty() {
		queue(b, collect(&rows.Orders, scanOrder), k.locked(unless(n.Peek, t.sql.lockOrders)), k.arguments...)
	}
}

// unless returns the statement without its lock if peek is true.
func unless(peek bool, statement string) string {
	if peek {
		return strings.Replace(statement, "FOR UPDATE", "OFFSET 0", 1)
	}
	return statement
}

func customerOf(k engine.Key) string { return k.CustomerID }

func keyOf(k engine.Key) string { return k.Key }

func (t *tx) queueCoupons(b *pgx.Batch, n engine.Need, uses keys, rows *engine.Rows) {
	var k keys
	k.find(t.sql.byCouponID, texts(n.Coupons, itself))
	if n.CouponsOfOrders && !uses.empty() {
		k.add(fmt.Sprintf(t.sql.byUse, uses.union()), uses.arguments...)
	}
	if k.empty() {
		return
	}
	queue(b, collect(&rows.Coupons, func(row pgx.Rows) (c engine.Coupon, err error) {
		var state string
		if err = row.Scan(&c.ID, &state, &c.Revision, &c.Unlimited); err == nil {
			c.State, err = engine.ReadCouponState(c.ID, state)
		}
		return c, err
	}), k.locked(t.sql.shareCoupons), k.arguments...)
}

// loadReplayed reads the uses of orders that were found only by their keys. Such an order does not
// change. The lock on it protects its uses, too.
func (t *tx) loadReplayed(ctx context.Context, n engine.Need, rows *engine.Rows) error {
	var ids []string
	for _, o := range rows.Orders {
		if !slices.Contains(n.OrderIDs, o.ID) && !slices.Contains(n.Sessions, o.SessionID) {
			ids = append(ids, o.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	b := new(pgx.Batch)
	queue(b, collect(&rows.Uses, scanUse), t.sql.usesOfOrders, ids)
	return t.send(ctx, b, false)
}

func scanCount(into map[string]eligibility.Count) func(pgx.Rows) error {
	return func(row pgx.Rows) error {
		var key string
		var count eligibility.Count
		err := row.Scan(&key, &count.Reserved, &count.Completed)
		into[key] = count
		return err
	}
}

// collect returns a function that appends the scanned value of each row.
func collect[T any](into *[]T, scan func(pgx.Rows) (T, error)) func(pgx.Rows) error {
	return func(row pgx.Rows) error {
		item, err := scan(row)
		*into = append(*into, item)
		return err
	}
}

func scanOrder(row pgx.Rows) (redemption.Order, error) {
	var r orderRow
	if err := row.Scan(r.columns()...); err != nil {
		return redemption.Order{}, err
	}
	return r.order()
}

func scanUse(row pgx.Rows) (redemption.Use, error) {
	var r useRow
	if err := row.Scan(r.columns()...); err != nil {
		return redemption.Use{}, err
	}
	return r.use()
}

// scanSettled reads orders with their uses. There is a row for each use, or one row for an order
// without uses.
func scanSettled(into *engine.List[store.Settled]) func(pgx.Rows) error {
	return func(row pgx.Rows) error {
		var of orderRow
		var by useRow
		if err := row.Scan(append(of.columns(), by.columns()...)...); err != nil {
			return err
		}
		if n := len(into.Records); n == 0 || into.Records[n-1].Order.ID != of.o.ID {
			o, err := of.order()
			if err := into.Add(store.Settled{Order: o}, err); err != nil {
				return err
			}
		}
		if by.u.ID == "" {
			return nil
		}
		u, err := by.use()
		last := len(into.Records) - 1
		into.Records[last].Uses = append(into.Records[last].Uses, u)
		return engine.NoteUse(into, last, err)
	}
}

// orderRow is a row of orderList.
type orderRow struct {
	o                          redemption.Order
	state                      string
	deadline, created, updated int64
	document                   []byte
	claims                     claimRow
}

func (r *orderRow) columns() []any {
	return []any{
		&r.o.ID, &r.o.CustomerID, &r.o.Key, &r.state, &r.o.SessionID, &r.o.SessionURL, &r.o.ReplacedBy,
		&r.deadline, &r.created, &r.updated, &r.o.Version, &r.document, &r.claims.counters, &r.claims.amounts,
	}
}

func (r *orderRow) order() (redemption.Order, error) {
	r.o.Deadline, r.o.CreatedAt, r.o.UpdatedAt = instant(r.deadline), instant(r.created), instant(r.updated)
	err := engine.ReadOrder(&r.o, r.state, r.document)
	r.o.Claims = r.claims.list()
	return r.o, err
}

// useRow is a row of useList. For an order without uses, all columns are NULL, and read as zero.
type useRow struct {
	u                                               redemption.Use
	state, points                                   string
	over                                            *bool
	deadline, created, updated, completed, released int64
	document                                        []byte
	claims                                          claimRow
}

func (r *useRow) columns() []any {
	text := func(s *string) any { return (*zeronull.Text)(s) }
	number := func(n *int64) any { return (*zeronull.Int8)(n) }
	return []any{
		text(&r.u.ID), text(&r.u.OrderID), text(&r.u.CouponID), text(&r.u.CustomerID), text(&r.u.Key), text(&r.u.ExchangeID),
		text(&r.state), text(&r.points), &r.over, number(&r.deadline), number(&r.created), number(&r.updated),
		number(&r.completed), number(&r.released), number(&r.u.Version), &r.document,
		&r.claims.counters, &r.claims.amounts,
	}
}

func (r *useRow) use() (redemption.Use, error) {
	r.u.OverLimit = r.over != nil && *r.over
	r.u.Deadline, r.u.CreatedAt, r.u.UpdatedAt = instant(r.deadline), instant(r.created), instant(r.updated)
	r.u.CompletedAt, r.u.ReleasedAt = instant(r.completed), instant(r.released)
	err := engine.ReadUse(&r.u, r.state, r.points, r.document)
	r.u.Claims = r.claims.list()
	return r.u, err
}
