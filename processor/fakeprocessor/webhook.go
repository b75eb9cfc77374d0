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

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// Types of webhook events.
const (
	sessionCompleted = "session.completed"
	paymentSucceeded = "session.payment_succeeded"
	paymentFailed    = "session.payment_failed"
	sessionExpired   = "session.expired"
	refundChanged    = "refund.changed"
	disputeChanged   = "dispute.changed"
)

// payload is the body of a webhook.
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
	Tax           int64             `json:"tax,omitempty"`
	TaxLines      []payloadTax      `json:"taxLines,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	PayerEmail    string            `json:"payerEmail,omitempty"`
	PayerAliases  []string          `json:"payerAliases,omitempty"`
}

type payloadTax struct {
	LineID string `json:"lineId"`
	Amount int64  `json:"amount"`
}

// event is a recorded event. Every delivery of it has the same body.
type event struct {
	number    int
	sessionID string
	body      payload
}

// inOrder sorts events by the time at which they happened.
func inOrder(events []event) []event {
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.number, b.number) })
	return events
}

// announce adds an event to the queue.
func (p *Processor) announce(kind string, s *session, at time.Time) {
	var taxes []payloadTax
	for _, l := range s.Tax.Lines {
		taxes = append(taxes, payloadTax(l))
	}
	p.enqueue(payload{Type: kind, CreatedAt: calendar.Instant(at), Session: payloadSession{
		ID: s.ID, Status: s.Status.String(), PaymentStatus: s.PaymentStatus.String(),
		Currency: s.Currency, Total: s.Total, Tax: s.Tax.Amount, TaxLines: taxes, Metadata: maps.Clone(s.Metadata),
		PayerEmail: s.Payer.Email, PayerAliases: slices.Clone(s.Payer.Aliases),
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

// Delivery is one webhook request with an event.
type Delivery struct {
	// EventID is the same in every delivery of an event.
	EventID string
	// SessionID is the session of the event.
	SessionID string
	// Payload is the body of the request.
	Payload []byte
	// Signature is the value of the header [SignatureHeader].
	Signature string
}

// Deliveries removes all deliveries from the queue and returns them, the oldest first,
// signed now.
func (p *Processor) Deliveries() []Delivery {
	now := p.lock()
	defer p.mu.Unlock()
	list := p.sign(p.queue, now)
	p.taken = append(p.taken, p.queue...)
	p.queue = nil
	return list
}

// Redeliveries returns all events that have already left the queue, the oldest first,
// signed now.
func (p *Processor) Redeliveries() []Delivery {
	now := p.lock()
	defer p.mu.Unlock()
	return p.sign(inOrder(p.taken), now)
}

// Pending returns the number of events in the queue.
func (p *Processor) Pending() int {
	p.lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// Repeat queues the last event of a session again, with another ID. A session without
// events is [processor.ErrNotFound].
func (p *Processor) Repeat(sessionID string) error {
	p.lock()
	defer p.mu.Unlock()
	last, found := p.last[sessionID]
	if !found {
		return fmt.Errorf("repeat %q: %w", sessionID, processor.ErrNotFound)
	}
	p.enqueue(last)
	return nil
}

// Announce queues an event of an unknown type, such as "coupon.deleted".
func (p *Processor) Announce(kind string) {
	now := p.lock()
	defer p.mu.Unlock()
	p.enqueue(payload{Type: kind, CreatedAt: calendar.Instant(now)})
}

func (p *Processor) sign(events []event, now time.Time) []Delivery {
	list := make([]Delivery, len(events))
	for i, e := range events {
		list[i] = p.signed(e, now)
	}
	return list
}

func (p *Processor) signed(e event, now time.Time) Delivery {
	body, _ := json.Marshal(e.body) // cannot fail for strings, integers and valid instants
	return Delivery{EventID: e.body.ID, SessionID: e.sessionID, Payload: body, Signature: Sign(p.options.Secret, now, body)}
}

// Deliver sends every queued event once, the oldest first. Events without an
// acknowledgment stay in the queue. Their errors are joined. Deliver stops when ctx
// ends. Concurrent calls share the queue.
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

// waiting returns the number of events to deliver.
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
