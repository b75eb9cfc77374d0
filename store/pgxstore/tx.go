package pgxstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// tx is a transaction of the store, or a savepoint in a transaction of the host. It implements
// [engine.Tx] and [engine.CouponTx].
type tx struct {
	sql           *statements
	conn          sender
	begin, commit string
	own           bool     // set if no host has begun the transaction
	locked        []string // counters that Load has locked
	early         bool     // set if Load locks all counters
	unseen        bool     // set if LoadCodes finds no codes by their keys, because the insert shows which exist

	begun, saved bool
	failed       error // error of the database
}

// send sends the statements in one round trip. It begins the transaction if necessary. If last is true,
// it also commits.
func (t *tx) send(ctx context.Context, b *pgx.Batch, last bool) error {
	if !t.begun {
		b.QueuedQueries = append([]*pgx.QueuedQuery{{SQL: t.begin}}, b.QueuedQueries...)
	}
	if last {
		b.Queue(t.commit)
	}
	t.begun = true
	err := again(t.conn.SendBatch(ctx, b).Close())
	t.saved, t.failed = last && err == nil, err
	return err
}

// queue adds a query. It passes each row to scan.
func queue(b *pgx.Batch, scan func(pgx.Rows) error, statement string, arguments ...any) {
	b.Queue(statement, arguments...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}
