// Package provider is a payment provider in memory, for the tests of the examples.
//
// A shop calls it over HTTP, through [Client]:
//
//	PUT    /orders/{order}/payment           creates the payment of an order
//	DELETE /orders/{order}/payment           voids the payment of an order
//	GET    /payments/{payment}               reads a payment
//	PUT    /payments/{payment}/refunds/{key} refunds a part of a payment
//
// The provider behaves like many small providers:
//
//   - An order has one payment. Creating it again returns the payment as it is now, voided or paid.
//   - A refund has a key. Refunding again with the key returns the payment and no more money.
//   - Only an open payment can be voided. Voiding another payment returns the payment unchanged.
//   - A webhook is POST /webhook?payment={payment}, and tells nothing else. The shop reads the payment.
//
// The customer's actions are the methods [Provider.Pay], [Provider.PayLater], [Provider.Settle] and
// [Provider.Fail]. Every change of a payment queues a webhook. No goroutine sends webhooks: a test
// sends any of them with [Provider.Notify], in any order and at any time, repeats or drops them.
package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// State is the state of a [Payment].
type State string

// These constants are the values of State.
const (
	// Open means that the customer can pay.
	Open State = "open"
	// Processing means that the customer has paid by a slow method. The money may still arrive or not.
	Processing State = "processing"
	// Paid means that the money has arrived.
	Paid State = "paid"
	// Voided means that the shop has ended the payment, or that the money has not arrived.
	Voided State = "voided"
)

// Payment is the payment of an order. Amounts are in minor units of the currency.
type Payment struct {
	ID       string   `json:"id"`
	Order    string   `json:"order"`
	Amount   int64    `json:"amount"`
	Currency string   `json:"currency"`
	State    State    `json:"state"`
	URL      string   `json:"url"` // of the page on which the customer pays
	Refunds  []Refund `json:"refunds"`
}

// Refunded returns the sum of the refunds.
func (p Payment) Refunded() (sum int64) {
	for _, r := range p.Refunds {
		sum += r.Amount
	}
	return sum
}

// Refund is money that went back to the customer.
type Refund struct {
	Key    string `json:"key"`
	Amount int64  `json:"amount"`
}

// Provider is a payment provider. Create it with [New]. All methods are safe for concurrent use.
type Provider struct {
	page  string
	calls *http.ServeMux

	mu       sync.Mutex // guards the fields below
	payments []*Payment // oldest first
	webhooks []string   // IDs of payments with a waiting webhook, oldest first
}

// New returns a provider without payments. The page is the beginning of the address of a payment's
// page, before the payment's ID.
func New(page string) *Provider {
	p := &Provider{page: page, calls: http.NewServeMux()}
	p.calls.HandleFunc("PUT /orders/{order}/payment", p.create)
	p.calls.HandleFunc("DELETE /orders/{order}/payment", p.void)
	p.calls.HandleFunc("GET /payments/{payment}", p.read)
	p.calls.HandleFunc("PUT /payments/{payment}/refunds/{key}", p.refund)
	return p
}

// ServeHTTP answers the shop.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.calls.ServeHTTP(w, r) }

// RoundTrip answers the shop in the caller's goroutine, without a network. It makes a Provider the
// transport of an [http.Client].
func (p *Provider) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer := httptest.NewRecorder()
	p.calls.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// money is the JSON body of a request.
type money struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency,omitempty"`
}

// maxBody is the maximum length of a request's body, in bytes.
const maxBody = 1 << 12

func readMoney(w http.ResponseWriter, r *http.Request) (m money, ok bool) {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&m)
	if err != nil || m.Amount < 1 {
		refuse(w, http.StatusUnprocessableEntity, "an amount of at least 1 is required")
		return money{}, false
	}
	return m, true
}

func (p *Provider) create(w http.ResponseWriter, r *http.Request) {
	m, ok := readMoney(w, r)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	made := p.of(r.PathValue("order"))
	switch {
	case m.Currency == "":
		refuse(w, http.StatusUnprocessableEntity, "a currency is required")
		return
	case made == nil:
		id := fmt.Sprintf("pay-%d", len(p.payments)+1)
		made = &Payment{
			ID: id, Order: r.PathValue("order"), Amount: m.Amount, Currency: m.Currency,
			State: Open, URL: p.page + id, Refunds: []Refund{},
		}
		p.payments = append(p.payments, made)
	case made.Amount != m.Amount || made.Currency != m.Currency:
		refuse(w, http.StatusConflict, "the order has a payment of another amount")
		return
	}
	answer(w, http.StatusOK, made)
}

func (p *Provider) void(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	made := p.of(r.PathValue("order"))
	if made == nil {
		refuse(w, http.StatusNotFound, "the order has no payment")
		return
	}
	if made.State == Open {
		p.change(made, Voided)
	}
	answer(w, http.StatusOK, made)
}

func (p *Provider) read(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if made := p.payment(r.PathValue("payment")); made != nil {
		answer(w, http.StatusOK, made)
	} else {
		refuse(w, http.StatusNotFound, "there is no such payment")
	}
}

func (p *Provider) refund(w http.ResponseWriter, r *http.Request) {
	m, ok := readMoney(w, r)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	made, key := p.payment(r.PathValue("payment")), r.PathValue("key")
	if made == nil {
		refuse(w, http.StatusNotFound, "there is no such payment")
		return
	}
	i := slices.IndexFunc(made.Refunds, func(known Refund) bool { return known.Key == key })
	switch {
	case i >= 0 && made.Refunds[i].Amount != m.Amount:
		refuse(w, http.StatusConflict, "the key was used with another amount")
		return
	case i < 0 && (made.State != Paid || m.Amount > made.Amount-made.Refunded()):
		refuse(w, http.StatusUnprocessableEntity, "that much is not left of the payment")
		return
	case i < 0:
		made.Refunds = append(made.Refunds, Refund{Key: key, Amount: m.Amount})
		p.webhooks = append(p.webhooks, made.ID)
	}
	answer(w, http.StatusOK, made)
}

// of returns the payment of an order, or nil.
func (p *Provider) of(order string) *Payment {
	return p.find(func(made *Payment) bool { return made.Order == order })
}

// payment returns the payment with an ID, or nil.
func (p *Provider) payment(id string) *Payment {
	return p.find(func(made *Payment) bool { return made.ID == id })
}

func (p *Provider) find(wanted func(*Payment) bool) *Payment {
	if i := slices.IndexFunc(p.payments, wanted); i >= 0 {
		return p.payments[i]
	}
	return nil
}

// change changes the state of a payment and queues its webhook.
func (p *Provider) change(made *Payment, to State) {
	made.State = to
	p.webhooks = append(p.webhooks, made.ID)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the shop closed the connection
}

func refuse(w http.ResponseWriter, status int, reason string) {
	answer(w, status, map[string]string{"error": reason})
}

// ErrState means that the customer cannot do that with the payment now.
var ErrState = errors.New("not in this state of the payment")

// Pay pays an open payment. Any other payment is [ErrState]; an unknown one is [ErrNotFound].
func (p *Provider) Pay(id string) error { return p.act(id, Open, Paid) }

// PayLater pays an open payment by a slow method. Its errors are those of [Provider.Pay].
func (p *Provider) PayLater(id string) error { return p.act(id, Open, Processing) }

// Settle lets the money of a slow payment arrive. A payment that is not processing is [ErrState]; an
// unknown one is [ErrNotFound].
func (p *Provider) Settle(id string) error { return p.act(id, Processing, Paid) }

// Fail lets a slow payment fail. Its errors are those of [Provider.Settle].
func (p *Provider) Fail(id string) error { return p.act(id, Processing, Voided) }

func (p *Provider) act(id string, from, to State) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	made := p.payment(id)
	switch {
	case made == nil:
		return fmt.Errorf("payment %q: %w", id, ErrNotFound)
	case made.State != from:
		return fmt.Errorf("payment %q is %s: %w", id, made.State, ErrState)
	}
	p.change(made, to)
	return nil
}

// Payments returns all payments, in the order of their creation.
func (p *Provider) Payments() []Payment {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Payment, 0, len(p.payments))
	for _, made := range p.payments {
		list = append(list, made.clone())
	}
	return list
}

func (p *Payment) clone() Payment {
	out := *p
	out.Refunds = slices.Clone(p.Refunds)
	return out
}
