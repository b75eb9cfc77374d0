package pgxstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

const couponList = `c.id, c.code, c.state, c.revision, c.version, c.unlimited, c.emails,
	c.starts_at, c.expires_at, c.created_at, c.updated_at, c.doc`

// anyPart is true for every part of a counter. With it, the planner expects one row, and looks it up in the index, even
// before it has statistics. Otherwise it would build a bitmap for each counter, which takes five times as long.
const anyPart = `k.part BETWEEN 0 AND 2147483647`

// couponCounts joins the counts k of the coupon c.
const couponCounts = ` CROSS JOIN LATERAL (SELECT coalesce(sum(k.reserved), 0)::bigint AS reserved,
	coalesce(sum(k.completed), 0)::bigint AS completed FROM {counters} k WHERE k.counter = c.uses_counter AND ` + anyPart + `) k`

// These expressions take half the time of lateral joins.
const (
	// lookUpCounts are two arrays of reserved and completed uses: of each identity of a customer, and of each part of the
	// counter of the coupon c. A sum of bigint would be computed in numeric.
	lookUpCounts = `ARRAY(SELECT coalesce((SELECT array[k.reserved, k.completed]
		FROM {counters} k WHERE k.counter = c.customer_counter || e.ending AND k.part = 0), '{0,0}')
		FROM unnest((SELECT ?::text[])) WITH ORDINALITY AS e (ending, n) ORDER BY e.n),
		ARRAY(SELECT array[k.reserved, k.completed] FROM {counters} k WHERE k.counter = c.uses_counter AND ` + anyPart + `)`
	// ownEmails are the given entries that are on the allow-list of the coupon c.
	ownEmails = `CASE WHEN c.emails > 0 THEN ARRAY(SELECT e.email FROM {coupon_emails} e
		WHERE e.coupon_id = c.id AND e.email = ANY ((SELECT ?::text[])::text[])) END`
)

func (s *statements) catalog() {
	s.lockCoupon = s.name("lock a coupon", `SELECT FROM {coupons} WHERE id = $1 FOR UPDATE`)
	s.codeOwner = s.name("find a code", `SELECT coupon_id FROM {codes} WHERE code_key = $1 AND live`)
	s.counted = s.name("look for uses", `SELECT EXISTS (SELECT FROM {counters} WHERE counter = $1)`)
	s.insertCoupon = s.name("insert a coupon", guarded(`INSERT INTO {coupons} (id, code, state, revision, version, unlimited,
		uses_counter, customer_counter, emails, starts_at, expires_at, created_at, updated_at, search, doc,
		discount_type, max_uses)
		SELECT unnest($1::text[]), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17`))
	s.updateCoupon = s.name("update a coupon", `UPDATE {coupons} SET state = $3, revision = $4, version = $5, unlimited = $6,
		emails = $7, starts_at = $8, expires_at = $9, created_at = $10, updated_at = $11, search = $12, doc = $13, max_uses = $14
		WHERE id = $1 AND code = $2`)
	s.deleteCoupon = s.name("delete a coupon", `DELETE FROM {coupons} WHERE id = $1`)
	s.deleteEmails = s.name("delete an allow-list", `DELETE FROM {coupon_emails} WHERE coupon_id = $1`)
	s.insertEmails = s.name("insert an allow-list", `INSERT INTO {coupon_emails} (coupon_id, email, position)
		SELECT $1, w.email, w.position FROM unnest($2::text[]) WITH ORDINALITY AS w (email, position)`)
	s.foldCounter = s.name("fold a counter", `WITH parts AS (
			DELETE FROM {counters} WHERE counter = $1 AND part > 0 RETURNING reserved, completed)
		INSERT INTO {counters} AS c (counter, part, reserved, completed)
		SELECT $1, 0, sum(reserved), sum(completed) FROM parts HAVING count(*) > 0 ON CONFLICT (counter, part)
		DO UPDATE SET reserved = c.reserved + excluded.reserved, completed = c.completed + excluded.completed`)

	s.lookUpByID = s.name("look up a coupon", `SELECT `+couponList+`, k.reserved, k.completed FROM (SELECT * FROM {coupons} WHERE id = $1) c`+couponCounts)
	// Each name is looked up by a lateral query of its own, for which the planner expects one row. Beside the rows of
	// many names, it would keep results in hash tables, which takes longer than the look-ups.
	const (
		names    = `unnest((SELECT ?::text[])) AS w (name) CROSS JOIN LATERAL (`
		withID   = `SELECT c.*, ` + noCode + ` FROM {coupons} c WHERE c.id = `
		withCode = `SELECT c.*, ` + codeList + ` FROM {codes} k` + codeCounts + `
			CROSS JOIN LATERAL (SELECT * FROM {coupons} c WHERE c.id = k.coupon_id OFFSET 0) c WHERE k.live AND k.code_key = `
		ids      = `SELECT w.name AS id FROM unnest((SELECT ?::text[])) AS w (name)`
		named    = `SELECT k.coupon_id AS id FROM {codes} k WHERE k.live AND k.code_key = `
		eachID   = `SELECT c.* FROM ` + names + withID + `w.name OFFSET 0) c`
		eachCode = `SELECT c.* FROM ` + names + withCode + `w.name OFFSET 0) c`
		codes    = `SELECT k.id FROM ` + names + named + `w.name OFFSET 0) k`
	)
	held := func(coupons string) string {
		return `SELECT u.* FROM (` + coupons + `) w CROSS JOIN LATERAL (SELECT * FROM (
			SELECT * FROM {uses} u WHERE u.customer_id = ? AND u.coupon_id = w.id AND u.state = 'reserved' OFFSET 0) u
			ORDER BY u.created_at DESC, u.id DESC LIMIT ?) u`
	}
	s.named = [...]namedStatements{
		namesID:             s.about(eachID, held(ids), ids),
		namesCode:           s.about(eachCode, `SELECT u.* FROM `+names+held(named+`w.name`)+` OFFSET 0) u`, codes),
		namesID | namesCode: s.about(eachID+` UNION ALL `+eachCode, held(ids+` UNION `+codes), ids+` UNION `+codes),
		oneName | namesID:   s.about(withID+`?`, held(`SELECT ?::text AS id`), `SELECT ?::text AS id`),
		oneName | namesCode: s.about(withCode+`?`, held(named+`?`), named+`?`),
	}
	s.codes()
}

// namedStatements read the coupons of a look-up, and records that belong to them. Their arguments are
// those of lookUpCounts and ownEmails, then the IDs, the codes or both, then the others.
type namedStatements struct{ coupons, held, emails string }

// These constants are the kinds of names in a look-up, as indexes of statements.named. A single name
// has its own statements, because their plans are simple.
const (
	namesID   = 1
	namesCode = 2
	oneName   = 4
)

// about returns the statements for the coupons, the held uses and the IDs that the SQL texts select.
func (s *statements) about(coupons, held, ids string) namedStatements {
	name := func(what, text, of string) string { return numbered(s.name(what, fmt.Sprintf(text, of))) }
	return namedStatements{
		coupons: name("look up coupons", `SELECT `+couponList+`, c.code_key, c.code_batch, c.code_max_uses, c.code_owner, c.code_active,
			c.code_expires_at, c.code_created_at, c.code_updated_at, c.code_revision, c.code_reserved, c.code_completed, `+lookUpCounts+`, `+ownEmails+`
			FROM (%s) c`, coupons),
		held: name("read held uses", `SELECT `+useList+` FROM (%s) u ORDER BY u.created_at DESC, u.id DESC`, held),
		emails: name("read allow-lists", `SELECT w.id, e.email FROM (%s) w CROSS JOIN LATERAL (
			SELECT * FROM {coupon_emails} e WHERE e.coupon_id = w.id OFFSET 0) e ORDER BY w.id, e.position`, ids),
	}
}

// couponRow is a row of couponList.
type couponRow struct {
	id, code, state                   string
	revision, version                 int64
	unlimited                         bool
	emails                            int
	starts, expires, created, updated int64
	document                          pgtype.DriverBytes // valid until the next row is read
}

func (r *couponRow) columns() []any {
	return []any{
		&r.id, &r.code, &r.state, &r.revision, &r.version, &r.unlimited, &r.emails,
		&r.starts, &r.expires, &r.created, &r.updated, &r.document,
	}
}

// counted reads the row of a coupon with its counts.
func (r *couponRow) counted(row pgx.Rows, c *coupon.Coupon) error {
	if err := row.Scan(append(r.columns(), &c.ReservedCount, &c.UsedCount)...); err != nil {
		return err
	}
	return r.into(c)
}

// into completes a coupon.
func (r *couponRow) into(c *coupon.Coupon) error {
	c.ID, c.Revision = r.id, r.revision
	c.StartsAt, c.ExpiresAt, c.CreatedAt, c.UpdatedAt = instant(r.starts), instant(r.expires), instant(r.created), instant(r.updated)
	return engine.ReadCoupon(c, r.code, r.state, r.emails, r.document)
}

// SaveCoupon implements [store.Coupons].
func (s *Store) SaveCoupon(ctx context.Context, c store.CouponChange) (saved coupon.Coupon, err error) {
	c = c.Normalize()
	if err := c.Validate(); err != nil {
		return coupon.Coupon{}, err
	}
	if err := s.ready(ctx); err != nil {
		return coupon.Coupon{}, err
	}
	if !store.IsText(c.Coupon.ID) {
		return coupon.Coupon{}, unknownCoupon(c.Coupon.ID)
	}
	err = s.transact(ctx, func(t *tx) (err error) {
		saved, err = engine.SaveCoupon(ctx, t, c)
		return err
	})
	return saved, err
}

func unknownCoupon(id string) error { return coupon.Reject(id, coupon.CouponNotFound, coupon.Params{}) }

// LoadCoupon implements [engine.CouponTx] in one round trip.
func (t *tx) LoadCoupon(ctx context.Context, id string, code coupon.Code) (stored engine.StoredCoupon, err error) {
	b := new(pgx.Batch)
	b.Queue(t.sql.lockCoupon, id) // a statement of its own: if it also counted, it would count the state before its wait
	queue(b, func(row pgx.Rows) error {
		var r couponRow
		err := r.counted(row, &stored.Coupon)
		stored.Version, stored.Unlimited = r.version, r.unlimited
		return err
	}, t.sql.lookUpByID, id)
	if !code.IsZero() {
		queue(b, func(row pgx.Rows) error { return row.Scan(&stored.CodeOf) }, t.sql.codeOwner, code.String())
	}
	queue(b, func(row pgx.Rows) error { return row.Scan(&stored.Counted) }, t.sql.counted, eligibility.CouponUses(id))
	return stored, t.send(ctx, b, false)
}

// SaveCoupon implements [engine.CouponTx] in one round trip, which also commits. Many new codes are copied before it.
func (t *tx) SaveCoupon(ctx context.Context, w engine.CouponWrite) error {
	document, err := engine.EncodeCoupon(w.Coupon)
	if err != nil {
		return err
	}
	if err := t.copyCodes(ctx, w.Codes); err != nil {
		return err
	}
	c, b := w.Coupon, new(pgx.Batch)
	starts, expires, created, updated := micros(c.StartsAt), micros(c.ExpiresAt), micros(c.CreatedAt), micros(c.UpdatedAt)
	switch w.Kind {
	case store.CreateCoupon:
		b.Queue(t.sql.insertCoupon, []string{c.ID}, c.Code.String(), c.State.String(), c.Revision, w.Version, w.Unlimited,
			eligibility.CouponUses(c.ID), eligibility.CustomerUses(c.ID, ""), c.AllowedUserEmails.Len(),
			starts, expires, created, updated, engine.SearchText(c), string(document), c.Discount.Type().String(), c.Limits.MaxUses)
	case store.EditCoupon, store.ConfirmMirror:
		b.Queue(t.sql.updateCoupon, c.ID, c.Code.String(), c.State.String(), c.Revision, w.Version, w.Unlimited,
			c.AllowedUserEmails.Len(), starts, expires, created, updated, engine.SearchText(c), string(document), c.Limits.MaxUses)
	case store.DeleteCoupon:
		b.Queue(t.sql.deleteCoupon, c.ID)
	}
	if !w.KeepEmails || w.Kind == store.DeleteCoupon {
		b.Queue(t.sql.deleteEmails, c.ID)
		b.Queue(t.sql.insertEmails, c.ID, c.AllowedUserEmails.Slice()) // an unchanged coupon has no addresses here
	}
	if w.Fold != "" {
		b.Queue(t.sql.foldCounter, w.Fold)
	}
	t.queueCodes(b, w)
	if w.Entry.Kind != "" {
		t.queueEntries(b, []store.Entry{w.Entry})
	}
	return t.send(ctx, b, true)
}
