package pgxstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/store"
)

// sealLimit is how many entries get their positions in one read.
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
		queue(b, collect(&entries, func(row pgx.Rows) (e store.Entry, err error) {
			var at int64
			err = row.Scan(&e.Position, &e.Kind, &e.Subject, &e.Version, &at, &e.By, (*[]byte)(&e.Data))
			e.At = instant(at)
			return e, err
		}), t.sql.readJournal, max(after, 0), limit)
		return t.send(ctx, b, true)
	})
	return entries, wrap("read the journal", err)
}
