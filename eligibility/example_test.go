package eligibility_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// tenOnPhones is 10 % off phones from 50 EUR, once per customer.
func tenOnPhones() *coupon.Coupon {
	c, err := coupon.New(coupon.Draft{
		Code: "TEN", Name: "Ten off", DiscountType: pricing.Percentage, Percent: "10",
		AppliesTo: coupon.Product, DeviceIDs: []string{"phone"}, MinPurchase: coupon.Amounts{"": "50"},
		ExpiresAt: calendar.On(2026, 12, 31),
	}, coupon.Creation{ID: "cpn_1", At: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		panic(err)
	}
	return &c
}

func ExampleLines() {
	lines := []pricing.Line{{Kind: pricing.Device, ItemID: "phone"}, {Kind: pricing.Plan, ItemID: "gold"}}
	fmt.Println(eligibility.Lines(tenOnPhones().Scope, lines))
	// Output:
	// [true false]
}

func ExampleCheck() {
	question := eligibility.Question{
		At:       time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), // the first instant after the last day
		Customer: eligibility.Customer{ID: "ann", Email: "ann@example.org"},
		Usage:    eligibility.Usage{Completed: 7, CompletedByCustomer: 1},
	}
	decision := eligibility.Check(tenOnPhones(), question)
	fmt.Println(decision.Allowed(), decision.Headline())
	for _, reason := range decision.Reasons() {
		fmt.Println(reason.Code, reason.Message())
	}
	fmt.Println(errors.Is(decision.Err(), coupon.ErrUserUsageLimitReached))
	// Output:
	// false coupon_expired
	// coupon_expired This coupon has expired.
	// user_usage_limit_reached You have used this coupon as often as it allows.
	// true
}

func ExampleEvaluate() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 2, UnitPrice: 2500},
		{ID: "B", Kind: pricing.Plan, ItemID: "gold", Quantity: 1, UnitPrice: 1000},
		{ID: "S", Kind: pricing.Shipping, ItemID: "dhl", Quantity: 1, UnitPrice: 490},
	}}
	question := eligibility.Question{
		At:       time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Customer: eligibility.Customer{ID: "ann", Email: "ann@example.org"},
	}
	result, err := eligibility.Evaluate(tenOnPhones(), cart, question)
	if err != nil {
		fmt.Println(err) // a malformed cart
		return
	}
	eur := pricing.EUR()
	fmt.Println(result.Decision.Allowed(), eur.Format(result.Quote.Discount), eur.Format(result.Quote.Total))

	cart.Lines[0].Quantity = 1
	result, err = eligibility.Evaluate(tenOnPhones(), cart, question)
	if err != nil {
		fmt.Println(err)
		return
	}
	missing := result.Decision.Reasons()[0].Params.Missing
	fmt.Println(result.Decision.Err(), "by", missing, "total", eur.Format(result.Quote.Total))
	// Output:
	// true 5.00 59.90
	// coupon refused: minimum_purchase_not_met by 25.00 EUR total 39.90
}

// A preview before sign-in, of many carts, without allocating.
func ExampleSetResult_Reevaluate() {
	var result eligibility.SetResult
	set := []eligibility.Candidate{{Coupon: tenOnPhones()}}
	question := eligibility.Question{At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), AllowAnonymous: true}
	for _, price := range []int64{4999, 5000} {
		cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: price},
		}}
		if err := result.Reevaluate(set, cart, question); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Coupons[0].Decision.Allowed(), result.Quote.Total)
	}
	// Output:
	// false 4999
	// true 4500
}

func ExampleDecision_CheckCurrency() {
	question := eligibility.Question{
		At:       time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Customer: eligibility.Customer{ID: "ann"},
	}
	dollar, err := pricing.ParseCurrency("USD")
	if err != nil {
		fmt.Println(err)
		return
	}
	c := tenOnPhones()
	fmt.Println(eligibility.Check(c, question).CheckCurrency(c, dollar).Err())
	// Output:
	// coupon refused: currency_mismatch
}

// Every reason tells how far the customer is from meeting it.
func ExampleDecision_Reasons() {
	c := tenOnPhones()
	c.Conditions = coupon.Conditions{
		MinPurchase: c.Conditions.MinPurchase, MinQuantity: 3, FirstOrder: true,
		CustomerTags: coupon.CustomerTags{All: []string{"newsletter"}},
	}
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 2, UnitPrice: 2400},
	}}
	result, err := eligibility.Evaluate(c, cart, eligibility.Question{
		At:       time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Customer: eligibility.Customer{ID: "ann", Tags: []string{"regular"}, EarlierOrders: 4},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, reason := range result.Decision.Reasons() {
		switch p := reason.Params; reason.Code { //nolint:exhaustive // the reasons of this cart
		case coupon.MinimumPurchaseNotMet:
			fmt.Println(p.Missing, "more")
		case coupon.MinimumQuantityNotMet:
			fmt.Println(p.MissingQuantity, "more")
		case coupon.CustomerTagsNotMet:
			fmt.Println("for", p.MissingTags)
		case coupon.NotFirstOrder:
			fmt.Println("after", p.Orders, "orders")
		}
	}
	// Output:
	// 2.00 EUR more
	// 1 more
	// for [newsletter]
	// after 4 orders
}

// Two coupons of different groups apply together. The third one is exclusive, and has expired.
func ExampleEvaluateSet() {
	spring, welcome, summer := tenOnPhones(), tenOnPhones(), tenOnPhones()
	spring.ID, spring.Group = "cpn_spring", "season"
	welcome.ID, welcome.Group = "cpn_welcome", "welcome"
	summer.ID, summer.State = "cpn_summer", coupon.Inactive
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 2, UnitPrice: 2500},
	}}
	result, err := eligibility.EvaluateSet([]eligibility.Candidate{
		{Coupon: summer}, {Coupon: welcome}, {Coupon: spring}, // in any order
	}, cart, eligibility.Question{
		At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Customer: eligibility.Customer{ID: "ann"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range result.Coupons {
		fmt.Println(o.CouponID, pricing.EUR().Format(o.Discount), o.Decision.Err())
	}
	fmt.Println(pricing.EUR().Format(result.Quote.Total))
	// Output:
	// cpn_spring 5.00 <nil>
	// cpn_summer 0.00 coupon refused: coupon_inactive, not_combinable
	// cpn_welcome 5.00 <nil>
	// 40.00
}

// Without a cart, only the groups tell which coupons can be used together.
func ExampleCheckSet() {
	spring, summer := tenOnPhones(), tenOnPhones()
	spring.ID, spring.Group = "cpn_spring", "season"
	summer.ID, summer.Group = "cpn_summer", "season"
	outcomes, err := eligibility.CheckSet([]eligibility.Candidate{{Coupon: spring}, {Coupon: summer}}, pricing.EUR(), eligibility.Question{
		At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Customer: eligibility.Customer{ID: "ann"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(eligibility.SetErr(outcomes))
	// Output:
	// coupons refused: not_combinable, not_combinable
}
