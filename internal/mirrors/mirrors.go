// Package mirrors asks the processor about the mirrors of coupons, and caches its answers. A mirror is
// the processor's own copy of a coupon. The option couponkit.WithMirrorTTL tells what hosts may rely on.
package mirrors

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// MaxTTL is the longest TTL of a [Cache].
const MaxTTL = 24 * time.Hour

const (
	// trust is the number of TTLs for which a valid answer is used if the processor does not answer.
	trust = 10
	// patience is how long a caller waits for a newer answer if the cache has an older answer.
	patience = 2 * time.Second
	// maxAnswers is the maximum number of cached answers.
	maxAnswers = 10_000
)

// Check finds out what the processor says of the coupon's mirror.
type Check func(ctx context.Context, c coupon.Coupon, at time.Time) (processor.MirrorStatus, error)

// Invalid reports whether the coupon's mirror keeps customers from using the coupon. It checks the mirror
// only if the coupon has one, is active, and is within its dates. The mirror belongs to the plain code,
// and the coupon may have another code.
func (check Check) Invalid(ctx context.Context, c *coupon.Coupon, plain coupon.Code, at time.Time) (bool, error) {
	expired := !c.ExpiresAt.IsZero() && !at.Before(c.ExpiresAt)
	if c.Mirror.IsZero() || !c.Active() || at.Before(c.StartsAt) || expired {
		return false, nil
	}
	mirrored := *c
	mirrored.Code = plain
	status, err := check(ctx, mirrored, at)
	if err != nil {
		return false, fmt.Errorf("verify mirror of coupon %s: %w", c.ID, err)
	}
	return status != processor.MirrorValid && status != processor.MirrorUnsupported, nil
}

// A Cache asks the processor and remembers the answers. A Cache is safe for concurrent use. Set its exported
// fields before the first call.
type Cache struct {
	Mirrors processor.Mirror
	TTL     time.Duration // 0 remembers nothing
	Logger  *slog.Logger

	mu        sync.Mutex
	answers   map[string]*Answer // by coupon ID
	forgotten uint64             // number of calls of Forget
}

// Ask asks the processor and remembers the answer.
func (m *Cache) Ask(ctx context.Context, c coupon.Coupon, at time.Time) (processor.MirrorStatus, error) {
	asked := m.begin()
	status, err := m.Mirrors.VerifyMirror(ctx, c)
	if err == nil {
		m.put(c, status, at, asked)
	}
	return status, err
}

// Recent returns the answer that the cache remembers. Without an answer, it asks the processor. The first
// caller after the TTL asks for a newer answer, and waits for a limited time. Until the newer answer comes,
// other callers get the old answer. If the processor fails, the first caller gets the old answer, too.
func (m *Cache) Recent(ctx context.Context, c coupon.Coupon, at time.Time) (processor.MirrorStatus, error) {
	known, found, due := m.get(c, at)
	switch {
	case !found:
		return m.Ask(ctx, c, at)
	case !due:
		return known, nil
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	status, err := m.Ask(limited, c, at)
	switch {
	case err == nil:
		return status, nil
	case ctx.Err() != nil:
		m.notAsked(c, at)
		return 0, err
	}
	m.Logger.WarnContext(ctx, "the last valid answer about a mirror is used, for there is no newer one",
		slog.String("coupon", c.ID), slog.Any("error", err))
	return known, nil
}

// Forget drops the answer about a coupon whose mirror has changed.
func (m *Cache) Forget(couponID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgotten++
	delete(m.answers, couponID)
}

// Answer is what the processor has said about one revision of a coupon and one mirror.
type Answer struct {
	Status   processor.MirrorStatus
	revision int64
	mirror   coupon.Mirror
	at       time.Time // when the processor was asked
	next     time.Time // when a newer answer is due
}

// AnswerOf returns an answer about the coupon as it is.
func AnswerOf(c coupon.Coupon, status processor.MirrorStatus) Answer {
	return Answer{Status: status, revision: c.Revision, mirror: c.Mirror}
}

// IsOf reports whether the answer is about the coupon as it is. The zero value is about no stored coupon.
func (a Answer) IsOf(c coupon.Coupon) bool {
	return a.revision == c.Revision && a.mirror == c.Mirror
}

// get returns the cached answer for the coupon. If a newer answer is due, only one caller gets due, and
// must ask the processor.
func (m *Cache) get(c coupon.Coupon, now time.Time) (status processor.MirrorStatus, found, due bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.answers[c.ID]
	if a == nil || !a.IsOf(c) {
		return 0, false, false
	}
	usable := m.TTL
	if a.Status == processor.MirrorValid {
		usable *= trust
	}
	if age := now.Sub(a.at); age < 0 || age >= usable { // the age is negative if the clock was set back
		return 0, false, false
	}
	if due = !now.Before(a.next); due {
		a.next = now.Add(m.TTL)
	}
	return a.Status, true, due
}

// notAsked makes a newer answer due again, because the caller that should ask the processor has gone.
func (m *Cache) notAsked(c coupon.Coupon, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.answers[c.ID]; a != nil && a.IsOf(c) && a.next.Equal(now.Add(m.TTL)) {
		a.next = now
	}
}

// begin returns a number for put. With it, put knows whether Forget was called in between.
func (m *Cache) begin() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forgotten
}

// put stores an answer. If Forget was called since begin, put drops the answer, because it may be older
// than the change.
func (m *Cache) put(c coupon.Coupon, status processor.MirrorStatus, at time.Time, asked uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.TTL == 0 || m.forgotten != asked {
		return
	}
	if m.answers == nil {
		m.answers = make(map[string]*Answer)
	}
	if _, replaces := m.answers[c.ID]; !replaces && len(m.answers) >= maxAnswers {
		for other := range m.answers {
			delete(m.answers, other)
			break
		}
	}
	a := AnswerOf(c, status)
	a.at, a.next = at, at.Add(m.TTL)
	m.answers[c.ID] = &a
}
