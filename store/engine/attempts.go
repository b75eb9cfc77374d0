package engine

import (
	"context"
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

// SaveAttempts decides about a normalized and valid change. It returns the instant from which all buckets
// have enough, or the zero time if the change was made.
func SaveAttempts(ctx context.Context, tx AttemptTx, c store.AttemptChange) (retryAt time.Time, err error) {
	keys := make([]string, len(c.Buckets))
	for i, b := range c.Buckets {
		keys[i] = b.Key
	}
	stored, err := tx.LoadAttempts(ctx, keys)
	if err != nil {
		return time.Time{}, err
	}
	var writes []BucketWrite
	for _, b := range c.Buckets {
		fullAt, known := stored[b.Key]
		switch {
		case c.Kind == store.TakeAttempts:
			after, later := b.Take(fullAt, c.At)
			if later.After(retryAt) {
				retryAt = later
			}
			writes = append(writes, BucketWrite{Key: b.Key, FullAt: after, New: !known})
		case known: // a bucket that is not stored is full
			writes = append(writes, BucketWrite{Key: b.Key, FullAt: fullAt.Add(-b.Cost)})
		}
	}
	if !retryAt.IsZero() || len(writes) == 0 {
		return retryAt, nil
	}
	return time.Time{}, tx.SaveAttempts(ctx, writes)
}
