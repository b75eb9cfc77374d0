package memstore

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

var _ store.Verifier = (*Store)(nil)

// Verify implements [store.Verifier]. It needs memory for all counters.
func (s *Store) Verify(ctx context.Context) iter.Seq2[store.Difference, error] {
	return func(yield func(store.Difference, error) bool) {
		found, err := s.differences(ctx)
		if err != nil {
			yield(store.Difference{}, err)
			return
		}
		for _, d := range found {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func (s *Store) differences(ctx context.Context) (found []store.Difference, _ error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	note := func(d store.Difference, _ error) bool {
		found = append(found, d)
		return true
	}
	held := map[string]eligibility.Count{}
	add := func(more map[string]eligibility.Count) {
		for key, count := range more {
			held[key] = held[key].Plus(count)
		}
	}
	for _, o := range s.orders {
		add(redemption.Holdings(o))
	}
	for _, u := range s.uses {
		add(redemption.Holdings(redemption.Order{}, u))
	}
	keys := slices.AppendSeq(slices.Collect(maps.Keys(held)), maps.Keys(s.counters))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		store.CompareCounts(key, s.counters[key], held[key], note)
	}
	codes := map[[2]string]store.BatchCounts{}
	for key, c := range s.issued {
		b := codes[[2]string{key.CouponID, c.Batch}]
		b.Codes++
		if !c.Owner.IsZero() {
			b.Assigned++
		}
		if !c.Active {
			b.Inactive++
		}
		codes[[2]string{key.CouponID, c.Batch}] = b
	}
	for _, b := range s.batches {
		counted := store.BatchCounts{Codes: b.Added - b.Removed, Assigned: b.Assigned, Inactive: b.Inactive}
		store.CompareBatch(b.CouponID, b.ID, counted, codes[[2]string{b.CouponID, b.ID}], note)
	}
	return found, nil
}
