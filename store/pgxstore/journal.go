package pgxstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// sealLimit is the maximum number of entries that get positions in one read.
const sealLimit = 2 * store.MaxJournalLimit

// Journal implements [store.Journal] in one round trip. It first gives positions to entries
// that have none, under the lock of the journal's head, which is held until the transaction
// ends. So the entries before a position are all committed when the position can be read.
func (s *Store) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	limit = min(max(limit, 0), store.MaxJournalLimit)
	var entries []store.Entry
	err := s.transact(ctx, func(t *tx) error {
		entries = nil
		b := new(pgx.Batch)
		b.Queue(t.sql.lockJournal)
		b.Queue(t.sql.sealJournal)
		b.Queue(t.sql.moveHead)
		queue(b, collect(&entries, scanEntry), t.sql.readJournal, max(after, 0), limit)
		return t.send(ctx, b, true)
	})
	return entries, wrap("read the journal", err)
}

// JournalEnd implements [store.Journal] in one round trip.
func (s *Store) JournalEnd(ctx context.Context) (int64, error) {
	ends, err := readAll(ctx, s, "read the end of the journal", func(into *[]int64) func(pgx.Rows) error {
		return collect(into, func(row pgx.Rows) (end int64, err error) { return end, row.Scan(&end) })
	}, s.sql.journalEnd)
	if err != nil || len(ends) == 0 {
		return 0, err
	}
	return ends[0], nil
}

func scanEntry(row pgx.Rows) (e store.Entry, err error) {
	var at int64
	err = row.Scan(&e.Position, &e.Kind, &e.Subject, &e.Version, &at, &e.By, (*[]byte)(&e.Data))
	e.At = instant(at)
	return e, err
}

// History implements [store.Journal] in one round trip.
func (s *Store) History(ctx context.Context, couponID string, before int64, limit int) ([]store.Entry, error) {
	before, limit = engine.HistoryBounds(before, limit)
	if !store.IsText(couponID) {
		return nil, s.ready(ctx)
	}
	scan := func(into *[]store.Entry) func(pgx.Rows) error { return collect(into, scanEntry) }
	return readAll(ctx, s, "read the history of a coupon", scan, s.sql.readHistory, couponID, before, limit)
}

// Sums implements [store.Orders] in one round trip.
func (s *Store) Sums(ctx context.Context, list store.SumList) ([]store.DaySum, error) {
	if err := list.Validate(); err != nil {
		return nil, err
	}
	var sums *engine.Sums
	err := s.read(ctx, func() *pgx.Batch {
		b := new(pgx.Batch)
		sums = engine.NewSums(list)
		for _, run := range sums.Runs {
			queue(b, func(row pgx.Rows) error { return sums.Scan(run, row.Scan) }, s.sql.sums, list.CouponID, run.From, run.Until, run.Length)
		}
		return b
	})
	if err != nil {
		return nil, wrap("sum up uses", err)
	}
	return sums.Days, nil
}
