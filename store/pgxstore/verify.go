package pgxstore

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

var _ store.Verifier = (*Store)(nil)

// heldClaims selects the claims of a table's records, with what they hold. The texts are the name of the table, and the
// states in which records hold claims as reserved and as completed.
const heldClaims = `SELECT c.counter, 0, 0, CASE WHEN r.reserved THEN c.amount - coalesce(c.returned, 0) ELSE 0 END,
		CASE WHEN r.reserved THEN 0 ELSE c.amount - coalesce(c.returned, 0) END
	FROM (SELECT state IN (%[2]s) AS reserved, (doc::json -> 'claims')::jsonb AS claims FROM %[1]s
		WHERE state IN (%[2]s, %[3]s)) r,
	LATERAL jsonb_to_recordset(r.claims) AS c (counter text, amount bigint, returned bigint)`

// recountClaims selects the counters whose numbers differ: those that are stored, and those of the records.
const recountClaims = `SELECT n.counter, sum(n.reserved)::bigint, sum(n.completed)::bigint, sum(n.held_reserved)::bigint, sum(n.held_completed)::bigint
	FROM (SELECT counter, reserved, completed, 0::bigint AS held_reserved, 0::bigint AS held_completed FROM {counters}
		UNION ALL %s UNION ALL %s) n
	GROUP BY n.counter HAVING sum(n.reserved) <> sum(n.held_reserved) OR sum(n.completed) <> sum(n.held_completed)`

// recountCodes selects the batches whose numbers of codes differ.
const recountCodes = `SELECT b.coupon_id, b.id, b.added - b.removed, b.assigned, b.inactive,
		coalesce(c.codes, 0), coalesce(c.assigned, 0), coalesce(c.inactive, 0)
	FROM {code_batches} b LEFT JOIN (SELECT coupon_id, batch, count(*) AS codes, count(*) FILTER (WHERE owner <> '') AS assigned,
			count(*) FILTER (WHERE NOT active) AS inactive
		FROM {codes} WHERE live AND batch <> '' GROUP BY coupon_id, batch) c ON c.coupon_id = b.coupon_id AND c.batch = b.id
	WHERE b.added - b.removed <> coalesce(c.codes, 0) OR b.assigned <> coalesce(c.assigned, 0) OR b.inactive <> coalesce(c.inactive, 0)`

func recountStatement() string {
	of := func(table string, orders bool) string {
		reserved, completed := engine.HeldStates(orders)
		return fmt.Sprintf(heldClaims, table, reserved, completed)
	}
	return fmt.Sprintf(recountClaims, of("{orders}", true), of("{uses}", false))
}

// Verify implements [store.Verifier]. The database recounts, and only differences leave it.
func (s *Store) Verify(ctx context.Context) iter.Seq2[store.Difference, error] {
	return engine.Verify(func(r *engine.Recount) error { return wrap("verify the counters", s.recount(ctx, r)) })
}

func (s *Store) recount(ctx context.Context, r *engine.Recount) (err error) {
	if err := s.ready(ctx); err != nil {
		return err
	}
	tx := s.host
	if tx == nil {
		if tx, err = s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing was written
	}
	if err := eachRow(ctx, tx, s.sql.recountClaims, func(rows pgx.Rows) error {
		return r.ScanCounter(rows.Scan, func(key string) string { return key })
	}); err != nil {
		return err
	}
	return eachRow(ctx, tx, s.sql.recountCodes, func(rows pgx.Rows) error { return r.ScanBatch(rows.Scan) })
}

// eachRow calls scan for each row, as it arrives.
func eachRow(ctx context.Context, tx pgx.Tx, statement string, scan func(pgx.Rows) error) error {
	rows, err := tx.Query(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
