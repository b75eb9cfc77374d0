package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/couponkit/couponkit/validation"
)

// These constants are the bounds of an [AttemptChange].
const (
	// MaxBuckets is the maximum number of buckets of one change.
	MaxBuckets = 16
	// MaxBucketKey is the maximum length of the key of a bucket, in bytes.
	MaxBucketKey = 64
	// MaxBucketSize is the longest time in which an empty bucket fills.
	MaxBucketSize = 366 * 24 * time.Hour
	// MaxForgotten is the maximum number of buckets that one call of ForgetAttempts removes.
	MaxForgotten = 1_000
)

// Attempts keeps the buckets of a rate limiter, so that several processes share them. Hosts use package
// ratelimit, which calls these methods.
type Attempts interface {
	// SaveAttempts takes attempts from every bucket of the change, or from none; see [AttemptKind]. If a
	// bucket has too few attempts, SaveAttempts changes nothing, and returns the instant from which all
	// buckets have enough. After a success, it returns the zero time. If the change is out of bounds,
	// SaveAttempts returns validation.ErrInvalid.
	SaveAttempts(ctx context.Context, c AttemptChange) (time.Time, error)
	// ForgetAttempts removes buckets that are full at the given instant, and returns their number. It
	// removes at most [MaxForgotten]. A bucket that is not stored is full, so nothing else changes.
	ForgetAttempts(ctx context.Context, at time.Time) (int, error)
}

// AttemptKind is the kind of an [AttemptChange].
type AttemptKind uint8

// These constants are the kinds of an [AttemptChange].
const (
	// TakeAttempts takes attempts.
	TakeAttempts AttemptKind = iota + 1
	// ReturnAttempts gives attempts back. A bucket never has more than it can hold. ReturnAttempts always
	// succeeds.
	ReturnAttempts
)

// AttemptChange takes attempts from buckets, or gives them back.
type AttemptChange struct {
	Kind AttemptKind
	// Buckets are at most [MaxBuckets], with different keys.
	Buckets []Bucket
	// At is the time of the change. If it is before the time of an earlier change, a bucket still fills
	// within its Size.
	At time.Time
}

// Bucket is the attempts of one subject. A bucket fills with time. Attempts are told as the time in which
// they come back.
type Bucket struct {
	// Key names the bucket: 1 to [MaxBucketKey] printable ASCII characters without white space.
	Key string
	// Size is the time in which an empty bucket fills, at most [MaxBucketSize].
	Size time.Duration
	// Cost is the time in which the attempts of the change come back, at most Size.
	Cost time.Duration
}

// Take takes the Cost from a bucket that is full from the instant fullAt on. It returns the instant from
// which the bucket is full again. If too little is left, it returns the instant from which the bucket has
// enough as retryAt. Otherwise retryAt is zero.
func (b Bucket) Take(fullAt, at time.Time) (after, retryAt time.Time) {
	most := at.Add(b.Size) // an empty bucket; the clock may have gone back
	if fullAt.After(most) {
		fullAt = most
	}
	if fullAt.Before(at) {
		fullAt = at
	}
	after = fullAt.Add(b.Cost)
	if after.After(most) {
		return time.Time{}, after.Add(-b.Size)
	}
	return after, time.Time{}
}

// Normalize sorts the buckets by their keys, and cuts times off at the microsecond.
func (c AttemptChange) Normalize() AttemptChange {
	c.At, c.Buckets = instant(c.At), slices.Clone(c.Buckets)
	for i := range c.Buckets {
		b := &c.Buckets[i]
		b.Size, b.Cost = b.Size.Truncate(time.Microsecond), b.Cost.Truncate(time.Microsecond)
	}
	slices.SortFunc(c.Buckets, func(a, b Bucket) int { return cmp.Compare(a.Key, b.Key) })
	return c
}

// Validate checks the bounds of a normalized change. It returns a [*validation.Error] that lists every
// invalid field.
func (c AttemptChange) Validate() error {
	var faults validation.Error
	if c.Kind != TakeAttempts && c.Kind != ReturnAttempts {
		faults.Add("kind", validation.Unknown, "must be TakeAttempts or ReturnAttempts")
	}
	changeFaults(&faults, c.At, "")
	switch {
	case len(c.Buckets) == 0:
		faults.Add("buckets", validation.Required, "at least one bucket is required")
	case len(c.Buckets) > MaxBuckets:
		faults.Add("buckets", validation.TooLong, fmt.Sprintf("at most %d buckets", MaxBuckets))
		return faults.Err()
	}
	for i, b := range c.Buckets {
		path := "buckets[" + strconv.Itoa(i) + "]"
		faults.Merge(path, b.faults())
		if i > 0 && b.Key == c.Buckets[i-1].Key {
			faults.Add(path+".key", validation.Mismatch, "each bucket has a key of its own")
		}
	}
	return faults.Err()
}

func (b Bucket) faults() error {
	var faults validation.Error
	switch {
	case b.Key == "":
		faults.Add("key", validation.Required, "is required")
	case len(b.Key) > MaxBucketKey:
		faults.Add("key", validation.TooLong, fmt.Sprintf("at most %d bytes", MaxBucketKey))
	case slices.ContainsFunc([]byte(b.Key), func(c byte) bool { return c <= ' ' || c > '~' }):
		faults.Add("key", validation.Malformed, "must be printable ASCII without white space")
	}
	switch {
	case b.Size <= 0:
		faults.Add("size", validation.TooSmall, "must be longer than 0")
	case b.Size > MaxBucketSize:
		faults.Add("size", validation.TooLarge, fmt.Sprintf("is at most %v", MaxBucketSize))
	}
	switch {
	case b.Cost <= 0:
		faults.Add("cost", validation.TooSmall, "must be longer than 0")
	case b.Cost > b.Size && b.Size > 0:
		faults.Add("cost", validation.TooLarge, "is at most the size")
	}
	return faults.Err()
}
