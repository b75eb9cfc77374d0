package main

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// TestOnAccountInMemory runs the example as it is.
func TestOnAccountInMemory(t *testing.T) {
	if err := run(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"sk_live_1", "nonsense"} {
		if err := run(t.Context(), key, "whsec_1"); err == nil {
			t.Errorf("the key %s is accepted", key)
		}
	}
	if err := run(t.Context(), "sk_test_1", ""); err == nil {
		t.Error("no webhook secret is needed")
	}
}

// TestInterruptedPurchase: whoever gives up leaves no coupon at Stripe.
func TestInterruptedPurchase(t *testing.T) {
	t.Parallel()
	account := stripefake.New(stripefake.Options{})
	api := httptest.NewServer(account)
	defer api.Close()
	payments, err := stripeprocessor.New("sk_test_in_memory", stripeprocessor.Options{
		BaseURL: api.URL, HTTPClient: api.Client(), WebhookSecrets: []string{"whsec_1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	err = purchase(ctx, payments, listener, "SUMMER10", func(ctx context.Context, _ couponkit.Checkout) error {
		interrupt()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the purchase ended with %v", err)
	}
	if left := account.Coupons(); len(left) > 0 {
		t.Errorf("coupons are left: %+v", left)
	}
}
