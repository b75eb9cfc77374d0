package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// On SQLite, only one transaction writes at a time, so entries get their positions when they are
// written. On MySQL, transactions commit in another order than they write. There, an entry has no
// position until it is sealed by the next reader of the journal. The reader locks the head, which has
// the last position, and moves the committed entries. An entry of an order is written after the order's
// earlier entry was committed, so it has a higher ID.

const (
	selectEntries = `SELECT position, ` + entryColumns + ` FROM {journal} WHERE position > ? ORDER BY position LIMIT ?`
	lastPosition  = `SELECT COALESCE(MAX(position), 0) FROM {journal}`
	lockHead      = `SELECT position FROM {journal_head} WHERE id = 1 FOR UPDATE`
	moveHead      = `UPDATE {journal_head} SET position = ? WHERE id = 1`
	findPending   = `SELECT id FROM {journal_pending} ORDER BY id LIMIT ?`
	// In a transaction of the host, the list may have entries that were sealed since its snapshot.
	// Locking the entries finds those that are left.
	lockPending = `SELECT id, ` + entryColumns + ` FROM {journal_pending}{by_id} WHERE id IN ({in}) ORDER BY id FOR UPDATE`
	// In a small table, DELETE … WHERE id IN reads all rows, and waits for rows of other transactions.
	deletePending = `DELETE t FROM ({each}) f STRAIGHT_JOIN {journal_pending} t{by_id} ON t.id = f.id`
	entriesOf     = `SELECT %s, ` + entryColumns + ` FROM {%s} WHERE {coupon} = ? AND version < ?`
	insertSealed  = `INSERT INTO {journal} (position, ` + entryColumns + `) VALUES {rows}`
)

// Journal implements [store.Journal].
func (s *Store) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	limit = min(max(limit, 0), store.MaxJournalLimit)
	if limit == 0 {
		return nil, nil
	}
	entries, err := s.entries(ctx, after, limit)
	if err == nil && len(entries) < limit && s.grammar.dialect == MySQL {
		if err = s.run.seal(ctx); err == nil {
			entries, err = s.entries(ctx, after, limit)
		}
	}
	if err != nil {
		return nil, explain(ctx, "read journal", err)
	}
	return entries, nil
}

func (s *Store) entries(ctx context.Context, after int64, limit int) (entries []store.Entry, err error) {
	err = s.run.view(ctx, func(ctx context.Context, t *session) error {
		entries = nil
		return t.each(ctx, selectEntries, collect(&entries, scanEntry), max(after, 0), int64(limit))
	})
	return entries, err
}

// JournalEnd implements [store.Journal].
func (s *Store) JournalEnd(ctx context.Context) (end int64, err error) {
	err = s.view(ctx, "read the end of the journal", func(ctx context.Context, t *session) (err error) {
		end, err = t.number(ctx, lastPosition)
		return err
	})
	return end, err
}

// History implements [store.Journal].
func (s *Store) History(ctx context.Context, couponID string, before int64, limit int) (entries []store.Entry, err error) {
	before, limit = engine.HistoryBounds(before, limit)
	statement, args := fmt.Sprintf(entriesOf, "position", "journal"), []any{couponID, before}
	if s.grammar.dialect == MySQL {
		statement += " UNION ALL " + fmt.Sprintf(entriesOf, "0", "journal_pending")
		args = append(args, args...)
	}
	err = s.view(ctx, "read history", func(ctx context.Context, t *session) error {
		if entries = nil; !findable(couponID) {
			return nil
		}
		return t.each(ctx, statement+" ORDER BY version DESC LIMIT ?", collect(&entries, scanEntry), append(args, int64(limit))...)
	})
	return answered(entries, err)
}

// sumUses sums minor units. A stored amount has all decimals of its currency. MySQL returns JSON text
// in quotes, and SQLite without quotes.
const sumUses = `SELECT (u.created_at - ?) - (u.created_at - ?) % ? AS day, u.state, COALESCE(JSON_EXTRACT(u.doc, '$.currency'), '') AS currency,
	COUNT(*), COUNT(JSON_EXTRACT(u.doc, '$.restoredAt')), SUM(COALESCE(CAST(REPLACE(REPLACE(JSON_EXTRACT(u.doc, '$.discount'), '.', ''), '"', '') AS SIGNED), 0)),
	SUM(COALESCE(CAST(REPLACE(REPLACE(JSON_EXTRACT(u.doc, '$.returned'), '.', ''), '"', '') AS SIGNED), 0))
	FROM {uses} u WHERE u.coupon_id = ? AND u.created_at >= ? AND u.created_at < ? AND u.state <> 'released' GROUP BY day, u.state, currency`

// Sums implements [store.Orders].
func (s *Store) Sums(ctx context.Context, list store.SumList) (days []store.DaySum, err error) {
	if err := list.Validate(); err != nil {
		return nil, err
	}
	err = s.view(ctx, "sum up uses", func(ctx context.Context, t *session) (err error) {
		sums := engine.NewSums(list)
		for _, run := range sums.Runs {
			if findable(list.CouponID) {
				err = errors.Join(err, t.each(ctx, sumUses, func(rows *sql.Rows) error { return sums.Scan(run, rows.Scan) },
					run.From, run.From, run.Length, list.CouponID, run.From, run.Until))
			}
		}
		days = sums.Days
		return err
	})
	return answered(days, err)
}

// seal gives positions to committed entries, at most as many as one read of the journal returns.
func (s *session) seal(ctx context.Context) error {
	pending, err := s.pending(ctx) // read without a lock first, because usually there are none
	if err != nil || len(pending) == 0 {
		return err
	}
	position, err := s.number(ctx, lockHead)
	if err != nil {
		return err
	}
	if pending, err = s.pending(ctx); err != nil {
		return err
	}
	var ids []any
	var sealed [][]any
	if err := s.eachIn(ctx, lockPending, 1, pending, func(rows *sql.Rows) error {
		e, err := scanEntry(rows)
		ids = append(ids, e.Position)
		position++
		sealed = append(sealed, append([]any{position}, entryRow(e)...))
		return err
	}); err != nil || len(ids) == 0 {
		return err
	}
	if err := s.insert(ctx, insertSealed, sealed); err != nil {
		return err
	}
	if err := s.eachIn(ctx, deletePending, 1, ids, func(*sql.Rows) error { return nil }); err != nil {
		return err
	}
	return s.exec(ctx, moveHead, position)
}

func (s *session) pending(ctx context.Context) ([]any, error) {
	var ids []int64
	err := s.each(ctx, findPending, collect(&ids, one[int64]), int64(store.MaxJournalLimit))
	return each(ids, func(id int64) any { return id }), err
}
