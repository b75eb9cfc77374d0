package ratelimit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/validation"
)

// DefaultMaxTracked is the default of [MemoryOptions].MaxTracked.
const DefaultMaxTracked = 100_000

// MemoryOptions are the options of a [Memory]. The zero value is the default.
type MemoryOptions struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// MaxTracked is how many subjects have counts of their own; 0 is [DefaultMaxTracked]. Each takes about 100
	// bytes. The last call may track a few subjects more.
	MaxTracked int
}

// Memory is a [Limiter] that counts in memory. Its counts are those of one process, and end with it. The zero
// Memory is not usable: use [NewMemory] to make one.
//
// Memory forgets a subject only after all of its attempts have come back. While MaxTracked subjects have not,
// all further subjects of a limit share one bucket. An attacker with very many addresses thus never gets more
// attempts by filling the memory. Customers who enter valid codes get their attempts back, and rarely notice.
type Memory struct {
	limits Limits
	shared map[string]string // by name of a limit: the key of the bucket that further subjects share
	now    func() time.Time
	most   int
	every  time.Duration // least time between two sweeps

	mu     sync.Mutex
	fullAt map[string]time.Time // by the key of a bucket: when it is full
	swept  time.Time
}

// sweepsInWindow is how often a full memory is swept within the longest window.
const sweepsInWindow = 16

// NewMemory returns a limiter that counts in memory. If limits or options are invalid, NewMemory returns a
// [*validation.Error].
func NewMemory(limits Limits, o MemoryOptions) (*Memory, error) {
	var faults validation.Error
	faults.Merge("limits", limits.Validate())
	if o.MaxTracked < 0 {
		faults.Add("maxTracked", validation.TooSmall, "is not negative")
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	m := &Memory{
		limits: maps.Clone(limits), shared: map[string]string{}, now: o.Now,
		most: cmp.Or(o.MaxTracked, DefaultMaxTracked), fullAt: map[string]time.Time{},
	}
	if m.now == nil {
		m.now = time.Now
	}
	for name, l := range limits {
		m.shared[name] = Subject{Limit: name}.key() // no subject has an empty ID
		m.every = max(m.every, l.Window/sweepsInWindow)
	}
	return m, nil
}

// Take implements [Limiter].
func (m *Memory) Take(ctx context.Context, n int, subjects ...Subject) error {
	buckets, err := m.limits.buckets(n, subjects)
	if err != nil || isNothing(n, err) {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("count attempts: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := calendar.Instant(m.now())
	m.makeRoom(at, len(buckets))
	after := make(map[string]time.Time, len(buckets))
	var retryAt time.Time
	for i, b := range buckets {
		key := m.bucketOf(b.Key, subjects[i].Limit)
		before, again := after[key] // two subjects may share a bucket
		if !again {
			before = m.fullAt[key]
		}
		fullAt, later := b.Take(before, at)
		if later.After(retryAt) {
			retryAt = later
		}
		after[key] = fullAt
	}
	if !retryAt.IsZero() {
		return tooMany(retryAt)
	}
	maps.Copy(m.fullAt, after)
	return nil
}

// Return implements [Limiter].
func (m *Memory) Return(_ context.Context, n int, subjects ...Subject) error {
	buckets, err := m.limits.buckets(n, subjects)
	if err != nil || isNothing(n, err) {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, b := range buckets {
		key := b.Key
		if _, own := m.fullAt[key]; !own {
			key = m.shared[subjects[i].Limit]
		}
		if fullAt, known := m.fullAt[key]; known {
			m.fullAt[key] = fullAt.Add(-b.Cost)
		}
	}
	return nil
}

// bucketOf returns the key of the bucket that counts a subject. If there is no room for a bucket of its own,
// it is the shared bucket of the limit.
func (m *Memory) bucketOf(key, limit string) string {
	if _, known := m.fullAt[key]; known || len(m.fullAt) < m.most {
		return key
	}
	return m.shared[limit]
}

// makeRoom forgets full buckets if there may be no room for n more. It looks at all of them, and so does it
// only a few times in a window.
func (m *Memory) makeRoom(at time.Time, n int) {
	since := at.Sub(m.swept)
	if len(m.fullAt)+n <= m.most || since >= 0 && since < m.every {
		return
	}
	m.swept = at
	maps.DeleteFunc(m.fullAt, func(_ string, fullAt time.Time) bool { return !fullAt.After(at) })
}

var (
	_ Limiter = (*Memory)(nil)
	_ Limiter = (*Stored)(nil)
)
