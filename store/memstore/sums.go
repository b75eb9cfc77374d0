package memstore

import (
	"context"
	"slices"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// Sums implements [store.Orders].
func (s *Store) Sums(ctx context.Context, list store.SumList) ([]store.DaySum, error) {
	if err := list.Validate(); err != nil {
		return nil, err
	}
	sums := engine.NewSums(list)
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for _, at := range s.useLists.of(couponList(list.CouponID)).entries {
		if err := sums.AddUse(s.uses[at.id]); err != nil {
			return nil, err
		}
	}
	return sums.Days, nil
}

// History implements [store.Journal].
func (s *Store) History(ctx context.Context, couponID string, before int64, limit int) ([]store.Entry, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	before, limit = engine.HistoryBounds(before, limit)
	var entries []store.Entry
	for _, e := range slices.Backward(s.histories[couponID]) {
		if e.Version < before && len(entries) < limit {
			e.Data = slices.Clone(e.Data)
			entries = append(entries, e)
		}
	}
	return entries, nil
}
