package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// Two customers want the last use of a coupon. The service makes such calls; a host seldom does.
func Example() {
	ctx, at := context.Background(), time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	s := memstore.New()
	c, quote := ten(at)
	if _, err := s.SaveCoupon(ctx, store.CouponChange{Kind: store.CreateCoupon, Coupon: c, At: at, By: "admin"}); err != nil {
		log.Fatal(err)
	}
	for _, customer := range []string{"ann", "bob"} {
		order := redemption.Order{
			ID: "ord_" + customer, Key: "attempt-1", CustomerID: customer, State: redemption.OrderOpen, Quote: quote, CreatedAt: at,
			Deadline: at.Add(time.Hour), Claims: []eligibility.Claim{{Counter: eligibility.CustomerOrders(customer), Amount: 1}},
		}
		use := redemption.Use{
			ID: "use_" + customer, CouponID: c.ID, CustomerID: customer, OrderID: order.ID, Discount: quote.Discount,
			State: redemption.Reserved, Origin: redemption.FromCheckout, CreatedAt: at,
			Claims: []eligibility.Claim{{Counter: eligibility.CouponUses(c.ID), Amount: 1, Limit: c.Limits.MaxUses}},
		}
		_, err := s.Reserve(ctx, store.Reservation{Order: order, Uses: []redemption.Use{use}, Coupons: []store.CouponAt{{ID: c.ID, Revision: c.Revision}}})
		fmt.Println(customer, errors.Is(err, store.ErrLimit))
	}
	paid, err := s.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.Paid, At: at, OrderID: "ord_ann", SessionID: "cs_1"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(paid.Order.State, paid.Uses[0].State)
	entries, err := s.Journal(ctx, 0, 100)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		fmt.Println(e.Position, e.Kind, e.Subject)
	}
	// Output:
	// ann false
	// bob true
	// paid completed
	// 1 coupon_created cpn_ten
	// 2 order_opened ord_ann
	// 3 order_paid ord_ann
}

// ten is a coupon of 10 % that can be used once, and a quote with it.
func ten(at time.Time) (coupon.Coupon, pricing.Quote) {
	code, err := coupon.ParseCode("TEN")
	if err != nil {
		log.Fatal(err)
	}
	percent, err := pricing.ParsePercent("10")
	if err != nil {
		log.Fatal(err)
	}
	c := coupon.Coupon{
		ID: "cpn_ten", Code: code, Name: "Ten", Terms: coupon.Terms{
			Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
			Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, RefundPolicy: pricing.Keep, Limits: coupon.Limits{MaxUses: 1},
		},
		State:     coupon.Active,
		CreatedAt: at, UpdatedAt: at, Revision: 1,
	}
	quote, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000},
	}}, pricing.Terms{Discount: c.Discount})
	if err != nil {
		log.Fatal(err)
	}
	return c, quote
}
