package offers_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
)

// offer returns an active coupon.
func offer(d coupon.Draft) *coupon.Coupon {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	c, err := coupon.New(d, coupon.Creation{ID: coupon.IDPrefix + d.Name, At: at})
	if err != nil {
		panic(err)
	}
	c.State = coupon.Active
	return &c
}

func Example() {
	index, err := offers.New(slices.Values([]*coupon.Coupon{
		offer(coupon.Draft{Name: "ten", DiscountType: pricing.Percentage, Percent: "10", Group: "shop"}),
		offer(coupon.Draft{Name: "case", DiscountType: pricing.FixedAmountPerUnit, Amount: coupon.Amounts{"": "4"}, AppliesTo: coupon.Specific, AccessoryIDs: []string{"case"}, Group: "case"}),
		offer(coupon.Draft{Name: "summer", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "12"}, MinPurchase: coupon.Amounts{"": "100"}, Group: "summer"}),
	}), offers.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var current atomic.Pointer[offers.Index] // readers load it, and one writer stores the next index
	current.Store(index)

	query := offers.Query{
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 80_00},
			{ID: "2", Kind: pricing.Accessory, ItemID: "case", Quantity: 1, UnitPrice: 12_00},
		}},
		Question: eligibility.Question{At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Customer: eligibility.Customer{ID: "ann"}},
	}
	var search offers.Search
	best, _, _ := search.Best(current.Load(), query)
	fmt.Println("best:", best.Coupon.Name, pricing.NewMoney(best.Discount, pricing.EUR()))

	set, _ := search.Set(current.Load(), query, offers.SetOptions{MaxCoupons: 3})
	for _, o := range set.Offers {
		fmt.Println("together:", o.Coupon.Name, pricing.NewMoney(o.Discount, pricing.EUR()))
	}
	fmt.Println("proved:", set.Proved)

	near, _ := search.Nearly(current.Load(), query, offers.NearOptions{Most: 3})
	for _, n := range near {
		fmt.Println(pricing.NewMoney(n.Missing, pricing.EUR()), "more, and", n.Coupon.Name, "saves", pricing.NewMoney(n.Discount, pricing.EUR()))
	}

	next, _ := current.Load().With(offer(coupon.Draft{Name: "half", DiscountType: pricing.Percentage, Percent: "50"}))
	current.Store(next)
	best, _, _ = search.Best(current.Load(), query)
	fmt.Println("best now:", best.Coupon.Name, pricing.NewMoney(best.Discount, pricing.EUR()))
	// Output:
	// best: ten 9.20 EUR
	// together: case 4.00 EUR
	// together: ten 8.80 EUR
	// proved: true
	// 8.00 EUR more, and summer saves 12.00 EUR
	// best now: half 46.00 EUR
}
