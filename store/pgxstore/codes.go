package pgxstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/store/internal/sqlparts"
)

const (
	// codeList has the columns of codeRow, for a code k with its counts n.
	codeList = `k.code_key, k.batch AS code_batch, k.max_uses AS code_max_uses, k.owner AS code_owner, k.active AS code_active,
	k.expires_at AS code_expires_at, k.created_at AS code_created_at, k.updated_at AS code_updated_at, k.revision AS code_revision,
	n.reserved AS code_reserved, n.completed AS code_completed`
	// noCode has the same columns, all NULL, for a coupon found without a code.
	noCode = `NULL::text AS code_key, NULL::text AS code_batch, NULL::bigint AS code_max_uses, NULL::text AS code_owner, NULL::boolean AS code_active,
	NULL::bigint AS code_expires_at, NULL::bigint AS code_created_at, NULL::bigint AS code_updated_at, NULL::bigint AS code_revision,
	NULL::bigint AS code_reserved, NULL::bigint AS code_completed`
	codeCounts = ` LEFT JOIN LATERAL (SELECT * FROM {counters} n WHERE k.counter <> '' AND n.counter = k.counter AND n.part = 0 OFFSET 0) n ON true`
)

func (s *statements) codes() {
	const ofKeys = ` FROM unnest((SELECT $1::text[])) AS w (key) CROSS JOIN LATERAL (SELECT * FROM {codes} k WHERE k.code_key = w.key AND k.live OFFSET 0) k`
	s.liveKeys = s.name("find codes", `SELECT k.coupon_id, `+codeList+ofKeys+codeCounts)
	s.liveCodes = s.name("read codes of a coupon", `SELECT k.coupon_id, `+codeList+` FROM (
		SELECT * FROM {codes} k WHERE k.coupon_id = $1 AND k.live ORDER BY k.code_key LIMIT $2) k`+codeCounts)
	s.batchCodes = s.name("read a batch", `SELECT k.coupon_id, `+codeList+` FROM (
		SELECT * FROM {codes} k WHERE k.coupon_id = $1 AND k.batch = $2 AND k.batch <> '') k`+codeCounts+` ORDER BY k.position`)
	s.ownedCodes = s.name("find codes of owners", `SELECT k.coupon_id, `+codeList+` FROM unnest((SELECT $3::text[])) AS w (owner)
		CROSS JOIN unnest(array[true, false]) AS a (active) CROSS JOIN LATERAL (SELECT * FROM {codes} k WHERE k.coupon_id = $1
		AND k.batch = $2 AND k.batch <> '' AND k.active = a.active AND k.owner = w.owner OFFSET 0) k`+codeCounts+` ORDER BY k.position`)
	s.freeCodes = s.name("find free codes", `SELECT k.coupon_id, `+codeList+` FROM {codes} k`+codeCounts+`
		WHERE k.coupon_id = $1 AND k.batch = $2 AND k.batch <> '' AND k.active AND k.owner = '' AND (k.expires_at = $3 OR k.expires_at > $4)
		AND coalesce(n.reserved + n.completed, 0) = 0 ORDER BY k.position LIMIT $5`)
	const batchList = `b.id, b.coupon_id, b.size, b.added, b.removed, b.assigned, b.inactive, b.created_at, b.fingerprint`
	s.batch = s.name("find a batch", `SELECT `+batchList+` FROM {code_batches} b WHERE b.coupon_id = $1 AND b.id = $2`)
	s.batches = s.name("list batches", `SELECT `+batchList+`, coalesce(k.reserved, 0), coalesce(k.completed, 0) FROM (
		SELECT * FROM {code_batches} b WHERE b.coupon_id = $1 AND b.id > $2 AND ($4 = '' OR b.id = $4) ORDER BY b.id LIMIT $3) b
		LEFT JOIN {counters} k ON k.counter = b.counter AND k.part = 0 ORDER BY b.id`)
	s.readCodes = s.name("read codes", `SELECT k.coupon_id, k.code_key, k.active, k.revision FROM unnest((SELECT $1::text[]), (SELECT $2::text[])) AS w (id, key)
		CROSS JOIN LATERAL (SELECT * FROM {codes} k WHERE k.coupon_id = w.id AND k.code_key = w.key OFFSET 0) k`)
	s.insertBatch = s.name("insert a batch", guarded(`INSERT INTO {code_batches} (coupon_id, id, added, removed, assigned, inactive,
		fingerprint, counter, size, created_at) SELECT unnest($1::text[]), $2, $3, $4, $5, $6, $7, $8, $9, $10`))
	s.updateBatch = s.name("update a batch", `UPDATE {code_batches} SET added = $3, removed = $4, assigned = $5, inactive = $6, size = $7 WHERE coupon_id = $1 AND id = $2`)
	// In order, the rows share pages of the index, and two imports of the same codes cannot deadlock.
	s.insertCodes = s.name("insert codes", guarded(`INSERT INTO {codes} (code_key, counter, max_uses, owner, expires_at, coupon_id, live, batch, position,
		active, created_at, updated_at, revision)
		SELECT w.key, w.counter, w.max_uses, w.owner, w.expires_at, $6, true, $7, $10 + w.position - 1, w.active, $8, $9, 1
		FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $11::boolean[]) WITH ORDINALITY
		AS w (key, counter, max_uses, owner, expires_at, active, position) ORDER BY w.key COLLATE "C"`))
	// PostgreSQL would join these tables by reading all codes of a coupon, if there are up to some hundred thousand. So the codes are
	// looked up first. Nobody changes them meanwhile, because the coupon is locked.
	places := func(keys, id string) string {
		return `ctid = ANY (ARRAY(SELECT f.ctid FROM unnest((SELECT ` + keys + `::text[])) AS x (key)
			CROSS JOIN LATERAL (SELECT f.ctid FROM {codes} f WHERE f.coupon_id = ` + id + ` AND f.code_key = x.key OFFSET 0) f))`
	}
	s.updateCodes = s.name("update codes", `UPDATE {codes} k SET max_uses = w.max_uses, owner = w.owner, active = w.active, expires_at = w.expires_at,
		updated_at = $7, revision = w.revision FROM unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[], $5::bigint[], $6::bigint[])
		AS w (key, max_uses, owner, active, expires_at, revision) WHERE k.code_key = w.key AND k.`+places("$1", "$8"))
	s.removeCodes = s.name("remove codes", `DELETE FROM {codes} WHERE `+places("$2", "$1"))
	s.retireCodes = s.name("retire codes", `UPDATE {codes} SET live = NULL WHERE `+places("$2", "$1"))
	s.deleteBatches = s.name("delete batches", `DELETE FROM {code_batches} WHERE coupon_id = $1`)
}

// codeRow is a row of codeList. All columns are NULL if there is no code.
type codeRow struct {
	c                         coupon.IssuedCode
	key, owner                string
	active                    pgtype.Bool
	expires, created, updated int64
}

func (r *codeRow) columns() []any {
	text := func(s *string) any { return (*zeronull.Text)(s) }
	number := func(n *int64) any { return (*zeronull.Int8)(n) }
	return []any{
		text(&r.key), text(&r.c.Batch), number(&r.c.MaxUses), text(&r.owner), &r.active, number(&r.expires), number(&r.created), number(&r.updated),
		number(&r.c.Revision), number(&r.c.ReservedCount), number(&r.c.UsedCount),
	}
}

// code returns the code, or the zero value if there is none.
func (r *codeRow) code(couponID string) (c coupon.IssuedCode, err error) {
	if r.key == "" {
		return c, nil
	}
	c = r.c
	c.CouponID, c.Active = couponID, r.active.Bool
	c.ExpiresAt, c.CreatedAt, c.UpdatedAt = instant(r.expires), instant(r.created), instant(r.updated)
	err = engine.ReadCode(&c, r.key, r.owner)
	return c, err
}

func scanCode(row pgx.Rows) (coupon.IssuedCode, error) {
	var r codeRow
	var id string
	if err := row.Scan(append([]any{&id}, r.columns()...)...); err != nil {
		return coupon.IssuedCode{}, err
	}
	return r.code(id)
}

// scanBatch reads the columns of a batch, followed by more.
func scanBatch(row pgx.Rows, b *coupon.IssuedBatch, more ...any) error {
	var created int64
	err := row.Scan(append([]any{&b.ID, &b.CouponID, &b.Size, &b.Added, &b.Removed, &b.Assigned, &b.Inactive, &created, &b.Fingerprint}, more...)...)
	b.CreatedAt = instant(created)
	return err
}

// LoadCodes implements [engine.CouponTx] in one round trip.
func (t *tx) LoadCodes(ctx context.Context, n engine.CodeNeed) (rows engine.CodeRows, err error) {
	b := new(pgx.Batch)
	if len(n.Keys) > 0 && !t.unseen {
		queue(b, collect(&rows.Codes, scanCode), t.sql.liveKeys, each(n.Keys, coupon.Code.String))
	}
	if n.Live > 0 {
		queue(b, collect(&rows.Codes, scanCode), t.sql.liveCodes, n.CouponID, n.Live)
	}
	if n.Batch != "" {
		queue(b, func(row pgx.Rows) error { return scanBatch(row, &rows.Batch) }, t.sql.batch, n.CouponID, n.Batch)
	}
	if n.All {
		queue(b, collect(&rows.All, scanCode), t.sql.batchCodes, n.CouponID, n.Batch)
	}
	if len(n.Owners) > 0 {
		queue(b, collect(&rows.Owned, scanCode), t.sql.ownedCodes, n.CouponID, n.Batch, each(n.Owners, coupon.Owner.String))
	}
	if n.Free > 0 {
		queue(b, collect(&rows.Free, scanCode), t.sql.freeCodes, n.CouponID, n.Batch, micros(time.Time{}), micros(n.At), n.Free)
	}
	err = t.send(ctx, b, false)
	return rows, err
}

// queueCodes adds the statements that write codes.
func (t *tx) queueCodes(b *pgx.Batch, w engine.CouponWrite) {
	type code = coupon.IssuedCode
	id, codes := w.Coupon.ID, w.Codes
	if batch := codes.Batch; codes.NewBatch {
		b.Queue(t.sql.insertBatch, []string{id}, batch.ID, batch.Added, batch.Removed, batch.Assigned, batch.Inactive,
			batch.Fingerprint, eligibility.BatchUses(id, batch.ID), batch.Size, micros(batch.CreatedAt))
	} else if batch.ID != "" {
		b.Queue(t.sql.updateBatch, id, batch.ID, batch.Added, batch.Removed, batch.Assigned, batch.Inactive, batch.Size)
	}
	if added := codes.New; len(added) > 0 && len(added) < copied {
		b.Queue(t.sql.insertCodes, each(added, func(c code) string { return c.Code.String() }), each(added, engine.CounterOf),
			each(added, func(c code) int64 { return c.MaxUses }), each(added, func(c code) string { return c.Owner.String() }),
			each(added, func(c code) int64 { return micros(c.ExpiresAt) }),
			id, added[0].Batch, micros(added[0].CreatedAt), micros(added[0].UpdatedAt), codes.From,
			each(added, func(c code) bool { return c.Active }))
	}
	if changed := codes.Changed; len(changed) > 0 {
		b.Queue(t.sql.updateCodes, each(changed, func(c code) string { return c.Code.String() }), each(changed, func(c code) int64 { return c.MaxUses }),
			each(changed, func(c code) string { return c.Owner.String() }), each(changed, func(c code) bool { return c.Active }),
			each(changed, func(c code) int64 { return micros(c.ExpiresAt) }), each(changed, func(c code) int64 { return c.Revision }),
			micros(changed[0].UpdatedAt), id)
	}
	if len(codes.Removed) > 0 {
		b.Queue(t.sql.removeCodes, id, each(codes.Removed, coupon.Code.String))
	}
	if len(codes.Retired) > 0 {
		b.Queue(t.sql.retireCodes, id, each(codes.Retired, coupon.Code.String))
	}
	if w.Kind == store.DeleteCoupon {
		b.Queue(t.sql.deleteBatches, id)
	}
}

// copied is the number of new codes that are worth the round trips of a COPY. Fewer codes are inserted with the other writes.
const copied = 200

// copyCodes writes new codes before the other writes, if there are many. A code that exists makes it fail with a unique
// violation. The rows are in the order of insertCodes.
func (t *tx) copyCodes(ctx context.Context, w engine.CodeWrites) error {
	if len(w.New) < copied {
		return nil
	}
	order := make([]int, len(w.New))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(w.New[a].Code.String(), w.New[b].Code.String()) })
	columns := []string{
		"coupon_id", "code_key", "live", "batch", "position", "counter", "max_uses", "owner", "active", "expires_at", "created_at", "updated_at", "revision",
	}
	_, err := t.conn.CopyFrom(ctx, pgx.Identifier{t.sql.options.schema(), "codes"}, columns, pgx.CopyFromSlice(len(order), func(row int) ([]any, error) {
		at := order[row]
		c := &w.New[at]
		return []any{
			c.CouponID, c.Code.String(), true, c.Batch, w.From + int64(at), engine.CounterOf(*c), c.MaxUses, c.Owner.String(), c.Active,
			micros(c.ExpiresAt), micros(c.CreatedAt), micros(c.UpdatedAt), int64(1),
		}, nil
	}))
	if err != nil && ctx.Err() != nil { // the driver may only tell that it has closed the connection
		err = errors.Join(ctx.Err(), err)
	}
	t.failed = again(err)
	return t.failed
}

// SaveCodes implements [store.Coupons]. New codes are inserted without a look-up: the insert fails if one exists, and
// the next attempt looks them up.
func (s *Store) SaveCodes(ctx context.Context, c store.CodeChange) (saved []coupon.IssuedCode, err error) {
	c = c.Normalize()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	unseen := c.Kind == store.AddCodes || c.Kind == store.ImportCodes
	err = s.transact(ctx, func(t *tx) (err error) {
		t.unseen, unseen = unseen, false
		saved, err = engine.SaveCodes(ctx, t, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return saved, nil
}

// ListCodes implements [store.Coupons] in one round trip.
func (s *Store) ListCodes(ctx context.Context, asked store.CodeList) (store.CodePage, error) {
	asked, err := asked.Normalize()
	if err != nil {
		return store.CodePage{}, err
	}
	var all sqlparts.Conditions
	all.Codes(asked)
	counted := ""
	if asked.Unused || asked.Used {
		counted = codeCounts
	}
	// The page is limited before its codes are counted, so that it is read along the primary key.
	statement := s.sql.name("list codes", `SELECT k.coupon_id, `+codeList+` FROM (SELECT k.* FROM {codes} k`+counted+numbered(all.Where())+
		fmt.Sprintf(` ORDER BY k.coupon_id, k.code_key LIMIT %d) k`, asked.PageSize+1)+codeCounts+` ORDER BY k.code_key`)
	codes, err := readAll(ctx, s, "list codes", func(into *[]coupon.IssuedCode) func(pgx.Rows) error { return collect(into, scanCode) },
		statement, all.Args...)
	return store.CutCodes(codes, asked.PageSize), err
}

// ListBatches implements [store.Coupons] in one round trip.
func (s *Store) ListBatches(ctx context.Context, asked store.BatchList) (store.BatchPage, error) {
	asked, err := asked.Normalize()
	if err != nil {
		return store.BatchPage{}, err
	}
	batches, err := readAll(ctx, s, "list batches", func(into *[]coupon.IssuedBatch) func(pgx.Rows) error {
		return collect(into, func(row pgx.Rows) (b coupon.IssuedBatch, err error) {
			return b, scanBatch(row, &b, &b.ReservedCount, &b.UsedCount)
		})
	}, s.sql.batches, asked.CouponID, asked.After, asked.PageSize+1, asked.ID)
	return store.CutBatches(batches, asked.PageSize), err
}
