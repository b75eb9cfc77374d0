package couponkit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/memstore"
)

// A cart page shows the best coupon, and what a little more would save.
func ExampleService_Suggest() {
	ctx, coupons := context.Background(), memstore.New()
	service, err := couponkit.New(coupons)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range []coupon.Draft{
		{Code: "SUMMER10", Name: "Summer", DiscountType: pricing.Percentage, Percent: "10"},
		{Code: "AUTUMN20", Name: "Autumn", DiscountType: pricing.Percentage, Percent: "20", MinPurchase: coupon.Amounts{"EUR": "38.00"}},
		{Code: "FRIENDS", Name: "Friends", DiscountType: pricing.Percentage, Percent: "50"},
	} {
		if _, err := service.Create(ctx, d); err != nil {
			log.Fatal(err)
		}
	}
	current := couponkit.NewOffers(coupons, offers.Limits{})
	if _, err := current.Update(ctx); err != nil { // then every second
		log.Fatal(err)
	}
	found, err := service.Suggest(ctx, couponkit.SuggestRequest{
		QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Customer: eligibility.Customer{ID: "ann"}},
		Offers:       current, Best: 1, Nearly: 1,
		Visible: func(c *coupon.Coupon) bool { return c.Code.String() != "FRIENDS" }, // a code that only friends know
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range found.Best {
		fmt.Println(s.Terms.Code, "saves", s.Saves)
	}
	for _, s := range found.Nearly {
		fmt.Println(s.Missing, "more and", s.Terms.Code, "saves", s.Saves)
	}
	// Output:
	// SUMMER10 saves 3.00 EUR
	// 8.00 EUR more and AUTUMN20 saves 7.60 EUR
}
