package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// buckets are the buckets of a store. They count how often they are loaded and saved.
type buckets struct {
	t            require.TestingT
	fullAt       map[string]time.Time
	loads, saves int
}

func (b *buckets) LoadAttempts(_ context.Context, keys []string) (map[string]time.Time, error) {
	b.loads++
	require.True(b.t, slices.IsSorted(keys), "keys are locked in order: %q", keys)
	require.Len(b.t, slices.Compact(slices.Clone(keys)), len(keys), "each key is locked once: %q", keys)
	var found map[string]time.Time // nil if no bucket is stored
	for _, key := range keys {
		if fullAt, known := b.fullAt[key]; known {
			if found == nil {
				found = map[string]time.Time{}
			}
			found[key] = fullAt
		}
	}
	return found, nil
}

func (b *buckets) SaveAttempts(_ context.Context, writes []engine.BucketWrite) error {
	b.saves++
	require.True(b.t, slices.IsSortedFunc(writes, func(v, w engine.BucketWrite) int { return cmp.Compare(v.Key, w.Key) }))
	for _, w := range writes {
		before, known := b.fullAt[w.Key]
		require.Equal(b.t, w.New, !known, w.Key)
		require.False(b.t, known && before.Equal(w.FullAt), "%s has not changed", w.Key)
		b.fullAt[w.Key] = w.FullAt
	}
	return nil
}

// TestBatchesOfAttempts: a batch of changes has the answers, and leaves the buckets, that its changes would have had
// one after the other. It is loaded and saved once.
func TestBatchesOfAttempts(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background() //nolint:usetesting // rapid has no context of its own
		together, alone := &buckets{t: t, fullAt: map[string]time.Time{}}, &buckets{t: t, fullAt: map[string]time.Time{}}
		for batch := range rapid.IntRange(1, 4).Draw(t, "batches") {
			changes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) store.AttemptChange {
				c := store.AttemptChange{
					Kind: rapid.SampledFrom([]store.AttemptKind{store.TakeAttempts, store.ReturnAttempts}).Draw(t, "kind"),
					At:   start.Add(time.Duration(rapid.IntRange(-300, 300).Draw(t, "second")) * time.Second),
				}
				for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(1, 4), 1, 3, rapid.ID).Draw(t, "buckets") {
					cost := time.Duration(rapid.IntRange(1, n).Draw(t, "attempts")) * time.Minute
					c.Buckets = append(c.Buckets, store.Bucket{Key: fmt.Sprint("bucket-", n), Size: time.Duration(n) * time.Minute, Cost: cost})
				}
				return c.Normalize()
			}), 1, 8).Draw(t, "changes")
			got, err := engine.SaveAttempts(ctx, together, changes...)
			require.NoError(t, err)
			var want []engine.Answer[time.Time]
			for _, c := range changes {
				one, err := engine.SaveAttempts(ctx, alone, c)
				require.NoError(t, err)
				want = append(want, one...)
			}
			require.Equal(t, want, got)
			require.Equal(t, alone.fullAt, together.fullAt)
			require.Equal(t, batch+1, together.loads)
			require.LessOrEqual(t, together.saves, together.loads)
		}
	})
}
