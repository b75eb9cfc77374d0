package memstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// A coupon for one customer: the second one finds no place, until the first one's
// session ends unpaid.
func Example() {
	ctx, s := context.Background(), memstore.New()
	defer func() { _ = s.Close() }()

	code, _ := coupon.ParseCode("first")
	percent, _ := pricing.ParsePercent("10")
	c := coupon.Coupon{
		ID: "cpn_1", Code: code, Name: "First come", Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
		Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General,
		Limits: coupon.Limits{MaxUses: 1}, State: coupon.Active, CreatedAt: noon(), UpdatedAt: noon(), Revision: 1,
	}
	fmt.Println("create:", s.CreateCoupon(ctx, c))

	anns, bobs := reservation(c, "ann", "a"), reservation(c, "bob", "b")
	_, err := s.Reserve(ctx, anns)
	fmt.Println("ann:", err)
	_, err = s.Reserve(ctx, bobs)
	fmt.Println("bob:", err, errors.Is(err, coupon.ErrUsageLimitReached))

	expired := payment(anns, "cs_a", "")
	expired.Event.Kind = redemption.SessionExpired
	done, err := s.Settle(ctx, expired)
	fmt.Println("ann's session expired:", done.Redemption.State, done.Order.State, err)

	_, err = s.Reserve(ctx, bobs)
	fmt.Println("bob:", err)
	done, err = s.Settle(ctx, payment(bobs, "cs_b", "rsv_new"))
	fmt.Println("bob has paid:", done.Redemption.State, done.Order.State, err)

	found, err := s.LookUp(ctx, store.LookUp{Code: code, CustomerID: "bob"})
	fmt.Println("used", found.Coupon.UsedCount, "times,", found.CompletedByCustomer, "by bob", err)
	// Output:
	// create: <nil>
	// ann: <nil>
	// bob: coupon refused: usage_limit_reached true
	// ann's session expired: released cancelled <nil>
	// bob: <nil>
	// bob has paid: completed paid <nil>
	// used 1 times, 1 by bob <nil>
}

func ExampleStore_Close() {
	s := memstore.New()
	fmt.Println(s.Close(), s.Close())
	_, err := s.Coupon(context.Background(), "cpn_1")
	fmt.Println(err)
	// Output:
	// <nil> <nil>
	// the store is closed
}
