package pgxstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// Save implements [engine.Tx] in one round trip. That round trip also commits. It writes the documents and claims of new
// and of grown records.
func (t *tx) Save(ctx context.Context, w engine.Writes) error {
	b := new(pgx.Batch)
	slices.Sort(t.locked)
	t.lockCustomers(b, w.Counters)
	var failed [4]error
	ofOrder := func(o *redemption.Order) []eligibility.Claim { return o.Claims }
	ofUse := func(u *redemption.Use) []eligibility.Claim { return u.Claims }
	failed[0] = queueDocuments(b, t.sql.insertOrders, w.NewOrders, orderColumns, engine.AppendOrder, ofOrder)
	if len(w.Orders) > 0 {
		b.Queue(t.sql.updateOrders, orderColumns(w.Orders)...)
	}
	failed[1] = queueDocuments(b, t.sql.growOrders, w.GrownOrders, orderColumns, engine.AppendOrder, ofOrder)
	failed[2] = queueDocuments(b, t.sql.insertUses, w.NewUses, useColumns, engine.AppendUse, ofUse)
	if len(w.Uses) > 0 {
		b.Queue(t.sql.updateUses, useColumns(w.Uses)...)
	}
	failed[3] = queueDocuments(b, t.sql.growUses, w.GrownUses, useColumns, engine.AppendUse, ofUse)
	if err := errors.Join(failed[:]...); err != nil {
		return err
	}
	t.queueEntries(b, w.Entries)
	t.lockShared(b, w.Counters)
	t.addToCounters(b, w.Counters)
	return t.send(ctx, b, true)
}

func queueDocuments[T any](
	b *pgx.Batch, statement string, records []T, columns func([]T) []any, encode func([]byte, T) ([]byte, error),
	claims func(T) []eligibility.Claim,
) error {
	if len(records) == 0 {
		return nil
	}
	list, err := documents(records, encode)
	if err != nil {
		return fmt.Errorf("encode a document: %w", err)
	}
	of := func(list func(dst []byte, claims []eligibility.Claim) []byte) any {
		all, _ := documents(records, func(dst []byte, record T) ([]byte, error) { return list(dst, claims(record)), nil })
		return texts(all, itself)
	}
	b.Queue(statement, append(columns(records), texts(list, itself), of(appendCounters), of(appendAmounts))...)
	return nil
}

func orderColumns(orders []*redemption.Order) []any {
	type order = redemption.Order
	return []any{
		texts(orders, func(o *order) string { return o.ID }),
		texts(orders, func(o *order) string { return o.CustomerID }),
		texts(orders, func(o *order) string { return o.Key }),
		texts(orders, func(o *order) string { return o.State.String() }),
		texts(orders, func(o *order) string { return o.SessionID }),
		texts(orders, func(o *order) string { return o.SessionURL }),
		texts(orders, func(o *order) string { return o.ReplacedBy }),
		numbers(orders, func(o *order) int64 { return micros(o.Deadline) }),
		numbers(orders, func(o *order) int64 { return micros(o.CreatedAt) }),
		numbers(orders, func(o *order) int64 { return micros(o.UpdatedAt) }),
		numbers(orders, func(o *order) int64 { return o.Version }),
	}
}

func useColumns(uses []*redemption.Use) []any {
	type use = redemption.Use
	return []any{
		texts(uses, func(u *use) string { return u.ID }),
		texts(uses, func(u *use) string { return u.OrderID }),
		texts(uses, func(u *use) string { return u.CouponID }),
		texts(uses, func(u *use) string { return u.CustomerID }),
		texts(uses, func(u *use) string { return u.Key }),
		texts(uses, func(u *use) string { return u.ExchangeID }),
		texts(uses, func(u *use) string { return u.State.String() }),
		texts(uses, func(u *use) string { return u.PointsState.String() }),
		flags(uses, func(u *use) bool { return u.OverLimit }),
		numbers(uses, func(u *use) int64 { return micros(u.Deadline) }),
		numbers(uses, func(u *use) int64 { return micros(u.CreatedAt) }),
		numbers(uses, func(u *use) int64 { return micros(u.UpdatedAt) }),
		numbers(uses, func(u *use) int64 { return micros(u.CompletedAt) }),
		numbers(uses, func(u *use) int64 { return micros(u.ReleasedAt) }),
		numbers(uses, func(u *use) int64 { return u.Version }),
	}
}

// lockCustomers locks customers' counters that Load has not locked, and inserts new counters. This
// comes before any record is inserted, so that two transactions for one customer wait for each other
// here.
func (t *tx) lockCustomers(b *pgx.Batch, writes []engine.CounterWrite) {
	own := chosen(writes, func(w engine.CounterWrite) bool { return t.unlocked(w) && !eligibility.IsShared(w.Counter) })
	if len(own) > 0 {
		b.Queue(t.sql.lockCounters, texts(own, counterOf))
	}
	if added := chosen(writes, func(w engine.CounterWrite) bool { return w.New }); len(added) > 0 {
		b.Queue(t.sql.insertCounters, counterColumns(added)...)
	}
}

func (t *tx) unlocked(w engine.CounterWrite) bool {
	_, locked := slices.BinarySearch(t.locked, w.Counter)
	return w.Row == 0 && !w.New && !locked
}

// lockShared locks the counters that all customers share. It does so as late as possible, because
// everybody who wants the coupon waits for them. The transaction fails if a counter is out of its
// bounds.
func (t *tx) lockShared(b *pgx.Batch, writes []engine.CounterWrite) {
	shared := chosen(writes, func(w engine.CounterWrite) bool { return t.unlocked(w) && eligibility.IsShared(w.Counter) })
	if len(shared) > 0 {
		b.Queue(t.sql.checkCounters, texts(shared, counterOf),
			numbers(shared, func(w engine.CounterWrite) int64 { return w.Least }),
			numbers(shared, func(w engine.CounterWrite) int64 { return w.Most }))
	}
}

// addToCounters adds to the locked counters. Then it adds to parts of spread counters, which nobody
// waits for.
func (t *tx) addToCounters(b *pgx.Batch, writes []engine.CounterWrite) {
	first := chosen(writes, func(w engine.CounterWrite) bool { return w.Row == 0 && !w.New && w.By != eligibility.Count{} })
	if len(first) > 0 {
		b.Queue(t.sql.addToCounters, counterColumns(first)...)
	}
	if spread := chosen(writes, func(w engine.CounterWrite) bool { return w.Row > 0 }); len(spread) > 0 {
		b.Queue(t.sql.addToParts, counterColumns(spread)...)
	}
}

func chosen(writes []engine.CounterWrite, which func(engine.CounterWrite) bool) (list []engine.CounterWrite) {
	for _, w := range writes {
		if which(w) {
			list = append(list, w)
		}
	}
	return list
}

func counterOf(w engine.CounterWrite) string { return w.Counter }

func counterColumns(writes []engine.CounterWrite) []any {
	type write = engine.CounterWrite
	return []any{
		texts(writes, counterOf),
		numbers(writes, func(w write) int64 { return int64(w.Row) }),
		numbers(writes, func(w write) int64 { return w.By.Reserved }),
		numbers(writes, func(w write) int64 { return w.By.Completed }),
	}
}

func (t *tx) queueEntries(b *pgx.Batch, entries []store.Entry) {
	type entry = store.Entry
	data, _ := documents(entries, func(dst []byte, e entry) ([]byte, error) { return append(dst, e.Data...), nil })
	b.Queue(t.sql.insertEntries,
		texts(entries, func(e entry) string { return string(e.Kind) }),
		texts(entries, func(e entry) string { return e.Subject }),
		numbers(entries, func(e entry) int64 { return e.Version }),
		numbers(entries, func(e entry) int64 { return micros(e.At) }),
		texts(entries, func(e entry) string { return e.By }),
		texts(data, itself),
	)
}

func each[T, V any](list []T, of func(T) V) []V {
	values := make([]V, len(list))
	for i, item := range list {
		values[i] = of(item)
	}
	return values
}

// micros returns the stored form of an instant. It keeps microseconds for the years 1 to 9999, and the
// zero time.
func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// guarded makes an insert fail if it inserts fewer rows than its first array has.
func guarded(insert string) string {
	return fmt.Sprintf(`WITH done AS (%s ON CONFLICT DO NOTHING RETURNING 1)
		SELECT CASE WHEN count(*) < cardinality($1::text[]) THEN ('%srows inserted: ' || count(*))::integer END FROM done`, insert, raced)
}
