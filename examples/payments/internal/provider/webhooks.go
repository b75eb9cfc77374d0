package provider

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
)

// Webhook is the body of a webhook.
type Webhook struct {
	Payment string `json:"payment"` // ID of the payment that has changed
}

// Webhooks returns the payments of all waiting webhooks, the oldest first.
func (p *Provider) Webhooks() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.webhooks)
}

// Notify sends the webhook at an index of [Provider.Webhooks] to the shop, and returns the shop's
// status. Unless the status is 200 to 299, the webhook keeps waiting. Notify also keeps the webhook if
// the shop panics, as if the shop had died without an answer. An index out of range panics.
func (p *Provider) Notify(ctx context.Context, i int, shop http.Handler) (status int) {
	p.mu.Lock()
	payment := p.webhooks[i]
	p.mu.Unlock()
	body := strings.NewReader(fmt.Sprintf(`{"payment":%q}`, payment)) // see Webhook
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/webhook", body)
	answer := httptest.NewRecorder()
	shop.ServeHTTP(answer, request)
	if answer.Code >= 200 && answer.Code <= 299 {
		p.drop(payment)
	}
	return answer.Code
}

// Repeat lets the webhook at an index of [Provider.Webhooks] wait a second time, behind the others.
func (p *Provider) Repeat(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.webhooks = append(p.webhooks, p.webhooks[i])
}

// Drop loses the webhook at an index of [Provider.Webhooks].
func (p *Provider) Drop(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.webhooks = slices.Delete(p.webhooks, i, i+1)
}

// drop removes one webhook about a payment. Webhooks about one payment are all alike, and the shop
// may have caused others meanwhile.
func (p *Provider) drop(payment string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.webhooks, payment); i >= 0 {
		p.webhooks = slices.Delete(p.webhooks, i, i+1)
	}
}
