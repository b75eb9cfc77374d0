package fakeprocessor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// The kinds of webhook event.
const (
	sessionCompleted = "session.completed"
	paymentSucceeded = "session.payment_succeeded"
	paymentFailed    = "session.payment_failed"
	sessionExpired   = "session.expired"
)

// payload is the body of a delivery.
type payload struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	CreatedAt time.Time      `json:"createdAt"`
	Session   payloadSession `json:"session"`
}

type payloadSession struct {
	ID            string            `json:"id"`
	Status        string            `json:"status"`
	PaymentStatus string            `json:"paymentStatus"`
	Currency      pricing.Currency  `json:"currency"`
	Total         int64             `json:"total"`
	Metadata      map[string]string `json:"metadata,omitempty"`
}

// event is a fact that was written down; every delivery of it has the same body.
type event struct {
	number    int
	sessionID string
	body      payload
}

// inOrder puts events into the order in which they happened.
func inOrder(events []event) []event {
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.number, b.number) })
	return events
}

// announce puts an event into the queue.
func (p *Processor) announce(kind string, s *session, at time.Time) {
	p.enqueue(payload{Type: kind, CreatedAt: coupon.Instant(at), Session: payloadSession{
		ID: s.ID, Status: s.Status.String(), PaymentStatus: s.PaymentStatus.String(),
		Currency: s.Currency, Total: s.Total, Metadata: maps.Clone(s.Metadata),
	}})
}

func (p *Processor) enqueue(body payload) {
	p.eventSeq++
	body.ID = p.options.id("evt", p.eventSeq)
	p.queue = append(p.queue, event{number: p.eventSeq, sessionID: body.Session.ID, body: body})
	if body.Session.ID != "" {
		p.last[body.Session.ID] = body
	}
}

// Delivery is one delivery of an event: what a webhook's request holds.
type Delivery struct {
	// EventID is the same in every delivery of an event.
	EventID string
	// SessionID is the session that the event speaks of.
	SessionID string
	// Payload is the body of the request.
	Payload []byte
	// Signature is the value of the header [SignatureHeader].
	Signature string
}

// Deliveries takes what is to be delivered, the oldest first, signed now. They do
// not come again by themselves: the caller may deliver them late, twice, in another
// order or not at all.
func (p *Processor) Deliveries() []Delivery {
	now := p.lock()
	defer p.mu.Unlock()
	list := p.sign(p.queue, now)
	p.taken = append(p.taken, p.queue...)
	p.queue = nil
	return list
}

// Redeliveries returns every event that was taken or delivered before, the oldest
// first, signed anew: the duplicates that a processor may send for days.
func (p *Processor) Redeliveries() []Delivery {
	now := p.lock()
	defer p.mu.Unlock()
	return p.sign(inOrder(p.taken), now)
}

// Pending returns how many events wait to be taken.
func (p *Processor) Pending() int {
	p.lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// Repeat tells the last fact of a session a second time as an event of its own, with
// another ID. A session of which nothing was told is processor.ErrNotFound.
func (p *Processor) Repeat(sessionID string) error {
	p.lock()
	defer p.mu.Unlock()
	last, told := p.last[sessionID]
	if !told {
		return fmt.Errorf("repeat %q: %w", sessionID, processor.ErrNotFound)
	}
	p.enqueue(last)
	return nil
}

// Announce puts an event of any other type, such as "coupon.deleted", into the
// queue: what an adapter has to ignore.
func (p *Processor) Announce(kind string) {
	now := p.lock()
	defer p.mu.Unlock()
	p.enqueue(payload{Type: kind, CreatedAt: coupon.Instant(now)})
}

func (p *Processor) sign(events []event, now time.Time) []Delivery {
	list := make([]Delivery, len(events))
	for i, e := range events {
		list[i] = p.signed(e, now)
	}
	return list
}

func (p *Processor) signed(e event, now time.Time) Delivery {
	body, _ := json.Marshal(e.body) // strings, integers and instants of a clock in range cannot fail
	return Delivery{EventID: e.body.ID, SessionID: e.sessionID, Payload: body, Signature: Sign(p.options.Secret, now, body)}
}

// Deliver sends what is to be delivered, the oldest first, each once. What the
// receiver does not acknowledge waits for the next Deliver, before what is new; its
// errors are returned together. Once ctx has ended nothing more is sent. Several at
// once share what waits.
func (p *Processor) Deliver(ctx context.Context, send Sender) error {
	var kept []event
	var failures []error
	for range p.waiting() {
		e, d, ok := p.next()
		if !ok {
			break
		}
		err := ctx.Err()
		if err == nil {
			err = send(ctx, d)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("deliver %s: %w", d.EventID, err))
			kept = append(kept, e)
			continue
		}
		p.mu.Lock()
		p.taken = append(p.taken, e)
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = inOrder(append(kept, p.queue...))
	return errors.Join(failures...)
}

// waiting is how many events are to be delivered.
func (p *Processor) waiting() int {
	p.lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// next takes the oldest event from the queue.
func (p *Processor) next() (event, Delivery, bool) {
	now := p.lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return event{}, Delivery{}, false
	}
	e := p.queue[0]
	p.queue = p.queue[1:]
	return e, p.signed(e, now), true
}
