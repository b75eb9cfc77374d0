package sqldb_test

import (
	"fmt"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// must is for values that the tests make of constants.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// noon is when everything begins.
func noon() time.Time { return time.Date(2026, time.November, 20, 12, 0, 0, 123456000, time.UTC) }

// limitedCoupon is an active coupon; 0 is no limit.
func limitedCoupon(code string, maxUses, perUser int64) coupon.Coupon {
	return coupon.Coupon{
		ID: coupon.IDPrefix + code, Code: must(coupon.ParseCode(code)), Name: "Coupon " + code,
		Discount: pricing.PercentOff(must(pricing.ParsePercent("12.5"))), Currency: pricing.EUR(),
		Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General,
		Limits: coupon.Limits{MaxUses: maxUses, MaxUsesPerUser: perUser},
		State:  coupon.Active, Revision: 1, CreatedAt: noon(), UpdatedAt: noon(),
	}
}

// shopCart is a cart of one line and its shipping.
func shopCart() pricing.Cart {
	return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 9999},
		{ID: "2", Kind: pricing.Shipping, ItemID: "post", Quantity: 1, UnitPrice: 490},
	}}
}

// checkoutOf is a request of a customer to use the coupon; name makes it unique.
func checkoutOf(c coupon.Coupon, customer, name string) store.Reservation {
	quote := must(pricing.Price(shopCart(), c.Discount, nil))
	snapshot := c.Snapshot()
	order := store.Order{
		ID: store.OrderIDPrefix + name, Key: "key-" + name, Fingerprint: "cart", CustomerID: customer,
		State: store.OrderOpen, CouponID: c.ID, Coupon: &snapshot, ReservationID: redemption.IDPrefix + name,
		DiscountAmount: quote.Discount, Quote: quote, Deadline: noon().Add(time.Hour), CreatedAt: noon(), UpdatedAt: noon(),
	}
	return store.Reservation{
		Redemption: redemption.Redemption{
			ID: order.ReservationID, Key: order.Key, CouponID: c.ID, CustomerID: customer,
			State: redemption.Reserved, Origin: redemption.FromCheckout, OrderID: order.ID,
			Deadline: order.Deadline, CreatedAt: noon(), UpdatedAt: noon(),
		},
		Order: &order,
	}
}

// settlementOf is what the processor says of the reservation's session.
func settlementOf(kind redemption.EventKind, r redemption.Redemption, session string) store.Settlement {
	return store.Settlement{
		Event:         redemption.Event{Kind: kind, At: noon().Add(time.Minute), SessionID: session, OrderID: r.OrderID},
		ReservationID: r.ID, CouponID: r.CouponID, CustomerID: r.CustomerID, NewID: r.ID + "-new",
	}
}

func customer(i int) string { return fmt.Sprintf("customer-%05d", i) }
