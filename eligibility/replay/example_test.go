package replay_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
)

func ExampleRun() {
	at := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	ten, err := coupon.New(coupon.Draft{
		Code: "TEN", Name: "Ten percent", DiscountType: pricing.Percentage, Percent: "10",
		Budget: coupon.Amounts{"": "15"},
	}, coupon.Creation{ID: coupon.IDPrefix + "ten", At: at})
	if err != nil {
		fmt.Println(err)
		return
	}
	var orders []replay.Event
	for i, price := range []int64{80_00, 40_00, 60_00, 30_00} {
		orders = append(orders, replay.Event{
			At: at.AddDate(0, 0, i), Customer: eligibility.Customer{ID: fmt.Sprint("customer-", i)},
			Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
				{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: price},
			}},
		})
	}
	items := func(yield func(replay.Event, error) bool) {
		for _, o := range orders {
			if !yield(o, nil) {
				return
			}
		}
	}
	read := func(e replay.Event) (replay.Event, error) { return e, nil }
	report, err := replay.Run(items, read, slices.Values([]*coupon.Coupon{&ten}), replay.Options{Workers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	sums, used := report.Currencies[0], report.Coupons[0]
	fmt.Println("before:", sums.Before, "after:", sums.After)
	fmt.Println(sums.Wins.Carts, "carts win", sums.Wins.Amount)
	fmt.Println(used.Uses, "uses take", used.Discounts[0].Discount, "of", used.Discounts[0].Budget)
	fmt.Println("ran out:", used.Discounts[0].RanOutAt.Format(time.DateOnly))
	for _, b := range sums.Histogram {
		fmt.Println(b.From, b.To, b.Carts)
	}
	// Output:
	// before: 210.00 EUR after: 195.00 EUR
	// 3 carts win 15.00 EUR
	// 3 uses take 15.00 EUR of 15.00 EUR
	// ran out: 2026-11-03
	// -9.99 EUR -5.00 EUR 1
	// -4.99 EUR -2.00 EUR 2
	// -1.99 EUR -1.00 EUR 0
	// -0.99 EUR -0.01 EUR 0
	// 0.00 EUR 0.00 EUR 1
}
