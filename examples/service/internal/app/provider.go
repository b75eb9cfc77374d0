package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/couponkit/couponkit/examples/service/internal/payments"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
)

// provider is the payment processor with its webhook. simulator is set if the processor is simulated.
type provider struct {
	processor processor.Processor
	webhook   func(handle func(context.Context, processor.Event) error) http.Handler
	simulator *payments.Simulator
}

func newProvider(c Config, baseURL string) (provider, error) {
	if (c.StripeKey == "") != (c.StripeWebhookSecret == "") {
		return provider{}, errors.New("stripe needs both a secret key and a webhook secret")
	}
	if c.StripeKey == "" {
		simulator := payments.NewSimulator(baseURL, c.Now)
		return provider{processor: simulator, webhook: simulator.Webhook, simulator: simulator}, nil
	}
	stripe, err := stripeprocessor.New(c.StripeKey, stripeprocessor.Options{
		WebhookSecrets: []string{c.StripeWebhookSecret}, BaseURL: c.StripeURL, Clock: c.Now, Logger: c.Logger,
	})
	if err != nil {
		return provider{}, err
	}
	return provider{processor: stripe, webhook: stripe.Handler}, nil
}

// deliver sends the simulated processor's webhooks to the service over HTTP.
func (p provider) deliver(ctx context.Context, c Config, url string) {
	if p.simulator == nil {
		return
	}
	const patience = 15 * time.Second
	connections := &http.Transport{MaxIdleConnsPerHost: payments.Senders} // by default, all but two connections are closed after each delivery
	client := &http.Client{Timeout: patience, Transport: connections}
	defer client.CloseIdleConnections()
	p.simulator.Run(ctx, client, url, c.Deliver, func(err error) {
		c.Logger.WarnContext(ctx, "a webhook was not acknowledged and will come again", slog.Any("error", err))
	})
}
