package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// onAccountInMemory runs the purchase on an account that is part of this program:
// the calls go over HTTP on the loopback interface, and so do the signed webhooks.
func onAccountInMemory(ctx context.Context) error {
	const secret = "whsec_example"
	account := stripefake.New(stripefake.Options{WebhookSecret: secret})
	api := httptest.NewServer(account)
	defer api.Close()
	payments, err := stripeprocessor.New("sk_test_in_memory", stripeprocessor.Options{
		BaseURL: api.URL, WebhookSecrets: []string{secret},
	})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	webhook := fmt.Sprintf("http://%s/webhook", listener.Addr())
	return purchase(ctx, payments, listener, "SUMMER10", func(ctx context.Context, c couponkit.Checkout) error {
		session, _ := account.Session(c.Session.ID)
		for _, line := range session.Lines {
			fmt.Printf("at Stripe  %d x %s at %d cents\n", line.Quantity, line.Name, line.UnitAmount)
		}
		if err := account.Pay(c.Session.ID); err != nil {
			return err
		}
		for range 2 { // Stripe delivers at least once
			for _, e := range account.Events() {
				if _, err := account.Send(ctx, http.DefaultClient, webhook, e); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
