package couponkit

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// DefaultMirrorTTL is how long a [Service] caches an answer about a mirror by default; see
// [WithMirrorTTL].
const DefaultMirrorTTL = time.Minute

const (
	// maxMirrorTTL bounds the option.
	maxMirrorTTL = 24 * time.Hour
	// mirrorTrust is for how many TTLs a valid answer is used while the processor does not
	// give a newer one.
	mirrorTrust = 10
	// mirrorPatience bounds how long a caller waits for a newer answer when there is one.
	mirrorPatience = 2 * time.Second
	// maxMirrorAnswers bounds the memory.
	maxMirrorAnswers = 10_000
)

// mirrorCheck finds out what the processor says of the coupon's mirror.
type mirrorCheck func(ctx context.Context, c coupon.Coupon, at time.Time) (processor.MirrorStatus, error)

// mirrorInvalid checks the mirror where the answer matters: of a coupon that has a mirror, is
// on, and within its dates. A coupon that the processor cannot express has no mirror to check.
func (s *Service) mirrorInvalid(ctx context.Context, n *named, at time.Time, check mirrorCheck) (bool, error) {
	if n.Coupon.Mirror.IsZero() || !n.Coupon.Active() || at.Before(n.Coupon.StartsAt) || expired(n.Coupon, at) {
		return false, nil
	}
	c := n.Coupon
	c.Code = n.plain
	status, err := check(ctx, c, at)
	if err != nil {
		return false, fmt.Errorf("verify mirror of coupon %s: %w", c.ID, err)
	}
	return status != processor.MirrorValid && status != processor.MirrorUnsupported, nil
}

// askMirror asks the processor and remembers the answer.
func (s *Service) askMirror(ctx context.Context, c coupon.Coupon, at time.Time) (processor.MirrorStatus, error) {
	asked := s.mirrors.begin()
	status, err := s.processor.VerifyMirror(ctx, c)
	if err == nil {
		s.mirrors.put(c, mirrorAnswer{status: status, at: at}, asked)
	}
	return status, err
}

// recentMirror uses the answer that it remembers, and asks the processor when there is none.
// The first caller after the TTL asks for a newer answer, for at most mirrorPatience. All others
// meanwhile, and that caller when the processor fails, use the old answer.
func (s *Service) recentMirror(ctx context.Context, c coupon.Coupon, at time.Time) (processor.MirrorStatus, error) {
	known, found, due := s.mirrors.get(c, at)
	switch {
	case !found:
		return s.askMirror(ctx, c, at)
	case !due:
		return known, nil
	}
	limited, cancel := context.WithTimeout(ctx, mirrorPatience)
	defer cancel()
	status, err := s.askMirror(limited, c, at)
	switch {
	case err == nil:
		return status, nil
	case ctx.Err() != nil:
		s.mirrors.notAsked(c, at)
		return 0, err
	}
	s.logger.WarnContext(ctx, "the last valid answer about a mirror is used, for there is no newer one",
		slog.String("coupon", c.ID), slog.Any("error", err))
	return known, nil
}

// mirrorChecks remembers what the processor has said of mirrors. It is safe for concurrent use.
type mirrorChecks struct {
	ttl time.Duration // 0 remembers nothing

	mu        sync.Mutex
	answers   map[string]*mirrorAnswer // by coupon ID
	forgotten uint64                   // counts the calls of forget
}

// mirrorAnswer is an answer about one revision of a coupon and one mirror.
type mirrorAnswer struct {
	revision int64
	mirror   coupon.Mirror
	status   processor.MirrorStatus
	at       time.Time // when it was asked for
	next     time.Time // when a newer one is asked for
}

func (a *mirrorAnswer) about(c coupon.Coupon) bool {
	return a != nil && a.revision == c.Revision && a.mirror == c.Mirror
}

// get returns the answer about the coupon as it is. Of all callers who find it due, one is told.
func (m *mirrorChecks) get(c coupon.Coupon, now time.Time) (status processor.MirrorStatus, found, due bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.answers[c.ID]
	if !a.about(c) {
		return 0, false, false
	}
	usable := m.ttl
	if a.status == processor.MirrorValid {
		usable *= mirrorTrust
	}
	if age := now.Sub(a.at); age < 0 || age >= usable { // a clock that was put back knows no age
		return 0, false, false
	}
	if due = !now.Before(a.next); due {
		a.next = now.Add(m.ttl)
	}
	return a.status, true, due
}

// notAsked makes the answer due again, after a caller that was told so has gone.
func (m *mirrorChecks) notAsked(c coupon.Coupon, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.answers[c.ID]; a.about(c) && a.next.Equal(now.Add(m.ttl)) {
		a.next = now
	}
}

// begin returns what put needs to know whether anything was forgotten in between.
func (m *mirrorChecks) begin() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forgotten
}

// put remembers an answer, unless something was forgotten since begin: the answer is perhaps
// older than the change.
func (m *mirrorChecks) put(c coupon.Coupon, a mirrorAnswer, asked uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ttl == 0 || m.forgotten != asked {
		return
	}
	if m.answers == nil {
		m.answers = make(map[string]*mirrorAnswer)
	}
	if _, replaces := m.answers[c.ID]; !replaces && len(m.answers) >= maxMirrorAnswers {
		for other := range m.answers {
			delete(m.answers, other)
			break
		}
	}
	a.revision, a.mirror, a.next = c.Revision, c.Mirror, a.at.Add(m.ttl)
	m.answers[c.ID] = &a
}

// forget drops the answer about a coupon whose mirror has changed.
func (m *mirrorChecks) forget(couponID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgotten++
	delete(m.answers, couponID)
}
