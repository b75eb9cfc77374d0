package postgrestest

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Leaky begins transactions that commit the statements with one beginning at once, in a transaction of
// their own. A test plants it as a mistake.
type Leaky struct {
	*pgxpool.Pool

	Beginning string
	// Leaked is called after each such statement.
	Leaked func()
}

// Begin begins a transaction.
func (l Leaky) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := l.Pool.Begin(ctx)
	return leakyTx{tx, l}, err
}

type leakyTx struct {
	pgx.Tx

	of Leaky
}

func (tx leakyTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if strings.HasPrefix(sql, tx.of.Beginning) {
		defer tx.of.Leaked()
		return tx.of.Exec(ctx, sql, args...)
	}
	return tx.Tx.Exec(ctx, sql, args...)
}

// SendBatch sends such a statement alone. It expects that the caller ignores the results of the batch.
func (tx leakyTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	leaks := func(q *pgx.QueuedQuery) bool { return strings.HasPrefix(q.SQL, tx.of.Beginning) }
	if !slices.ContainsFunc(b.QueuedQueries, leaks) {
		return tx.Tx.SendBatch(ctx, b)
	}
	inside := &pgx.Batch{}
	for _, q := range b.QueuedQueries {
		if leaks(q) {
			_, _ = tx.Exec(ctx, q.SQL, q.Arguments...) // a failure shows in the tables
			continue
		}
		inside.Queue(q.SQL, q.Arguments...)
	}
	return tx.Tx.SendBatch(ctx, inside)
}
