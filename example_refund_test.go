package couponkit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store/memstore"
)

// A customer returns one of two books, and staff refund a part of the rest in the processor's
// dashboard.
func ExampleService_Refund() {
	ctx := context.Background()
	payments := fakeprocessor.New(fakeprocessor.Options{})
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(payments))
	if err != nil {
		log.Fatal(err)
	}
	checkout, err := service.Checkout(ctx, couponkit.CheckoutRequest{
		Key: "attempt-1", Customer: eligibility.Customer{ID: "ann"},
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: "book", ItemID: "atlas", Quantity: 2, UnitPrice: 20_00},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	webhook := fakeprocessor.Serve(payments.Handler(service.Webhook(nil)))
	if err := payments.Pay(checkout.Session.ID); err != nil {
		log.Fatal(err)
	}
	if err := payments.Deliver(ctx, webhook); err != nil {
		log.Fatal(err)
	}

	one, err := service.Refund(ctx, couponkit.RefundRequest{
		OrderID: checkout.Order.ID, Key: "return-1",
		Returns: pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(one.Order.State, one.Refund.Repayment.Amount, one.Refund.Repayment.State)

	if _, err := payments.RefundByStaff(checkout.Session.ID, 5_00); err != nil {
		log.Fatal(err)
	}
	if err := payments.Deliver(ctx, webhook); err != nil {
		log.Fatal(err)
	}
	rest, err := service.Refund(ctx, couponkit.RefundRequest{
		OrderID: checkout.Order.ID, Key: "return-2", Returns: pricing.Returns{All: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rest.Order.State, rest.Refund.Repayment.Amount, "of", rest.Refund.Result.Amount)
	// Output:
	// partly_refunded 2000 succeeded
	// refunded 1500 of 2000
}
