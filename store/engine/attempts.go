package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/couponkit/couponkit/store"
)

// AttemptTx is a transaction that changes buckets of attempts.
type AttemptTx interface {
	// LoadAttempts locks the buckets with these keys, which are sorted. It returns the instants from which
	// those that exist are full.
	LoadAttempts(ctx context.Context, keys []string) (map[string]time.Time, error)
	// SaveAttempts writes buckets, sorted by key. The engine calls it at most once. If a new bucket
	// exists already, SaveAttempts returns [ErrAgain].
	SaveAttempts(ctx context.Context, w []BucketWrite) error
}

// BucketWrite is a bucket after a change.
type BucketWrite struct {
	Key    string
	FullAt time.Time
	// New tells that LoadAttempts did not find the bucket.
	New bool
}

// SaveAttempts decides about normalized and valid changes, one after the other, and saves them. An answer is
// the instant from which all buckets of the change have enough, or the zero time if the change was made.
func SaveAttempts(ctx context.Context, tx AttemptTx, changes ...store.AttemptChange) ([]Answer[time.Time], error) {
	var keys []string
	for _, c := range changes {
		for _, b := range c.Buckets {
			keys = append(keys, b.Key)
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	stored, err := tx.LoadAttempts(ctx, keys)
	if err != nil {
		return nil, err
	}
	fullAt, answers := make(map[string]time.Time, len(keys)), make([]Answer[time.Time], len(changes))
	maps.Copy(fullAt, stored)
	for i, c := range changes {
		answers[i].Value = changeBuckets(fullAt, c)
	}
	var writes []BucketWrite
	for _, key := range keys {
		before, known := stored[key]
		if after, exists := fullAt[key]; exists && !(known && after.Equal(before)) {
			writes = append(writes, BucketWrite{Key: key, FullAt: after, New: !known})
		}
	}
	if len(writes) == 0 {
		return answers, nil
	}
	return answers, tx.SaveAttempts(ctx, writes)
}

// changeBuckets makes the change if all buckets have enough. Otherwise it returns the instant from which they
// have.
func changeBuckets(fullAt map[string]time.Time, c store.AttemptChange) (retryAt time.Time) {
	changed := make(map[string]time.Time, len(c.Buckets))
	for _, b := range c.Buckets {
		before, known := fullAt[b.Key]
		switch {
		case c.Kind == store.TakeAttempts:
			after, later := b.Take(before, c.At)
			if later.After(retryAt) {
				retryAt = later
			}
			changed[b.Key] = after
		case known: // a bucket that is not stored is full
			changed[b.Key] = before.Add(-b.Cost)
		}
	}
	if retryAt.IsZero() {
		maps.Copy(fullAt, changed)
	}
	return retryAt
}
