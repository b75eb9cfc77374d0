package memstore

import (
	"context"
	"time"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// LoadAttempts implements [engine.AttemptTx]. The caller holds the mutex.
func (s tx) LoadAttempts(_ context.Context, keys []string) (map[string]time.Time, error) {
	found := make(map[string]time.Time, len(keys))
	for _, key := range keys {
		if fullAt, known := s.attempts[key]; known {
			found[key] = fullAt
		}
	}
	return found, nil
}

// SaveAttempts implements [engine.AttemptTx]. The caller holds the mutex.
func (s tx) SaveAttempts(_ context.Context, writes []engine.BucketWrite) error {
	for _, w := range writes {
		s.attempts[w.Key] = w.FullAt
	}
	return nil
}

// SaveAttempts implements [store.Attempts].
func (s *Store) SaveAttempts(ctx context.Context, c store.AttemptChange) (time.Time, error) {
	c = c.Normalize()
	if err := c.Validate(); err != nil {
		return time.Time{}, err
	}
	if err := s.enter(ctx); err != nil {
		return time.Time{}, err
	}
	defer s.mu.Unlock()
	return engine.Only(engine.SaveAttempts(ctx, tx{s}, c))
}

// ForgetAttempts implements [store.Attempts].
func (s *Store) ForgetAttempts(ctx context.Context, at time.Time) (forgotten int, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	for key, fullAt := range s.attempts {
		if forgotten == store.MaxForgotten {
			break
		}
		if !fullAt.After(at) {
			delete(s.attempts, key)
			forgotten++
		}
	}
	return forgotten, nil
}
