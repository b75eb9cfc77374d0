package memstore

import (
	"context"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// batch is a batch with the keys of its codes.
type batch struct {
	coupon.IssuedBatch

	keys []coupon.Code // in order of addition
}

func codeKey(couponID string, code coupon.Code) engine.CodeKey {
	return engine.CodeKey{CouponID: couponID, Code: code.String()}
}

// LoadCodes implements [engine.CouponTx]. The caller holds the mutex.
func (tx couponTx) LoadCodes(_ context.Context, n engine.CodeNeed) (engine.CodeRows, error) {
	var rows engine.CodeRows
	for _, key := range n.Keys {
		if holder, live := tx.codes[key]; live {
			rows.Codes = append(rows.Codes, tx.countedCode(tx.issued[codeKey(holder, key)]))
		}
	}
	for _, key := range tx.codesOf[n.CouponID] {
		if len(rows.Codes) >= n.Live {
			break
		}
		code := tx.countedCode(tx.issued[engine.CodeKey{CouponID: n.CouponID, Code: key}])
		if tx.codes[code.Code] == n.CouponID {
			rows.Codes = append(rows.Codes, code)
		}
	}
	known := tx.batches[engine.CodeKey{CouponID: n.CouponID, Code: n.Batch}]
	rows.Batch = known.IssuedBatch
	if !n.All && n.Free == 0 {
		return rows, nil
	}
	owners := make(map[coupon.Owner]bool, len(n.Owners))
	for _, owner := range n.Owners {
		owners[owner] = true
	}
	for _, key := range known.keys {
		c := tx.countedCode(tx.issued[codeKey(n.CouponID, key)])
		if n.All {
			rows.All = append(rows.All, c)
		}
		if owners[c.Owner] {
			rows.Owned = append(rows.Owned, c)
		}
		if free := c.Active && c.Owner.IsZero() && c.UsedCount+c.ReservedCount == 0 && (c.ExpiresAt.IsZero() || c.ExpiresAt.After(n.At)); free && len(rows.Free) < n.Free {
			rows.Free = append(rows.Free, c)
		}
	}
	return rows, nil
}

// saveCodes writes codes of a coupon. The caller holds the mutex.
func (s *Store) saveCodes(couponID string, w engine.CodeWrites) {
	of := engine.CodeKey{CouponID: couponID, Code: w.Batch.ID}
	changed := batch{w.Batch, s.batches[of].keys}
	var added []string
	for _, c := range w.New {
		s.issued[codeKey(couponID, c.Code)], s.codes[c.Code] = c, couponID
		changed.keys = append(changed.keys, c.Code)
		added = append(added, c.Code.String())
	}
	s.codesOf[couponID] = merged(s.codesOf[couponID], added)
	for _, c := range w.Changed {
		s.issued[codeKey(couponID, c.Code)] = c
	}
	gone := make(map[coupon.Code]bool, len(w.Removed))
	for _, key := range w.Removed {
		delete(s.issued, codeKey(couponID, key))
		delete(s.codes, key)
		gone[key] = true
	}
	if len(gone) > 0 {
		changed.keys = slices.DeleteFunc(slices.Clone(changed.keys), func(key coupon.Code) bool { return gone[key] })
	}
	if w.Batch.ID != "" {
		s.batches[of] = changed
	}
	for _, key := range w.Retired {
		delete(s.codes, key)
	}
	if len(w.Removed) > 0 {
		s.codesOf[couponID] = slices.DeleteFunc(s.codesOf[couponID], func(key string) bool {
			_, known := s.issued[engine.CodeKey{CouponID: couponID, Code: key}]
			return !known
		})
	}
	if s.coupons[couponID] == nil { // the coupon was deleted
		for key := range s.batches {
			if key.CouponID == couponID {
				delete(s.batches, key)
			}
		}
	}
}

// merged adds keys to a sorted list.
func merged(list, added []string) []string {
	if len(added) == 0 {
		return list
	}
	slices.Sort(added)
	all := make([]string, 0, len(list)+len(added))
	for _, key := range added {
		at, _ := slices.BinarySearch(list, key)
		all = append(append(all, list[:at]...), key)
		list = list[at:]
	}
	return append(all, list...)
}

// countedCode returns the code with its counts.
func (s *Store) countedCode(c coupon.IssuedCode) coupon.IssuedCode {
	count := s.counters[engine.CounterOf(c)]
	c.UsedCount, c.ReservedCount = count.Completed, count.Reserved
	return c
}

// SaveCodes implements [store.Coupons].
func (s *Store) SaveCodes(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
	c = c.Normalize()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return engine.SaveCodes(ctx, couponTx{s}, c)
}

// ListCodes implements [store.Coupons].
func (s *Store) ListCodes(ctx context.Context, list store.CodeList) (store.CodePage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.CodePage{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.CodePage{}, err
	}
	defer s.mu.Unlock()
	keys := s.codesOf[list.CouponID]
	at, found := slices.BinarySearch(keys, list.After)
	if found {
		at++
	}
	var codes []coupon.IssuedCode
	for _, key := range keys[at:] {
		c := s.countedCode(s.issued[engine.CodeKey{CouponID: list.CouponID, Code: key}])
		if list.Wants(c) {
			codes = append(codes, c)
		}
		if len(codes) > list.PageSize {
			break
		}
	}
	return store.CutCodes(codes, list.PageSize), nil
}

// ListBatches implements [store.Coupons].
func (s *Store) ListBatches(ctx context.Context, list store.BatchList) (store.BatchPage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.BatchPage{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.BatchPage{}, err
	}
	defer s.mu.Unlock()
	var batches []coupon.IssuedBatch
	for key, b := range s.batches {
		if key.CouponID == list.CouponID && key.Code > list.After && (list.ID == "" || list.ID == key.Code) {
			count := s.counters[eligibility.BatchUses(key.CouponID, key.Code)]
			b.UsedCount, b.ReservedCount = count.Completed, count.Reserved
			batches = append(batches, b.IssuedBatch)
		}
	}
	slices.SortFunc(batches, func(a, b coupon.IssuedBatch) int { return strings.Compare(a.ID, b.ID) })
	return store.CutBatches(batches, list.PageSize), nil
}
