package couponkit_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/memstore"
)

// A draft is tried on the last orders before it is created.
func ExampleService_Replay() {
	ctx, now := context.Background(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	service, err := couponkit.New(memstore.New(), couponkit.WithClock(func() time.Time { return now }))
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"1001", "1002"} {
		request := couponkit.QuoteRequest{Cart: phones(), Customer: eligibility.Customer{ID: "customer of " + id}}
		order, err := service.Reserve(ctx, couponkit.ReserveRequest{OrderID: id, QuoteRequest: request})
		if err != nil {
			log.Fatal(err)
		}
		if _, err := service.Record(ctx, couponkit.Payment{OrderID: id, Status: couponkit.PaymentPaid, Amount: order.Order.Total()}); err != nil {
			log.Fatal(err)
		}
		now = now.Add(time.Hour)
	}

	draft := coupon.Draft{Name: "Winter", Automatic: true, DiscountType: pricing.Percentage, Percent: "10"}
	winter, err := coupon.New(draft, coupon.Creation{ID: coupon.IDPrefix + "draft", At: now}) // stores nothing
	if err != nil {
		log.Fatal(err)
	}
	report, err := service.Replay(ctx, 1_000, slices.Values([]*coupon.Coupon{&winter}), replay.Options{})
	if err != nil {
		log.Fatal(err)
	}
	sums := report.Currencies[0]
	fmt.Println(report.Carts, "carts:", sums.Before, "before,", sums.After, "with", winter.Name)
	// Output: 2 carts: 69.80 EUR before, 63.80 EUR with Winter
}
