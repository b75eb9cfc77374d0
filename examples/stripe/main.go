// Command stripe is a whole purchase on Stripe: a coupon is created and mirrored, a
// cart is checked out, the customer pays Stripe's session, the webhook arrives, the
// use is counted, and the coupon is switched off and deleted.
//
// Without a key it runs by itself on a Stripe account in memory:
//
//	go run .
//
// With the key of a Stripe account in test mode it makes real objects there, prints
// the address of the payment page, and waits until somebody has paid on it (card 4242
// 4242 4242 4242). The webhook has to reach the program, for example through Stripe's
// command line tool, which prints the secret:
//
//	stripe listen --forward-to 127.0.0.1:4242/webhook
//	STRIPE_TEST_KEY=sk_test_… STRIPE_WEBHOOK_SECRET=whsec_… go run .
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/store/memstore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Getenv("STRIPE_TEST_KEY"), os.Getenv("STRIPE_WEBHOOK_SECRET"))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stripe:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, key, secret string) error {
	if key == "" {
		return onAccountInMemory(ctx)
	}
	if !strings.HasPrefix(key, "sk_test_") && !strings.HasPrefix(key, "rk_test_") {
		return errors.New("STRIPE_TEST_KEY is not a key of test mode")
	}
	if secret == "" {
		return errors.New("STRIPE_WEBHOOK_SECRET is needed: see the command's documentation")
	}
	return onStripe(ctx, key, secret)
}

// onStripe runs the purchase on a real account; a person pays.
func onStripe(ctx context.Context, key, secret string) error {
	payments, err := stripeprocessor.New(key, stripeprocessor.Options{
		WebhookSecrets: []string{secret}, App: "couponkit-example", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:4242")
	if err != nil {
		return err
	}
	code := fmt.Sprintf("EXAMPLE-%X", time.Now().Unix())
	return purchase(ctx, payments, listener, code, func(_ context.Context, c couponkit.Checkout) error {
		fmt.Println("pay at    ", c.Session.URL)
		return nil
	})
}

// purchase is the same on both accounts; pay lets the customer pay.
func purchase(
	ctx context.Context, payments *stripeprocessor.Processor, listener net.Listener, code string,
	pay func(context.Context, couponkit.Checkout) error,
) error {
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(payments))
	if err != nil {
		return err
	}
	outcomes := make(chan couponkit.Outcome, 16)
	webhook := http.NewServeMux()
	webhook.Handle("/webhook", payments.Handler(service.Webhook(func(_ context.Context, o couponkit.Outcome) error {
		outcomes <- o
		return nil
	})))
	server := &http.Server{Handler: webhook, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()

	sale, err := service.Create(ctx, coupon.Draft{
		Code: code, Name: "Summer sale", MaxUses: coupon.Set(100),
		DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10.00"},
	})
	if err != nil {
		return err
	}
	fmt.Printf("created    %s: %s off, at Stripe %s\n", sale.Code, sale.Discount, sale.Mirror.CouponID)
	checkout, err := service.Checkout(ctx, order(sale.Code.String()))
	if err != nil {
		return errors.Join(err, service.Delete(context.WithoutCancel(ctx), sale.ID))
	}
	format := checkout.Order.Quote.Currency.Format
	fmt.Printf("checkout   %s - %s + %s shipping = %s\n", format(checkout.Order.Quote.Subtotal),
		format(checkout.Order.Quote.Discount), format(checkout.Order.Quote.Shipping), format(checkout.Order.Quote.Total))
	if err := pay(ctx, checkout); err != nil {
		return errors.Join(err, service.Delete(context.WithoutCancel(ctx), sale.ID))
	}
	return errors.Join(settled(ctx, service, sale, checkout, outcomes), service.Delete(context.WithoutCancel(ctx), sale.ID))
}

func order(code string) couponkit.CheckoutRequest {
	return couponkit.CheckoutRequest{
		Key: "attempt-1", Codes: []string{code}, Customer: eligibility.Customer{ID: "ann", Email: "ann@example.org"},
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
			{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
		}},
		Describe: func(l pricing.Line) string {
			return map[string]string{"phone": "Phone", "parcel": "Shipping"}[l.ItemID]
		},
		SuccessURL: "https://example.org/thanks", CancelURL: "https://example.org/cart",
	}
}

// settled waits for the webhook and shows what it has led to.
func settled(
	ctx context.Context, service *couponkit.Service, sale coupon.Coupon, checkout couponkit.Checkout, outcomes <-chan couponkit.Outcome,
) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case outcome := <-outcomes:
			if outcome.Order.ID != checkout.Order.ID {
				continue
			}
			fmt.Printf("webhook    order is %s, use is %s\n", outcome.Order.State, outcome.Uses[0].State)
			if !outcome.Order.State.Ended() {
				continue
			}
			used, err := service.Get(ctx, sale.ID)
			if err != nil {
				return err
			}
			fmt.Printf("counted    %d of %d uses\n", used.UsedCount, used.Limits.MaxUses)
			if _, err = service.SetActive(ctx, sale.ID, false); err != nil {
				return err
			}
			_, refused := service.Validate(ctx, couponkit.ValidateRequest{Code: sale.Code.String(), Customer: eligibility.Customer{ID: "bob"}})
			fmt.Printf("afterwards %v\n", refused)
			return nil
		}
	}
}
