// Command quickstart is one purchase from end to end, with payments of the host's own.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/memstore"
)

func main() {
	ctx := context.Background()
	coupons := must(couponkit.New(memstore.New()))

	must(coupons.Create(ctx, coupon.Draft{
		Code: "SUMMER10", Name: "Summer sale", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": "10.00"},
	}))
	want := couponkit.QuoteRequest{
		Customer: eligibility.Customer{ID: "ann", Email: "ann@example.org"}, Codes: []string{"summer10"},
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{ // prices are in cents
			{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
			{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
		}},
	}
	quote := must(coupons.Quote(ctx, want))
	fmt.Println("to pay:", quote.Currency.Format(quote.Total))

	order := must(coupons.Reserve(ctx, couponkit.ReserveRequest{OrderID: "1001", QuoteRequest: want})).Order
	paid := must(coupons.Record(ctx, couponkit.Payment{
		OrderID: "1001", ID: "receipt-7", Status: couponkit.PaymentPaid, Amount: order.Total(),
	}))
	fmt.Println("order:", paid.Order.State)

	_, err := coupons.Reserve(ctx, couponkit.ReserveRequest{OrderID: "1002", QuoteRequest: want})
	fmt.Println(err)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
