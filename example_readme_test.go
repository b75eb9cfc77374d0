package couponkit_test

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

// The first thing that README.md shows.
func Example_readme() {
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(fakeprocessor.New(fakeprocessor.Options{})))
	if err != nil {
		log.Fatal(err)
	}
	_, err = service.Create(context.Background(), coupon.Draft{
		Code: "SUMMER10", Name: "Summer", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"},
	})
	if err != nil {
		log.Fatal(err)
	}
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
	}}
	if err := buy(context.Background(), service, cart, eligibility.Customer{ID: "ann"}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// to pay: 20.00
	// pay at: https://pay.example/cs_000001
}

func buy(ctx context.Context, service *couponkit.Service, cart pricing.Cart, ann eligibility.Customer) error {
	quote, err := service.Quote(ctx, couponkit.QuoteRequest{Cart: cart, Codes: []string{"summer10"}, Customer: ann})
	if err != nil {
		return err // a refusal is a *coupon.Rejection with stable codes
	}
	fmt.Println("to pay:", quote.Currency.Format(quote.Total))
	checkout, err := service.Checkout(ctx, couponkit.CheckoutRequest{
		Key: "attempt-1", Cart: cart, Codes: []string{"summer10"}, Customer: ann,
	})
	if err == nil {
		fmt.Println("pay at:", checkout.Session.URL)
	}
	return err
}
