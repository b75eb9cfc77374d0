package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func noon() time.Time { return time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC) }

// hotCoupon has limits; 0 is none.
func hotCoupon(maxUses, perCustomer int64) coupon.Coupon {
	code, _ := coupon.ParseCode("HOT")
	percent, _ := pricing.ParsePercent("12.5")
	return coupon.Coupon{
		ID: coupon.IDPrefix + "hot", Code: code, Name: "Hot", Terms: coupon.Terms{
			Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
			Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, RefundPolicy: pricing.Keep,
			Limits: coupon.Limits{MaxUses: maxUses, MaxUsesPerUser: perCustomer},
		},
		State: coupon.Active, Revision: 1, CreatedAt: noon(), UpdatedAt: noon(),
	}
}

func create(tb testing.TB, s store.Store, c coupon.Coupon) {
	tb.Helper()
	_, err := s.SaveCoupon(tb.Context(), store.CouponChange{
		Kind: store.CreateCoupon, Coupon: c, Unlimited: c.Limits.MaxUses == 0, At: noon(),
	})
	require.NoError(tb, err)
}

func shopCart() pricing.Cart {
	return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 9999},
		{ID: "2", Kind: pricing.Shipping, ItemID: "post", Quantity: 1, UnitPrice: 490},
	}}
}

var shopQuote = sync.OnceValue(func() pricing.Quote {
	return must(pricing.Price(shopCart(), pricing.Terms{Discount: pricing.PercentOff(must(pricing.ParsePercent("12.5")))}))
})

// checkoutOf is a request for an order with one use of the coupon. IDs begin with prefix.
func checkoutOf(c coupon.Coupon, customer, prefix, name string) store.Reservation {
	at := time.Now().UTC()
	order := redemption.Order{
		ID: "ord_" + prefix + name, Key: "key-" + name, Fingerprint: "cart", CustomerID: customer, State: redemption.OrderOpen,
		Quote: shopQuote(), Coupons: []coupon.Snapshot{c.Snapshot()}, Deadline: at.Add(time.Hour), CreatedAt: at,
		Claims: []eligibility.Claim{{Counter: eligibility.CustomerOrders(customer), Amount: 1}},
	}
	return store.Reservation{
		Order: order,
		Uses: []redemption.Use{{
			ID: "use_" + prefix + name, CouponID: c.ID, CustomerID: customer, OrderID: order.ID, State: redemption.Reserved,
			Origin: redemption.FromCheckout, Discount: 3750, CreatedAt: at,
			Claims: []eligibility.Claim{
				{Counter: eligibility.CustomerUses(c.ID, customer), Amount: 1, Limit: c.Limits.MaxUsesPerUser},
				{Counter: eligibility.CouponUses(c.ID), Amount: 1, Limit: c.Limits.MaxUses},
			},
		}},
		Coupons: []store.CouponAt{{ID: c.ID, Revision: c.Revision}},
	}
}

// pay is what the processor says of a paid order.
func pay(orderID string) store.Settlement {
	return store.Settlement{Event: redemption.Event{Kind: redemption.Paid, At: noon(), OrderID: orderID, SessionID: "cs_" + orderID}}
}

// use reserves and pays once; it reports whether a use was left.
func use(ctx context.Context, s store.Store, c coupon.Coupon, customer, name string) (bool, error) {
	r := checkoutOf(c, customer, "", name)
	_, err := s.Reserve(ctx, r)
	if errors.Is(err, store.ErrLimit) {
		return false, nil
	}
	if err == nil {
		_, err = s.Apply(ctx, pay(r.Order.ID))
	}
	return err == nil, err
}

// crowd makes so many attempts by many goroutines and returns how many succeeded.
func crowd(ctx context.Context, stores []store.Store, c coupon.Coupon, name string, callers, attempts int) (int64, error) {
	var next, used atomic.Int64
	errs := make([]error, callers)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := next.Add(1); int(i) <= attempts && errs[caller] == nil; i = next.Add(1) {
				var ok bool
				ok, errs[caller] = use(ctx, stores[caller%len(stores)], c, fmt.Sprintf("%s-%d", name, i), fmt.Sprintf("%s-%06d", name, i))
				if ok {
					used.Add(1)
				}
			}
		})
	}
	all.Wait()
	return used.Load(), errors.Join(errs...)
}
