package api

import (
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/pricing"
)

// Limit bounds attempts: Burst at once, and one more every Every.
type Limit struct {
	Burst int
	Every time.Duration
}

// Limits bound guessing, and what is opened at the processor. Zero fields are the defaults.
// The limits of one process are its own; a service on several machines multiplies them, or
// keeps them where all machines see them.
type Limits struct {
	// AttemptsPerUser and AttemptsPerAddress bound look-ups of coupon codes that do
	// not exist. Default: 20, one more every 6 seconds; and 120, one every second.
	AttemptsPerUser    Limit
	AttemptsPerAddress Limit
	// LoginsPerUser and LoginsPerAddress bound wrong passwords. Default: 10, one
	// more every 30 seconds; and 50, one every 5 seconds.
	LoginsPerUser    Limit
	LoginsPerAddress Limit
	// CheckoutsPerUser and CheckoutsPerAddress bound checkouts and payment links, but for
	// those that are refused or repeated. Default: 30, one more every 20 seconds; and 300,
	// one every 2 seconds.
	CheckoutsPerUser    Limit
	CheckoutsPerAddress Limit
}

func (l Limits) orDefaults() Limits {
	set := func(l *Limit, fallback Limit) {
		if l.Burst <= 0 {
			l.Burst = fallback.Burst
		}
		if l.Every <= 0 {
			l.Every = fallback.Every
		}
	}
	set(&l.AttemptsPerUser, Limit{pricing.MaxCoupons, 6 * time.Second}) // enough for the codes of one request
	set(&l.AttemptsPerAddress, Limit{120, time.Second})
	set(&l.LoginsPerUser, Limit{10, 30 * time.Second})
	set(&l.LoginsPerAddress, Limit{50, 5 * time.Second})
	set(&l.CheckoutsPerUser, Limit{30, 20 * time.Second})
	set(&l.CheckoutsPerAddress, Limit{300, 2 * time.Second})
	return l
}

// limiter limits attempts by name. An attempt is counted before it runs, so that parallel requests
// cannot exceed the limit. It is given back if the code existed.
type limiter struct {
	limit Limit
	now   func() time.Time

	mu      sync.Mutex
	buckets map[string]*bucket
	// sweepAt is the number of buckets at which full buckets are dropped.
	sweepAt int
}

// bucket holds the remaining attempts of a name. It had no attempts at the instant empty, and has
// gained one every limit.Every since.
type bucket struct{ empty time.Time }

const fewBuckets = 1 << 12

func newLimiter(l Limit, now func() time.Time) *limiter {
	l.Burst = int(min(int64(l.Burst), math.MaxInt64/int64(l.Every))) // the time to fill a bucket must fit a time.Duration
	return &limiter{limit: l, now: now, buckets: map[string]*bucket{}, sweepAt: fewBuckets}
}

// take takes one attempt. If there is no attempt left, it returns the wait for the next.
func (l *limiter) take(name string) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	fullSince := now.Add(-time.Duration(l.limit.Burst) * l.limit.Every)
	b, known := l.buckets[name]
	if !known {
		l.sweep(fullSince)
		b = &bucket{empty: fullSince}
		l.buckets[name] = b
	}
	if b.empty.Before(fullSince) {
		b.empty = fullSince
	}
	if wait := b.empty.Add(l.limit.Every).Sub(now); wait > 0 {
		return wait, false
	}
	b.empty = b.empty.Add(l.limit.Every)
	return 0, true
}

// giveBack returns an attempt that was not a wrong guess.
func (l *limiter) giveBack(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b, known := l.buckets[name]; known {
		b.empty = b.empty.Add(-l.limit.Every)
	}
}

// sweep drops full buckets. The memory is then bounded by the number of names with recent attempts.
func (l *limiter) sweep(fullSince time.Time) {
	if len(l.buckets) < l.sweepAt {
		return
	}
	for name, b := range l.buckets {
		if !b.empty.After(fullSince) {
			delete(l.buckets, name)
		}
	}
	l.sweepAt = max(fewBuckets, 2*len(l.buckets))
}

// longestName is the maximum length of a user's name, in bytes. Longer names at a sign-in are cut,
// because no user has such a name.
const longestName = email.MaxLength

// limiters bound attempts by user and by address.
type limiters struct{ user, address *limiter }

func newLimiters(user, address Limit, now func() time.Time) limiters {
	return limiters{newLimiter(user, now), newLimiter(address, now)}
}

// take takes one attempt of the user and one of the address. An empty user is not counted. The result
// gives both attempts back. The caller calls it if the attempt was not a wrong guess.
func (l limiters) take(user, address string) (giveBack func(), err error) {
	address, user = network(address), strings.Clone(user[:min(len(user), longestName)])
	wait, ok := l.address.take(address)
	if !ok {
		return nil, tooMany(wait)
	}
	if user == "" {
		return func() { l.address.giveBack(address) }, nil
	}
	if wait, ok = l.user.take(user); !ok {
		l.address.giveBack(address)
		return nil, tooMany(wait)
	}
	return func() {
		l.address.giveBack(address)
		l.user.giveBack(user)
	}, nil
}

func tooMany(wait time.Duration) error {
	return problem{
		Status: http.StatusTooManyRequests, Code: "too_many_attempts", Title: "Too many attempts; try again later.",
		retryAfter: wait,
	}
}
