package pgxstore

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

var _ store.Verifier = (*Store)(nil)

// heldClaims selects the claims of a table's records, with what they hold. The texts are the name of the table, and
// the states in which records hold claims as reserved and as completed.
const heldClaims = `SELECT c.counter, 0, 0, CASE WHEN c.reserved THEN c.held ELSE 0 END, CASE WHEN c.reserved THEN 0 ELSE c.held END
	FROM (SELECT state IN (%[2]s) AS reserved, unnest(claimed) AS counter, unnest(amounts[:cardinality(claimed)]) AS held
		FROM %[1]s WHERE state IN (%[2]s, %[3]s)) c`

// countedClaims selects the stored numbers, and the claims of all records.
const countedClaims = `SELECT counter, reserved, completed, 0::bigint AS held_reserved, 0::bigint AS held_completed FROM {counters}
		UNION ALL %s UNION ALL %s`

// bucketOf is the bucket of a counter, for a seed.
const bucketOf = `hashtextextended(n.counter, $1::bigint) & 4095`

// suspectBuckets selects the buckets of counters whose numbers differ. To group by counter would sort gigabytes on the
// disk of the server. In a bucket, differences can cancel out. So each counter has a random weight: the weighted sum
// modulo a prime hides differences with a probability below 2^-29. Another call has other weights.
const suspectBuckets = `SELECT n.hash & 4095 FROM (
		SELECT hashtextextended(n.counter, $1::bigint) AS hash, n.reserved - n.held_reserved AS reserved, n.completed - n.held_completed AS completed
		FROM (%s) n OFFSET 0) n
	GROUP BY 1 HAVING sum(n.reserved) <> 0 OR sum(n.completed) <> 0 OR
		sum(n.reserved %% 2147483647 * (n.hash >> 12 & 536870911) + n.completed %% 2147483647 * (n.hash >> 34 & 536870911)) %% 2147483647 <> 0`

// recountClaims selects the counters of some buckets whose numbers differ: those that are stored, and those of the
// records.
const recountClaims = `SELECT n.counter, sum(n.reserved)::bigint, sum(n.completed)::bigint, sum(n.held_reserved)::bigint, sum(n.held_completed)::bigint
	FROM (%s) n WHERE ` + bucketOf + ` = ANY ($2::bigint[])
	GROUP BY n.counter HAVING sum(n.reserved) <> sum(n.held_reserved) OR sum(n.completed) <> sum(n.held_completed)`

// recountCodes selects the batches whose numbers of codes differ.
const recountCodes = `SELECT b.coupon_id, b.id, b.added - b.removed, b.assigned, b.inactive,
		coalesce(c.codes, 0), coalesce(c.assigned, 0), coalesce(c.inactive, 0)
	FROM {code_batches} b LEFT JOIN (SELECT coupon_id, batch, count(*) AS codes, count(*) FILTER (WHERE owner <> '') AS assigned,
			count(*) FILTER (WHERE NOT active) AS inactive
		FROM {codes} WHERE live AND batch <> '' GROUP BY coupon_id, batch) c ON c.coupon_id = b.coupon_id AND c.batch = b.id
	WHERE b.added - b.removed <> coalesce(c.codes, 0) OR b.assigned <> coalesce(c.assigned, 0) OR b.inactive <> coalesce(c.inactive, 0)`

// recounting returns suspectBuckets or recountClaims for all claims.
func recounting(statement string) string {
	of := func(table string, orders bool) string {
		reserved, completed := engine.HeldStates(orders)
		return fmt.Sprintf(heldClaims, table, reserved, completed)
	}
	return fmt.Sprintf(statement, fmt.Sprintf(countedClaims, of("{orders}", true), of("{uses}", false)))
}

// Verify implements [store.Verifier]. The database recounts, and only differences leave it. It reads the records
// once, and once more if a number differs.
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
	seed, buckets := rand.Int64(), []int64(nil) //nolint:gosec // not a secret
	if err := eachRow(ctx, tx, s.sql.suspectBuckets, func(rows pgx.Rows) error {
		buckets = append(buckets, 0)
		return rows.Scan(&buckets[len(buckets)-1])
	}, seed); err != nil {
		return err
	}
	if len(buckets) > 0 {
		if err := eachRow(ctx, tx, s.sql.recountClaims, func(rows pgx.Rows) error {
			return r.ScanCounter(rows.Scan, func(key string) string { return key })
		}, seed, buckets); err != nil {
			return err
		}
	}
	return eachRow(ctx, tx, s.sql.recountCodes, func(rows pgx.Rows) error { return r.ScanBatch(rows.Scan) })
}

// eachRow calls scan for each row, as it arrives.
func eachRow(ctx context.Context, tx pgx.Tx, statement string, scan func(pgx.Rows) error, arguments ...any) error {
	rows, err := tx.Query(ctx, statement, arguments...)
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
