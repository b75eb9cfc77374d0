package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/store/internal/sqlparts"
)

const (
	codeColumns   = "coupon_id, code_key, batch, max_uses, owner, active, expires_at, created_at, updated_at, revision"
	selectLive    = `SELECT ` + codeColumns + ` FROM {codes} WHERE live = 1 AND code_key IN ({in})`
	selectCodes   = `SELECT ` + codeColumns + ` FROM {codes} WHERE (coupon_id, code_key) IN ({in})`
	selectPortion = `SELECT ` + codeColumns + ` FROM {codes} WHERE coupon_id = ? AND live = 1 ORDER BY code_key LIMIT ?`
	selectBatch   = `SELECT ` + codeColumns + ` FROM {codes} WHERE coupon_id = ? AND batch = ? AND batch <> '' ORDER BY position`
	selectOwned   = `SELECT ` + codeColumns + ` FROM {codes}{by_batch} WHERE batch <> '' AND coupon_id = ? AND batch = ? AND active IN (0, 1) AND owner IN ({in}) ORDER BY position`
	selectFree    = `SELECT k.coupon_id, k.code_key, k.batch, k.max_uses, k.owner, k.active, k.expires_at, k.created_at, k.updated_at, k.revision
	FROM {codes} k LEFT JOIN {counters} n ON n.counter = k.counter AND n.slot = 0
	WHERE k.coupon_id = ? AND k.batch = ? AND k.batch <> '' AND k.active = 1 AND k.owner = '' AND (k.expires_at IS NULL OR k.expires_at > ?)
	AND COALESCE(n.reserved + n.completed, 0) = 0 ORDER BY k.position LIMIT ?`
	batchColumns = `id, coupon_id, size, added, removed, assigned, inactive, created_at, fingerprint`
	findBatch    = `SELECT ` + batchColumns + ` FROM {code_batches} WHERE coupon_id = ? AND id = ?`
	selectAfter  = `SELECT ` + batchColumns + ` FROM {code_batches} WHERE coupon_id = ? AND id > ? AND (? = '' OR id = ?) ORDER BY id LIMIT ?`
	insertBatch  = `{insert} {code_batches} (id, coupon_id, size, added, removed, assigned, inactive, created_at, fingerprint) VALUES {rows}`
	updateBatch  = `UPDATE {code_batches} SET size = ?, added = ?, removed = ?, assigned = ?, inactive = ? WHERE coupon_id = ? AND id = ?`
	insertCodes  = `{insert} {codes} (coupon_id, code_key, live, batch, position, counter, max_uses, owner, active, expires_at,
	created_at, updated_at, revision) VALUES {rows}`
	updateCode = `UPDATE {codes} SET max_uses = ?, owner = ?, active = ?, expires_at = ?, updated_at = ?, revision = ?
	WHERE coupon_id = ? AND code_key = ?`
	removeCodes   = `DELETE FROM {codes} WHERE (coupon_id, code_key) IN ({in})`
	retireCodes   = `UPDATE {codes} SET live = NULL WHERE (coupon_id, code_key) IN ({in})`
	deleteBatches = `DELETE FROM {code_batches} WHERE coupon_id = ?`
)

// scanCode reads codeColumns. It leaves the counts at 0.
func scanCode(rows *sql.Rows) (c coupon.IssuedCode, err error) {
	var key, owner string
	var expires, created, updated instant
	if err := rows.Scan(&c.CouponID, &key, &c.Batch, &c.MaxUses, &owner, &c.Active, &expires, &created, &updated, &c.Revision); err != nil {
		return c, err
	}
	c.ExpiresAt, c.CreatedAt, c.UpdatedAt = expires.time(), created.time(), updated.time()
	err = engine.ReadCode(&c, key, owner)
	return c, err
}

// countCodes sets the counts of codes.
func (s *session) countCodes(ctx context.Context, codes []coupon.IssuedCode) error {
	counts, err := s.counts(ctx, each(codes, engine.CounterOf))
	for i := range codes {
		codes[i].UsedCount, codes[i].ReservedCount = counts[i].Completed, counts[i].Reserved
	}
	return err
}

// loadCodes reads codes after their coupons are locked.
func (s *session) loadCodes(ctx context.Context, n engine.Need, rows *engine.Rows) error {
	keys := slices.Concat(each(n.Codes, func(k engine.CodeKey) []any { return []any{k.CouponID, k.Code} })...)
	return s.eachIn(ctx, selectCodes+s.find, 2, keys, func(found *sql.Rows) error {
		c, err := scanCode(found)
		rows.Codes = append(rows.Codes, engine.Code{CodeKey: engine.CodeKey{CouponID: c.CouponID, Code: c.Code.String()}, Active: c.Active, Revision: c.Revision})
		return err
	})
}

// LoadCodes implements [engine.CouponTx].
func (s *session) LoadCodes(ctx context.Context, n engine.CodeNeed) (rows engine.CodeRows, err error) {
	keys := anys(unique(each(n.Keys, coupon.Code.String)))
	if err := s.eachIn(ctx, selectLive+s.find, 1, keys, collect(&rows.Codes, scanCode)); err != nil {
		return rows, err
	}
	if n.Live > 0 {
		if err := s.each(ctx, selectPortion+s.find, collect(&rows.Codes, scanCode), n.CouponID, int64(n.Live)); err != nil {
			return rows, err
		}
	}
	if err := s.countCodes(ctx, rows.Codes); err != nil || n.Batch == "" {
		return rows, err
	}
	if err := s.each(ctx, findBatch+s.find, func(found *sql.Rows) (err error) {
		rows.Batch, err = scanBatch(found)
		return err
	}, n.CouponID, n.Batch); err != nil {
		return rows, err
	}
	return rows, s.loadBatch(ctx, n, &rows)
}

// loadBatch reads codes of a batch.
func (s *session) loadBatch(ctx context.Context, n engine.CodeNeed, rows *engine.CodeRows) error {
	if n.All {
		if err := s.each(ctx, selectBatch+s.find, collect(&rows.All, scanCode), n.CouponID, n.Batch); err != nil {
			return err
		}
	}
	owners := each(n.Owners, func(o coupon.Owner) any { return o.String() })
	if err := s.eachIn(ctx, selectOwned+s.find, 1, owners, collect(&rows.Owned, scanCode), n.CouponID, n.Batch); err != nil {
		return err
	}
	if n.Free > 0 {
		if err := s.each(ctx, selectFree+s.find, collect(&rows.Free, scanCode), n.CouponID, n.Batch, n.At.UnixMicro(), int64(n.Free)); err != nil {
			return err
		}
	}
	return errors.Join(s.countCodes(ctx, rows.All), s.countCodes(ctx, rows.Owned))
}

// scanBatch reads batchColumns.
func scanBatch(rows *sql.Rows) (b coupon.IssuedBatch, err error) {
	var created instant
	err = rows.Scan(&b.ID, &b.CouponID, &b.Size, &b.Added, &b.Removed, &b.Assigned, &b.Inactive, &created, &b.Fingerprint)
	b.CreatedAt = created.time()
	return b, err
}

func (s *session) saveBatch(ctx context.Context, w engine.CodeWrites) error {
	b := w.Batch
	switch {
	case b.ID == "":
		return nil
	case w.NewBatch:
		return s.insert(ctx, insertBatch, [][]any{{b.ID, b.CouponID, b.Size, b.Added, b.Removed, b.Assigned, b.Inactive, b.CreatedAt.UnixMicro(), b.Fingerprint}})
	}
	return s.exec(ctx, updateBatch, b.Size, b.Added, b.Removed, b.Assigned, b.Inactive, b.CouponID, b.ID)
}

func (s *session) saveCodes(ctx context.Context, w engine.CouponWrite) error {
	id, codes := w.Coupon.ID, w.Codes
	if err := s.saveBatch(ctx, codes); err != nil {
		return err
	}
	places := make([]int, len(codes.New)) // sorted by the codes, so that rows share pages of the index
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return strings.Compare(codes.New[a].Code.String(), codes.New[b].Code.String()) })
	rows := make([][]any, len(places))
	for i, place := range places {
		c := codes.New[place]
		counter := engine.CounterOf(c)
		if counter != "" {
			counter = s.stored(counter)
		}
		rows[i] = []any{
			id, c.Code.String(), int64(1), c.Batch, codes.From + int64(place), counter, c.MaxUses, c.Owner.String(), flag(c.Active), micros(c.ExpiresAt),
			c.CreatedAt.UnixMicro(), c.UpdatedAt.UnixMicro(), c.Revision,
		}
	}
	if err := s.insert(ctx, insertCodes, rows); err != nil {
		return err
	}
	for _, c := range codes.Changed {
		if err := s.exec(ctx, updateCode, c.MaxUses, c.Owner.String(), flag(c.Active), micros(c.ExpiresAt), c.UpdatedAt.UnixMicro(), c.Revision,
			id, c.Code.String()); err != nil {
			return err
		}
	}
	if err := s.execIn(ctx, removeCodes, id, codes.Removed); err != nil {
		return err
	}
	if err := s.execIn(ctx, retireCodes, id, codes.Retired); err != nil || w.Kind != store.DeleteCoupon {
		return err
	}
	return s.exec(ctx, deleteBatches, id)
}

// execIn runs a statement on the codes of a coupon.
func (s *session) execIn(ctx context.Context, statement, couponID string, codes []coupon.Code) error {
	keys := slices.Concat(each(codes, func(c coupon.Code) []any { return []any{couponID, c.String()} })...)
	return s.eachIn(ctx, statement, 2, keys, func(*sql.Rows) error { return nil })
}

// SaveCodes implements [store.Coupons].
func (s *Store) SaveCodes(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
	c = c.Normalize()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	var issued []coupon.IssuedCode
	err := s.write(ctx, "save codes", &request{other: func(ctx context.Context, t *session) (err error) {
		issued, err = engine.SaveCodes(ctx, t, c)
		return err
	}})
	return answered(issued, err)
}

// ListCodes implements [store.Coupons].
func (s *Store) ListCodes(ctx context.Context, list store.CodeList) (store.CodePage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.CodePage{}, err
	}
	var all sqlparts.Conditions
	all.Codes(list)
	var codes []coupon.IssuedCode
	err = s.view(ctx, "list codes", func(ctx context.Context, t *session) error {
		codes = nil
		if err := t.each(ctx, "SELECT "+of("k", codeColumns)+" FROM {codes} k LEFT JOIN {counters} n ON n.counter = k.counter AND n.slot = 0"+
			all.Where()+" ORDER BY k.code_key LIMIT ?", collect(&codes, scanCode), append(all.Args, int64(list.PageSize+1))...); err != nil {
			return err
		}
		return t.countCodes(ctx, codes)
	})
	return answered(store.CutCodes(codes, list.PageSize), err)
}

// codesOf reads the live codes with these keys, and their counts.
func (s *session) codesOf(ctx context.Context, keys []string) (map[coupon.Code]coupon.IssuedCode, error) {
	var codes []coupon.IssuedCode
	if err := s.eachIn(ctx, selectLive, 1, anys(keys), collect(&codes, scanCode)); err != nil {
		return nil, err
	}
	of := make(map[coupon.Code]coupon.IssuedCode, len(codes))
	err := s.countCodes(ctx, codes)
	for _, c := range codes {
		of[c.Code] = c
	}
	return of, err
}

// ListBatches implements [store.Coupons].
func (s *Store) ListBatches(ctx context.Context, list store.BatchList) (store.BatchPage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.BatchPage{}, err
	}
	var batches []coupon.IssuedBatch
	err = s.view(ctx, "list batches", func(ctx context.Context, t *session) error {
		batches = nil
		if err := t.each(ctx, selectAfter, collect(&batches, scanBatch), list.CouponID, list.After, list.ID, list.ID, int64(list.PageSize+1)); err != nil {
			return err
		}
		counts, err := t.counts(ctx, each(batches, func(b coupon.IssuedBatch) string { return eligibility.BatchUses(b.CouponID, b.ID) }))
		for i := range counts {
			batches[i].ReservedCount, batches[i].UsedCount = counts[i].Reserved, counts[i].Completed
		}
		return err
	})
	return answered(store.CutBatches(batches, list.PageSize), err)
}
