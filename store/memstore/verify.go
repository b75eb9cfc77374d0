package memstore

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

var _ store.Verifier = (*Store)(nil)

// Verify implements [store.Verifier]. It needs memory for all counters, and nobody else uses the store meanwhile.
func (s *Store) Verify(ctx context.Context) iter.Seq2[store.Difference, error] {
	return engine.Verify(func(r *engine.Recount) error { return s.recount(ctx, r) })
}

func (s *Store) recount(ctx context.Context, r *engine.Recount) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
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
		if err := r.Counter(key, s.counters[key], held[key]); err != nil {
			return err
		}
	}
	codes := map[[2]string]engine.BatchCounts{}
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
		counted := engine.BatchCounts{Codes: b.Added - b.Removed, Assigned: b.Assigned, Inactive: b.Inactive}
		if err := r.Batch(b.CouponID, b.ID, counted, codes[[2]string{b.CouponID, b.ID}]); err != nil {
			return err
		}
	}
	return nil
}
