package storetest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// A store's test file holds one test that runs the suite. Here open returns a new,
// empty store, and reopen another one on the data of the first.
func ExampleRun() {
	testContract := func(t *testing.T) {
		t.Helper()
		storetest.Run(t, open, storetest.Capabilities{Reopen: reopen})
	}
	_ = testing.InternalTest{Name: "TestContract", F: testContract} // go test finds func TestContract
}

// Another test compares the store with the reference, call by call.
func ExampleAgree() {
	testAgreement := func(t *testing.T) {
		t.Helper()
		storetest.Agree(t, open, reference, storetest.Histories{})
	}
	_ = testing.InternalTest{Name: "TestAgreement", F: testAgreement} // go test finds func TestAgreement
}

// After a run under load the store is checked as a whole.
func ExampleCheckInvariants() {
	ctx := context.Background()
	s := memstore.New()
	code, err := coupon.ParseCode("ten")
	if err != nil {
		fmt.Println(err)
		return
	}
	percent, err := pricing.ParsePercent("10")
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	err = s.CreateCoupon(ctx, coupon.Coupon{
		ID: "cpn_ten", Code: code, Name: "Ten percent off", Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
		Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, State: coupon.Active,
		CreatedAt: now, UpdatedAt: now, Revision: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(storetest.CheckInvariants(ctx, s))
	miscounting := &faulty{Store: s, outCoupon: func(c coupon.Coupon) coupon.Coupon {
		c.UsedCount++
		return c
	}}
	fmt.Println(storetest.CheckInvariants(ctx, miscounting))
	// Output:
	// <nil>
	// coupon cpn_ten has UsedCount 1 and ReservedCount 0, with 0 completed and 0 live redemptions
}
