package pgxstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// Save implements [engine.Tx] in one round trip, which also commits.
func (t *tx) Save(ctx context.Context, w engine.Writes) error {
	b := new(pgx.Batch)
	slices.Sort(t.locked)
	t.lockCustomers(b, w.Counters)
	if err := t.queueRecords(b, w); err != nil {
		return err
	}
	t.queueEntries(b, w.Entries)
	t.lockShared(b, w.Counters)
	t.addToCounters(b, w.Counters)
	return t.send(ctx, b, true)
}

// queueRecords writes orders and uses. New ones go by customer and key, for there two
// transactions may meet.
func (t *tx) queueRecords(b *pgx.Batch, w engine.Writes) error {
	slices.SortFunc(w.NewOrders, func(o, p redemption.Order) int {
		return cmp.Or(cmp.Compare(o.CustomerID, p.CustomerID), cmp.Compare(o.Key, p.Key), cmp.Compare(o.ID, p.ID))
	})
	slices.SortFunc(w.NewUses, func(u, v redemption.Use) int {
		return cmp.Or(cmp.Compare(u.CustomerID, v.CustomerID), cmp.Compare(u.Key, v.Key), cmp.Compare(u.ID, v.ID))
	})
	orders, err := documentsOf(t.documents, w.NewOrders, orderName, engine.EncodeOrder)
	if err != nil {
		return err
	}
	uses, err := documentsOf(t.documents, w.NewUses, useName, engine.EncodeUse)
	if err != nil {
		return err
	}
	if len(w.NewOrders) > 0 {
		b.Queue(t.sql.insertOrders, append(orderColumns(w.NewOrders), orders)...)
	}
	if len(w.Orders) > 0 {
		b.Queue(t.sql.updateOrders, orderColumns(w.Orders)...)
	}
	if len(w.NewUses) > 0 {
		b.Queue(t.sql.insertUses, append(useColumns(w.NewUses), uses)...)
	}
	if len(w.Uses) > 0 {
		b.Queue(t.sql.updateUses, useColumns(w.Uses)...)
	}
	return nil
}

// documentsOf returns the documents of records: those that their requests had, or new ones.
func documentsOf[T any](known map[string]string, records []T, key func(T) string, encode func(T) ([]byte, error)) ([]string, error) {
	documents := make([]string, len(records))
	for i, record := range records {
		if documents[i] = known[key(record)]; documents[i] != "" {
			continue
		}
		document, err := encode(record)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", key(record), err)
		}
		documents[i] = string(document)
	}
	return documents, nil
}

func orderName(o redemption.Order) string { return "order " + o.ID }

func useName(u redemption.Use) string { return "use " + u.ID }

func orderColumns(orders []redemption.Order) []any {
	type order = redemption.Order
	return []any{
		each(orders, func(o order) string { return o.ID }),
		each(orders, func(o order) string { return o.CustomerID }),
		each(orders, func(o order) string { return o.Key }),
		each(orders, func(o order) string { return o.State.String() }),
		each(orders, func(o order) string { return o.SessionID }),
		each(orders, func(o order) string { return o.SessionURL }),
		each(orders, func(o order) string { return o.ReplacedBy }),
		each(orders, func(o order) int64 { return micros(o.Deadline) }),
		each(orders, func(o order) int64 { return micros(o.CreatedAt) }),
		each(orders, func(o order) int64 { return micros(o.UpdatedAt) }),
		each(orders, func(o order) int64 { return o.Version }),
	}
}

func useColumns(uses []redemption.Use) []any {
	type use = redemption.Use
	return []any{
		each(uses, func(u use) string { return u.ID }),
		each(uses, func(u use) string { return u.OrderID }),
		each(uses, func(u use) string { return u.CouponID }),
		each(uses, func(u use) string { return u.CustomerID }),
		each(uses, func(u use) string { return u.Key }),
		each(uses, func(u use) string { return u.ExchangeID }),
		each(uses, func(u use) string { return u.State.String() }),
		each(uses, func(u use) string { return u.PointsState.String() }),
		each(uses, func(u use) bool { return u.OverLimit }),
		each(uses, func(u use) int64 { return micros(u.Deadline) }),
		each(uses, func(u use) int64 { return micros(u.CreatedAt) }),
		each(uses, func(u use) int64 { return micros(u.UpdatedAt) }),
		each(uses, func(u use) int64 { return micros(u.CompletedAt) }),
		each(uses, func(u use) int64 { return micros(u.ReleasedAt) }),
		each(uses, func(u use) int64 { return u.Version }),
	}
}

// lockCustomers locks the counters of customers that Load has not, and inserts new counters,
// before any record is inserted: two transactions with records of one customer meet there.
func (t *tx) lockCustomers(b *pgx.Batch, writes []engine.CounterWrite) {
	var keys []string
	var added []engine.CounterWrite
	for _, w := range writes {
		switch {
		case w.New:
			added = append(added, w)
		case t.unlocked(w) && !redemption.IsShared(w.Counter):
			keys = append(keys, w.Counter)
		}
	}
	if len(keys) > 0 {
		b.Queue(t.sql.lockCounters, keys)
	}
	if len(added) > 0 {
		b.Queue(t.sql.insertCounters, counterColumns(added)...)
	}
}

func (t *tx) unlocked(w engine.CounterWrite) bool {
	_, locked := slices.BinarySearch(t.locked, w.Counter)
	return w.Row == 0 && !w.New && !locked
}

// lockShared locks the counters that all customers share, as late as possible: whoever wants
// the same coupon waits for them. The transaction fails if one of them is out of bounds.
func (t *tx) lockShared(b *pgx.Batch, writes []engine.CounterWrite) {
	var shared []engine.CounterWrite
	for _, w := range writes {
		if t.unlocked(w) && redemption.IsShared(w.Counter) {
			shared = append(shared, w)
		}
	}
	if len(shared) > 0 {
		type write = engine.CounterWrite
		b.Queue(t.sql.checkCounters,
			each(shared, func(w write) string { return w.Counter }),
			each(shared, func(w write) int64 { return w.Least }),
			each(shared, func(w write) int64 { return w.Most }))
	}
}

// addToCounters adds to counters that are locked, and then to parts of spread counters, for
// which nobody waits.
func (t *tx) addToCounters(b *pgx.Batch, writes []engine.CounterWrite) {
	var first, spread []engine.CounterWrite
	for _, w := range writes {
		switch {
		case w.New:
		case w.Row > 0:
			spread = append(spread, w)
		case w.By != redemption.Count{}:
			first = append(first, w)
		}
	}
	if len(first) > 0 {
		b.Queue(t.sql.addToCounters, counterColumns(first)...)
	}
	if len(spread) > 0 {
		b.Queue(t.sql.addToParts, counterColumns(spread)...)
	}
}

func counterColumns(writes []engine.CounterWrite) []any {
	type write = engine.CounterWrite
	return []any{
		each(writes, func(w write) string { return w.Counter }),
		each(writes, func(w write) int32 { return int32(w.Row) }), //nolint:gosec // one of Store.part
		each(writes, func(w write) int64 { return w.By.Reserved }),
		each(writes, func(w write) int64 { return w.By.Completed }),
	}
}

func (t *tx) queueEntries(b *pgx.Batch, entries []store.Entry) {
	type entry = store.Entry
	b.Queue(t.sql.insertEntries,
		each(entries, func(e entry) string { return string(e.Kind) }),
		each(entries, func(e entry) string { return e.Subject }),
		each(entries, func(e entry) int64 { return e.Version }),
		each(entries, func(e entry) int64 { return micros(e.At) }),
		each(entries, func(e entry) string { return e.By }),
		each(entries, func(e entry) string { return string(e.Data) }),
	)
}

func each[T, V any](list []T, of func(T) V) []V {
	values := make([]V, len(list))
	for i, item := range list {
		values[i] = of(item)
	}
	return values
}

// micros is how instants are stored. It keeps every microsecond of the years 1 to 9999, and
// the zero instant.
func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// guarded makes an insertion fail if it inserts fewer rows than its first array has.
func guarded(insert string) string {
	return fmt.Sprintf(`WITH done AS (%s ON CONFLICT DO NOTHING RETURNING 1)
		SELECT CASE WHEN count(*) < cardinality($1::text[]) THEN ('%srows inserted: ' || count(*))::integer END FROM done`, insert, raced)
}
