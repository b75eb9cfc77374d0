package stripefake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/stripe/stripe-go/v86"
	"github.com/stripe/stripe-go/v86/webhook"
)

// Event is an event for webhooks.
type Event struct {
	ID      string
	Type    string
	Payload []byte
	// Delivered is true if a webhook has accepted the event.
	Delivered bool
}

// announce records an event. Its payload has the current state of the object.
func (a *Account) announce(kind string, object any, at int64) {
	id, _ := a.nextID("evt")
	body := map[string]any{
		"id": id, "object": "event", "type": kind, "api_version": stripe.APIVersion, "created": at,
		"livemode": false, "data": map[string]any{"object": object}, "pending_webhooks": 1,
	}
	if a.options.ConnectedAccount != "" {
		body["account"] = a.options.ConnectedAccount
	}
	payload, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("stripefake: event of plain values: %v", err)) // cannot happen: the body has only strings and numbers
	}
	a.events = append(a.events, Event{ID: id, Type: kind, Payload: payload})
}

func (a *Account) announceSession(kind string, s *Session, at int64) {
	a.announce(kind, a.showSession(s, nil), at)
}

// Announce records an event of any type about any object.
func (a *Account) Announce(kind string, object any) {
	now := a.lock()
	defer a.mu.Unlock()
	a.announce(kind, object, now)
}

// Events returns all events, the oldest first.
func (a *Account) Events() []Event {
	a.lock()
	defer a.mu.Unlock()
	return slices.Clone(a.events)
}

// Sign returns the signature header of a payload for an instant.
func (a *Account) Sign(payload []byte, at time.Time) string {
	return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload: payload, Secret: a.options.WebhookSecret, Timestamp: at,
	}).Header
}

// Deliver sends every event that no webhook has accepted yet, the oldest first, signed
// now. It returns the number of refused events. Deliver sends them again next time.
func (a *Account) Deliver(ctx context.Context, client *http.Client, address string) (refused int, err error) {
	for i, e := range a.Events() {
		if e.Delivered {
			continue
		}
		status, err := a.Send(ctx, client, address, e)
		switch {
		case err != nil:
			return refused, err
		case status/100 != 2:
			refused++
		default:
			a.taken(i)
		}
	}
	return refused, nil
}

func (a *Account) taken(i int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events[i].Delivered = true
}

// Send sends one event, even if it was accepted before. It returns the webhook's
// status.
func (a *Account) Send(ctx context.Context, client *http.Client, address string, e Event) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(e.Payload))
	if err != nil {
		return 0, fmt.Errorf("stripefake: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Stripe-Signature", a.Sign(e.Payload, a.options.Now()))
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("stripefake: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxBody))
	return response.StatusCode, err
}
