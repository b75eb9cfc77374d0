package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/memstore"
)

// A purchase, from the coupon to the counted use.
func Example() {
	ctx := context.Background()
	payments := fakeprocessor.New(fakeprocessor.Options{})
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(payments))
	if err != nil {
		log.Fatal(err)
	}

	// An administrator makes a coupon.
	summer, err := service.Create(ctx, coupon.Draft{
		Code: "summer10", Name: "Summer sale",
		DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10.00"},
	})
	if err != nil {
		log.Fatal(err)
	}

	// A customer sees what the cart costs with it.
	ann := eligibility.Customer{ID: "ann", Email: "ann@example.org"}
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
		{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
	}}
	quote, err := service.Quote(ctx, couponkit.QuoteRequest{Cart: cart, Codes: []string{"Summer10"}, Customer: ann})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("to pay:", quote.Currency.Format(quote.Total), quote.Currency)

	// Checking out keeps a place and opens a payment session.
	checkout, err := service.Checkout(ctx, couponkit.CheckoutRequest{
		Key: "attempt-1", Cart: cart, Codes: []string{"Summer10"}, Customer: ann,
	})
	if err != nil {
		log.Fatal(err)
	}
	if checkout.Order.State != redemption.OrderOpen { // the key was used before: paid or ended since
		log.Fatal("begin again with a new key: the order is ", checkout.Order.State)
	}

	// The customer pays at checkout.Session.URL, and the webhook counts the use.
	if err := payments.Pay(checkout.Session.ID); err != nil {
		log.Fatal(err)
	}
	webhook := payments.Handler(service.Webhook(func(_ context.Context, o couponkit.Outcome) error {
		if o.Order.State == redemption.OrderPaid && o.Flag == couponkit.FlagNone {
			fmt.Println("to ship, once for each order:", o.Order.Quote.Lines[0].ItemID)
		}
		return nil
	}))
	if err := payments.Deliver(ctx, fakeprocessor.Serve(webhook)); err != nil {
		log.Fatal(err)
	}
	summer, err = service.Get(ctx, summer.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("used:", summer.UsedCount)

	// A second time it is refused, with a reason.
	_, err = service.Validate(ctx, couponkit.ValidateRequest{Code: "SUMMER10", Customer: ann})
	fmt.Println(errors.Is(err, coupon.ErrUserUsageLimitReached), err)
	// Output:
	// to pay: 24.90 EUR
	// to ship, once for each order: phone
	// used: 1
	// true coupon refused: user_usage_limit_reached
}
