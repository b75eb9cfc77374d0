// Command quickstart is one purchase from end to end.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store/memstore"
)

func main() {
	ctx := context.Background()
	payments := fakeprocessor.New(fakeprocessor.Options{})
	service := must(couponkit.New(memstore.New(), couponkit.WithProcessor(payments)))

	// An administrator creates a coupon of 10 EUR, the default currency.
	must(service.Create(ctx, coupon.Draft{
		Code: "summer10", Name: "Summer sale",
		DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"},
	}))

	// A customer sees what the cart costs. Unit prices are in cents.
	ann := eligibility.Customer{ID: "ann", Email: "ann@example.org"}
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
		{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
	}}
	quote := must(service.Quote(ctx, couponkit.QuoteRequest{Cart: cart, Codes: []string{"Summer10"}, Customer: ann}))
	fmt.Println("to pay:", quote.Currency.Format(quote.Total))

	// A checkout reserves one use and opens a payment session.
	checkout := must(service.Checkout(ctx, couponkit.CheckoutRequest{
		Key: "attempt-1", Cart: cart, Codes: []string{"Summer10"}, Customer: ann,
	}))

	// The customer pays, and the webhook counts the use.
	webhook := payments.Handler(service.Webhook(func(_ context.Context, o couponkit.Outcome) error {
		fmt.Println("order:", o.Order.State)
		return nil
	}))
	if err := payments.Pay(checkout.Session.ID); err != nil {
		log.Fatal(err)
	}
	if err := payments.Deliver(ctx, fakeprocessor.Serve(webhook)); err != nil {
		log.Fatal(err)
	}

	// A second use is refused, with a reason.
	_, err := service.Validate(ctx, couponkit.ValidateRequest{Code: "SUMMER10", Customer: ann})
	fmt.Println(err)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
