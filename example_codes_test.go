package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// Members get codes of their own. Nobody else can use them.
func ExampleService_AddCodes() {
	ctx, shop := context.Background(), openShop(nil)
	codes, err := shop.AddCodes(ctx, shop.coupon.ID, coupon.Batch{ID: "spring-2027"}, []coupon.CodeDraft{
		{Code: "spring-ann", Owner: coupon.OwnerEmail("ann@example.org"), MaxUses: coupon.Set(1)},
		{Code: "spring-bob", Owner: coupon.OwnerEmail("bob@example.org"), MaxUses: coupon.Set(1)},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(codes[0].Key, "for", codes[0].Owner)

	for _, code := range codes {
		q, err := shop.Quote(ctx, couponkit.QuoteRequest{Cart: phones(), Codes: []string{code.Key.String()}, Customer: eligibility.Customer{ID: "ann"}})
		fmt.Println(q.Total, err)
	}
	_, err = shop.AddCodes(ctx, shop.coupon.ID, coupon.Batch{ID: "more"}, []coupon.CodeDraft{{Code: "NEW"}, {Code: "SPRING-BOB"}})
	if taken, is := errors.AsType[*coupon.TakenError](err); is {
		fmt.Println("taken:", taken.Taken[0].Index, taken.Taken[0].Key)
	}
	// Output:
	// SPRING-ANN for email:ann@example.org
	// 2490 <nil>
	// 3490 coupon refused: user_not_allowed
	// taken: 1 SPRING-BOB
}

// The codes of a mailing are generated with a prefix, and are used once each. A repeated call returns
// the same codes.
func ExampleService_AddCodes_generated() {
	ctx, shop := context.Background(), openShop(nil)
	batch := coupon.Batch{ID: "mailing", Shape: coupon.CodeShape{Prefix: "SPRING", Symbols: 10}}
	drafts := []coupon.CodeDraft{{MaxUses: coupon.Set(1)}, {MaxUses: coupon.Set(1)}}
	codes, err := shop.AddCodes(ctx, shop.coupon.ID, batch, drafts)
	if err != nil {
		panic(err)
	}
	again, err := shop.AddCodes(ctx, shop.coupon.ID, batch, drafts)
	fmt.Println(strings.HasPrefix(codes[0].Key.String(), "SPRING-"), again[1].Key == codes[1].Key, err)
	// Output:
	// true true <nil>
}

func ExampleService_Codes() {
	ctx, shop := context.Background(), openShop(nil)
	batch := coupon.Batch{ID: "flyer"}
	if _, err := shop.AddCodes(ctx, shop.coupon.ID, batch, []coupon.CodeDraft{{Code: "FLYER-1"}, {Code: "FLYER-2"}, {Code: "FLYER-3"}}); err != nil {
		panic(err)
	}
	if _, err := shop.UpdateCode(ctx, "flyer-2", coupon.CodePatch{Active: coupon.Set(false)}); err != nil {
		panic(err)
	}
	for code, err := range shop.Codes(ctx, store.CodeList{CouponID: shop.coupon.ID, Batch: batch.ID, State: coupon.Active, Unused: true}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(code.Key)
	}
	// Output:
	// FLYER-1
	// FLYER-3
}

// A report reads all coupons that a search finds, one page at a time.
func ExampleService_Coupons() {
	ctx, shop := context.Background(), openShop(nil)
	if _, err := shop.Create(ctx, coupon.Draft{Name: "Spring for members", DiscountType: pricing.Percentage, Percent: "15"}); err != nil {
		panic(err)
	}
	for c, err := range shop.Coupons(ctx, store.CouponList{Search: "members", State: coupon.Active}) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: code %q, used %d times\n", c.Name, c.Code, c.UsedCount)
	}
	// Output:
	// Spring for members: code "", used 0 times
}
