package fakeprocessor

import (
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/processor"
)

// session is a session with its request.
type session struct {
	processor.Session
	request     processor.SessionRequest
	created     time.Time
	fingerprint [sha256.Size]byte
	payback
}

// public returns a copy of the session that shares no memory.
func (s *session) public() processor.Session {
	out := s.Session
	out.Metadata = maps.Clone(out.Metadata)
	out.Tax = out.Tax.Clone()
	out.Payer.Aliases = slices.Clone(out.Payer.Aliases)
	return out
}

// CreateSession implements [processor.Sessions]. A faulty request is
// [processor.ErrRejected] together with a [*validation.Error]. A total below the minimum is
// [processor.ErrBelowMinimum]. A key that was
// used with other parameters is [processor.ErrRejected], too.
func (p *Processor) CreateSession(ctx context.Context, r processor.SessionRequest) (out processor.Session, err error) {
	r = cloneRequest(r)
	call := Call{Op: CreateSession, Key: r.Key}
	err = p.sessionCall(ctx, call, CreateSessionStep, func(now time.Time) error {
		s, err := p.create(r, now)
		if err != nil {
			return fmt.Errorf("%s: %w", CreateSession, err)
		}
		out = s.public()
		return nil
	})
	if err != nil {
		return processor.Session{}, err
	}
	return out, nil
}

// Session implements [processor.Sessions].
func (p *Processor) Session(ctx context.Context, id string) (out processor.Session, err error) {
	return p.onSession(ctx, Call{Op: GetSession, SessionID: id}, ReadSession, func(*session, time.Time) {})
}

// ExpireSession implements [processor.Sessions].
func (p *Processor) ExpireSession(ctx context.Context, id string) (out processor.Session, err error) {
	return p.onSession(ctx, Call{Op: ExpireSession, SessionID: id}, ExpireSessionStep, func(s *session, now time.Time) {
		if s.Status == processor.SessionOpen {
			p.end(s, now)
		}
	})
}

// FindSession implements [processor.SessionFinder].
func (p *Processor) FindSession(ctx context.Context, orderID string, since time.Time) (out processor.Session, err error) {
	call := Call{Op: FindSession, OrderID: orderID}
	err = p.sessionCall(ctx, call, ListSessions, func(time.Time) error {
		if orderID == "" || since.IsZero() {
			return fmt.Errorf("%s of order %q since %s: %w", FindSession, orderID, since, processor.ErrRejected)
		}
		found := p.sessionOf(orderID, since)
		if found == nil {
			return fmt.Errorf("%s of order %q: %w", FindSession, orderID, processor.ErrNotFound)
		}
		out = found.public()
		return nil
	})
	if err != nil {
		return processor.Session{}, err
	}
	return out, nil
}

// sessionOf returns the newest session of an order that has not expired. If all have expired, it
// returns the newest. It returns nil if there is none.
func (p *Processor) sessionOf(orderID string, since time.Time) (newest *session) {
	for number := len(p.sessions); number > 0; number-- {
		s := p.sessions[p.options.id("cs", number)]
		switch {
		case s.created.Before(since) || s.Metadata[processor.MetadataOrderID] != orderID:
		case s.Status != processor.SessionExpired:
			return s
		case newest == nil:
			newest = s
		}
	}
	return newest
}

func (p *Processor) onSession(
	ctx context.Context, call Call, step Step, change func(*session, time.Time),
) (out processor.Session, err error) {
	err = p.sessionCall(ctx, call, step, func(now time.Time) error {
		s, ok := p.sessions[call.SessionID]
		if !ok {
			return fmt.Errorf("%s %q: %w", call.Op, call.SessionID, processor.ErrNotFound)
		}
		change(s, now)
		out = s.public()
		return nil
	})
	if err != nil {
		return processor.Session{}, err
	}
	return out, nil
}

// sessionCall makes a call of one step.
func (p *Processor) sessionCall(ctx context.Context, call Call, s Step, effect func(now time.Time) error) error {
	return p.faults.run(ctx, call, func() error {
		step := call
		step.Step = s
		return p.faults.run(ctx, step, func() error {
			now := p.lock()
			defer p.mu.Unlock()
			return effect(now)
		})
	})
}

// create makes a session, or returns the session of the same key.
func (p *Processor) create(r processor.SessionRequest, now time.Time) (*session, error) {
	sum, unreadable := fingerprint(r)
	if s, known := p.byKey[r.Key]; known {
		if unreadable != nil || s.fingerprint != sum {
			return nil, fmt.Errorf("%w: key %q was used with other parameters", processor.ErrRejected, r.Key)
		}
		return s, nil
	}
	if err := r.Validate(p.options.Abilities, now); err != nil {
		refusal := processor.ErrRejected
		if r.BelowMinimum(p.options.Abilities) {
			refusal = processor.ErrBelowMinimum
		}
		return nil, fmt.Errorf("%w: %w", refusal, err)
	}
	if unreadable != nil {
		return nil, fmt.Errorf("%w: %w", processor.ErrRejected, unreadable)
	}
	id := p.options.id("cs", len(p.sessions)+1)
	s := &session{request: r, created: now, fingerprint: sum, Session: processor.Session{
		ID: id, URL: p.options.PageURL + id,
		Status: processor.SessionOpen, PaymentStatus: processor.Unpaid,
		Currency: r.Currency, Total: r.Total,
		ExpiresAt: calendar.Instant(r.ExpiresAt), Metadata: maps.Clone(r.Metadata),
	}}
	p.sessions[id], p.byKey[r.Key] = s, s
	heap.Push(&p.deadline, s)
	return s, nil
}

// end expires an open session at an instant.
func (p *Processor) end(s *session, at time.Time) {
	s.Status = processor.SessionExpired
	p.announce(sessionExpired, s, at)
}

// fingerprint returns a digest of the parameters. It returns an error for invalid values of
// enumerations.
func fingerprint(r processor.SessionRequest) ([sha256.Size]byte, error) {
	r.ExpiresAt, r.OrderedAt = r.ExpiresAt.UTC(), time.Time{} // OrderedAt is not a parameter
	text, err := json.Marshal(r)
	return sha256.Sum256(text), err
}

func cloneRequest(r processor.SessionRequest) processor.SessionRequest {
	r.Lines = slices.Clone(r.Lines)
	r.Metadata = maps.Clone(r.Metadata)
	r.Coupons = slices.Clone(r.Coupons)
	return r
}

// Sessions returns the current state of all sessions, in the order of creation.
func (p *Processor) Sessions() []processor.Session {
	p.lock()
	defer p.mu.Unlock()
	list := make([]processor.Session, 0, len(p.sessions))
	for i := range len(p.sessions) {
		list = append(list, p.sessions[p.options.id("cs", i+1)].public())
	}
	return list
}

// Request returns the request of a session, or [processor.ErrNotFound].
func (p *Processor) Request(id string) (processor.SessionRequest, error) {
	p.lock()
	defer p.mu.Unlock()
	s, ok := p.sessions[id]
	if !ok {
		return processor.SessionRequest{}, fmt.Errorf("request of %q: %w", id, processor.ErrNotFound)
	}
	return cloneRequest(s.request), nil
}
