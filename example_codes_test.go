package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes/codecsv"
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
	fmt.Println(codes[0].Code, "for", codes[0].Owner)

	for _, code := range codes {
		q, err := shop.Quote(ctx, couponkit.QuoteRequest{Cart: phones(), Codes: []string{code.Code.String()}, Customer: eligibility.Customer{ID: "ann"}})
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
	fmt.Println(strings.HasPrefix(codes[0].Code.String(), "SPRING-"), again[1].Code == codes[1].Code, err)
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
		fmt.Println(code.Code)
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

// A mailing needs a code for each of many recipients. The codes are generated first, and are given to the recipients as
// their list grows.
func ExampleService_CreateCodes() {
	ctx, shop := context.Background(), openShop(nil)
	mailing := coupon.BatchDraft{Batch: coupon.Batch{ID: "mailing", Shape: coupon.CodeShape{Prefix: "SPRING"}}, Count: 12_500}
	batch, err := shop.CreateCodes(ctx, shop.coupon.ID, mailing, func(b coupon.IssuedBatch) {
		fmt.Println(b.Added, "of", b.Size)
	})
	fmt.Println(batch.Complete(), err)
	// Output:
	// 5000 of 12500
	// 10000 of 12500
	// 12500 of 12500
	// true <nil>
}

// Every recipient gets one code. A recipient who is in a second list keeps the code.
func ExampleService_AssignCodes() {
	ctx, shop := context.Background(), openShop(nil)
	mailing := coupon.BatchDraft{Batch: coupon.Batch{ID: "mailing"}, Count: 100}
	if _, err := shop.CreateCodes(ctx, shop.coupon.ID, mailing, nil); err != nil {
		panic(err)
	}
	codes := map[coupon.Owner]coupon.Code{}
	for _, list := range [][]string{{"ann@example.org", "bob@example.org"}, {"bob@example.org", "cem@example.org"}} {
		for code, err := range shop.AssignCodes(ctx, shop.coupon.ID, "mailing", owners(list)) {
			if err != nil {
				panic(err)
			}
			if before, known := codes[code.Owner]; known {
				fmt.Println(code.Owner, "keeps the code:", before == code.Code)
			}
			codes[code.Owner] = code.Code
		}
	}
	for batch, err := range shop.Batches(ctx, store.BatchList{CouponID: shop.coupon.ID}) {
		fmt.Println(batch.ID, batch.Added, "codes,", batch.Assigned, "assigned,", err)
	}
	// Output:
	// email:bob@example.org keeps the code: true
	// mailing 100 codes, 3 assigned, <nil>
}

// owners returns the customers with the addresses.
func owners(addresses []string) iter.Seq[coupon.Owner] {
	return func(yield func(coupon.Owner) bool) {
		for _, address := range addresses {
			if !yield(coupon.OwnerEmail(address)) {
				return
			}
		}
	}
}

// A code that leaked is switched off with its whole batch. Codes without a use can be removed.
func ExampleService_SetBatchActive() {
	ctx, shop := context.Background(), openShop(nil)
	if _, err := shop.CreateCodes(ctx, shop.coupon.ID, coupon.BatchDraft{Batch: coupon.Batch{ID: "leaked"}, Count: 10}, nil); err != nil {
		panic(err)
	}
	batch, err := shop.SetBatchActive(ctx, shop.coupon.ID, "leaked", false)
	fmt.Println(batch.Inactive, err)
	batch, err = shop.RemoveUnusedCodes(ctx, shop.coupon.ID, "leaked")
	fmt.Println(batch.Removed, err)
	// Output:
	// 10 <nil>
	// 10 <nil>
}

// Codes that another system has issued are imported from its export. Every row has a verdict.
func ExampleService_ImportCodes() {
	ctx, shop := context.Background(), openShop(nil)
	file := strings.NewReader("value,recipientintegrationid,limitval,expirydate\nSPRING-1,ann,1,2099-05-31\nSPRING-2,,0,\nSPRING-3,,1,03/04/2099\n")
	reader, err := codecsv.NewReader(file, codecsv.Options{})
	if err != nil {
		panic(err)
	}
	for row, err := range shop.ImportCodes(ctx, shop.coupon.ID, "talon", reader.Rows()) {
		if err != nil {
			panic(err)
		}
		fmt.Println(row.Number, row.Draft.Code, row.Verdict, row.Refusal)
	}
	// Output:
	// 2 SPRING-1 added <nil>
	// 3 SPRING-2 added <nil>
	// 4 SPRING-3 refused invalid input: expiresAt: may be two dates: write the year first, as in 2026-12-31
}
