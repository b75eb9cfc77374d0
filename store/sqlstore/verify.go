package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

var _ store.Verifier = (*Store)(nil)

// recountClaims selects the counters whose numbers differ: those that are stored, and those of the records. A counter
// that is NULL comes from a damaged record.
const recountClaims = `SELECT n.counter, SUM(n.reserved), SUM(n.completed), SUM(n.held_reserved), SUM(n.held_completed)
	FROM (SELECT counter, reserved, completed, 0 AS held_reserved, 0 AS held_completed FROM {counters}%s%s) n
	GROUP BY n.counter HAVING n.counter IS NULL OR SUM(n.reserved) <> SUM(n.held_reserved) OR SUM(n.completed) <> SUM(n.held_completed)`

// heldOnSQLite selects the claims of a table's records, with what they hold. The texts are the name of the table, and the
// states in which records hold claims as reserved and as completed. All characters of the last part of a key are removed
// from the end of the key, which leaves what comes before it; see lastFirst.
const heldOnSQLite = ` UNION ALL SELECT CASE WHEN k.held IS NULL THEN NULL WHEN k.rest = '' THEN k.counter ELSE substr(k.counter, length(k.rest) + 1) || '/' || substr(k.rest, 1, length(k.rest) - 1) END, 0, 0,
		CASE WHEN k.state IN (%[2]s) THEN k.held ELSE 0 END, CASE WHEN k.state IN (%[2]s) THEN 0 ELSE k.held END
	FROM (SELECT r.state, json_extract(c.value, '$.counter') AS counter,
			rtrim(json_extract(c.value, '$.counter'), replace(json_extract(c.value, '$.counter'), '/', '')) AS rest,
			json_extract(c.value, '$.amount') - COALESCE(json_extract(c.value, '$.returned'), 0) AS held
		FROM %[1]s r, json_each(r.claims) c WHERE r.state IN (%[2]s, %[3]s)) k`

// heldOnMySQL is heldOnSQLite for MySQL, whose keys are stored as they are. The numbers count the claims of a record:
// MariaDB 10.5 has no JSON_TABLE.
const heldOnMySQL = ` UNION ALL SELECT CASE WHEN k.held IS NOT NULL THEN k.counter END, 0, 0, CASE WHEN k.state IN (%[2]s) THEN k.held ELSE 0 END, CASE WHEN k.state IN (%[2]s) THEN 0 ELSE k.held END
	FROM (SELECT r.state, CAST(JSON_UNQUOTE(JSON_EXTRACT(r.claims, CONCAT('$[', i.number, '].counter'))) AS BINARY) AS counter,
			CAST(JSON_EXTRACT(r.claims, CONCAT('$[', i.number, '].amount')) AS SIGNED)
				- COALESCE(CAST(JSON_EXTRACT(r.claims, CONCAT('$[', i.number, '].returned')) AS SIGNED), 0) AS held
		FROM %[1]s r JOIN numbers i ON i.number < JSON_LENGTH(r.claims) WHERE r.state IN (%[2]s, %[3]s)) k`

// mostClaims selects the highest number of claims of a record. It is NULL if there is no record. For MariaDB, claims
// that are no JSON have no length.
const (
	mostClaims = `SELECT MAX(most), SUM(damaged) FROM (
		SELECT MAX(JSON_LENGTH(claims)) AS most, COUNT(*) - COUNT(JSON_LENGTH(claims)) AS damaged FROM {uses}
		UNION ALL SELECT MAX(JSON_LENGTH(claims)), COUNT(*) - COUNT(JSON_LENGTH(claims)) FROM {orders}) r`
	numbers = `WITH RECURSIVE numbers AS (SELECT 0 AS number UNION ALL SELECT number + 1 FROM numbers WHERE number + 1 < ?) `
)

// recountCodes selects the batches whose numbers of codes differ.
const recountCodes = `SELECT b.coupon_id, b.id, b.added - b.removed, b.assigned, b.inactive,
		COALESCE(c.codes, 0), COALESCE(c.assigned, 0), COALESCE(c.inactive, 0)
	FROM {code_batches} b LEFT JOIN (SELECT coupon_id, batch, COUNT(*) AS codes, SUM(CASE WHEN owner <> '' THEN 1 ELSE 0 END) AS assigned,
			SUM(CASE WHEN active = 0 THEN 1 ELSE 0 END) AS inactive
		FROM {codes} WHERE live IS NOT NULL AND batch <> '' GROUP BY coupon_id, batch) c ON c.coupon_id = b.coupon_id AND c.batch = b.id
	WHERE b.added - b.removed <> COALESCE(c.codes, 0) OR b.assigned <> COALESCE(c.assigned, 0) OR b.inactive <> COALESCE(c.inactive, 0)`

// Verify implements [store.Verifier]. The database recounts, and only differences leave it.
func (s *Store) Verify(ctx context.Context) iter.Seq2[store.Difference, error] {
	return engine.Verify(func(r *engine.Recount) error {
		return s.view(ctx, "verify the counters", func(ctx context.Context, t *session) error {
			if err := t.recountClaims(ctx, r); err != nil {
				return cmp.Or(t.damagedClaims(ctx), err)
			}
			return t.each(ctx, recountCodes, func(rows *sql.Rows) error { return r.ScanBatch(rows.Scan) })
		})
	})
}

func (s *session) recountClaims(ctx context.Context, r *engine.Recount) error {
	held, with, args := heldOnSQLite, "", []any(nil)
	if s.dialect == MySQL {
		var most, damaged sql.Null[int64]
		if err := s.each(ctx, mostClaims, func(rows *sql.Rows) error { return rows.Scan(&most, &damaged) }); err != nil {
			return err
		}
		if damaged.V > 0 {
			return errDamaged
		}
		held, with, args = heldOnMySQL, numbers, []any{most.V}
	}
	of := func(table string, orders bool) string {
		reserved, completed := engine.HeldStates(orders)
		return fmt.Sprintf(held, table, reserved, completed)
	}
	statement := with + fmt.Sprintf(recountClaims, of("{orders}", true), of("{uses}", false))
	return s.each(ctx, statement, func(rows *sql.Rows) error { return r.ScanCounter(rows.Scan, s.key) }, args...)
}

var errDamaged = errors.New("the claims of a record are no JSON")

// damagedClaims returns the error of a record whose claims cannot be read, or nil. It reads all claims: databases do not
// tell which row a function fails for.
func (s *session) damagedClaims(ctx context.Context) error {
	for _, kind := range []string{"order", "use"} {
		if err := s.each(ctx, "SELECT id, claims FROM {"+kind+"s}", func(rows *sql.Rows) error {
			var id string
			var claims sql.RawBytes
			if err := rows.Scan(&id, &claims); err != nil {
				return err
			}
			_, err := engine.DecodeClaims(kind, id, claims)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
