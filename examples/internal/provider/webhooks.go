package provider

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
)

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
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/webhook?"+url.Values{"payment": {payment}}.Encode(), nil)
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

// drop removes one webhook for a payment. All webhooks for a payment are equal. Requests of the shop
// may have queued more of them meanwhile.
func (p *Provider) drop(payment string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.webhooks, payment); i >= 0 {
		p.webhooks = slices.Delete(p.webhooks, i, i+1)
	}
}
