package storetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/storetest"
)

func at(seconds int) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

func order(id, customer, couponID string, limit int64) store.Reservation {
	return store.Reservation{
		Order: redemption.Order{
			ID: "ord_" + id, Key: id, CustomerID: customer, State: redemption.OrderOpen, CreatedAt: at(0), Deadline: at(1000),
			Quote: pricing.Quote{Currency: pricing.EUR()}, Claims: []eligibility.Claim{{Counter: "orders", Amount: 1}},
		},
		Uses: []redemption.Use{{
			ID: "use_" + id, CouponID: couponID, CustomerID: customer, OrderID: "ord_" + id, State: redemption.Reserved, Origin: redemption.FromCheckout, CreatedAt: at(0),
			Claims: []eligibility.Claim{{Counter: eligibility.CouponUses(couponID), Amount: 1, Limit: limit}},
		}},
		Coupons: []store.CouponAt{{ID: couponID}},
	}
}

// lived returns what a store holds after a short life: an order that was handed over and
// paid late, one that was paid, one that is open, and a deleted coupon.
func lived(t *testing.T) storetest.Everything {
	t.Helper()
	ctx, s := t.Context(), memstore.New()
	percent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	for i, id := range []string{"cpn_a", "cpn_b", "cpn_gone"} {
		code, err := coupon.ParseCode(fmt.Sprint("CODE", i))
		require.NoError(t, err)
		c := coupon.Coupon{
			ID: id, Code: code, Name: id, Terms: coupon.Terms{
				Discount: pricing.PercentOff(percent), Currency: pricing.EUR(), Scope: coupon.Scope{AppliesTo: coupon.All},
				Distribution: coupon.General, RefundPolicy: pricing.Keep, Limits: coupon.Limits{MaxUses: 2},
			},
			State: coupon.Active, CreatedAt: at(0), UpdatedAt: at(0), Revision: 1,
		}
		_, err = s.SaveCoupon(ctx, store.CouponChange{Kind: store.CreateCoupon, Coupon: c, At: at(0)})
		require.NoError(t, err)
		if id == "cpn_gone" {
			_, err = s.SaveCoupon(ctx, store.CouponChange{Kind: store.DeleteCoupon, Coupon: c, At: at(0)})
			require.NoError(t, err)
		}
	}
	retry := order("2", "ann", "cpn_a", 2)
	retry.Order.Replaces = "ord_1"
	for _, r := range []store.Reservation{order("1", "ann", "cpn_a", 2), retry, order("3", "bob", "cpn_a", 2), order("4", "cem", "cpn_b", 2)} {
		_, err := s.Reserve(ctx, r)
		require.NoError(t, err)
	}
	for _, id := range []string{"2", "1", "3"} { // the second is late, and forces nothing
		_, err := s.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.Paid, OrderID: "ord_" + id, SessionID: "cs_" + id, At: at(1)}})
		require.NoError(t, err)
	}
	all, err := storetest.Read(ctx, s)
	require.NoError(t, err)
	return all
}

// TestCheck: each contradiction is found, and a sound store has none.
func TestCheck(t *testing.T) {
	t.Parallel()
	all := lived(t)
	require.NoError(t, all.Check())
	flagged := 0
	for _, u := range all.Uses {
		if u.OverLimit {
			flagged++
		}
	}
	require.Equal(t, 1, flagged, "the example has a use beyond its limit")
	for name, spoil := range map[string]func(all *storetest.Everything){
		"a counter holds one more":        func(all *storetest.Everything) { all.Counters["orders"] = eligibility.Count{Reserved: 99} },
		"a counter forgets":               func(all *storetest.Everything) { all.Counters[eligibility.CouponUses("cpn_a")] = eligibility.Count{} },
		"a coupon tells other counts":     func(all *storetest.Everything) { all.Coupons[0].UsedCount++ },
		"a use beyond its limit":          func(all *storetest.Everything) { eachUse(all, func(u *redemption.Use) { u.OverLimit = false }) },
		"a use does not follow its order": func(all *storetest.Everything) { all.Orders[3].Uses[0].State = redemption.Completed },
		"a use is another in the list":    func(all *storetest.Everything) { all.Uses[0].Discount++ },
		"a use has given something back":  func(all *storetest.Everything) { eachUse(all, func(u *redemption.Use) { u.Returned++ }) },
		"a use is in no list":             func(all *storetest.Everything) { all.Uses = all.Uses[1:] },
		"an order's use is missing":       func(all *storetest.Everything) { all.Orders[0].Uses = nil },
		"a session in two orders":         func(all *storetest.Everything) { all.Orders[1].Order.SessionID = all.Orders[0].Order.SessionID },
		"a key of two orders": func(all *storetest.Everything) {
			all.Orders[1].Order.Key = all.Orders[0].Order.Key
		},
		"an order twice":        func(all *storetest.Everything) { all.Orders = append(all.Orders, all.Orders[0]) },
		"a code of two coupons": func(all *storetest.Everything) { all.Coupons[1].Code = all.Coupons[0].Code },
		"a code of two coupons, of one in a batch": func(all *storetest.Everything) {
			code := coupon.IssuedCode{Code: all.Coupons[0].Code, CouponID: all.Coupons[1].ID, Batch: "spring"}
			all.Codes = append(all.Codes, code)
		},
		"an exchange with two uses":    func(all *storetest.Everything) { eachUse(all, func(u *redemption.Use) { u.ExchangeID = "x" }) },
		"an order without its entry":   func(all *storetest.Everything) { all.Orders[0].Order.Version++ },
		"a use without its entry":      func(all *storetest.Everything) { eachUse(all, func(u *redemption.Use) { u.Version++ }) },
		"a coupon without its entry":   func(all *storetest.Everything) { all.Coupons[0].Revision++ },
		"the last entry is missing":    func(all *storetest.Everything) { all.Journal = all.Journal[:len(all.Journal)-1] },
		"the first entry is missing":   func(all *storetest.Everything) { all.Journal = all.Journal[1:] },
		"an entry twice":               func(all *storetest.Everything) { all.Journal = append(all.Journal, all.Journal[len(all.Journal)-1]) },
		"positions do not increase":    func(all *storetest.Everything) { all.Journal[3].Position = all.Journal[2].Position },
		"entries in another order":     swapEntries,
		"an entry that cannot be read": func(all *storetest.Everything) { all.Journal[4].Data = []byte("{") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spoiled := lived(t)
			spoil(&spoiled)
			require.Error(t, spoiled.Check())
		})
	}
}

func eachUse(all *storetest.Everything, change func(u *redemption.Use)) {
	for i := range all.Uses {
		change(&all.Uses[i])
	}
	for i := range all.Orders {
		for j := range all.Orders[i].Uses {
			change(&all.Orders[i].Uses[j])
		}
	}
}

// swapEntries exchanges two entries about one order, but for their positions.
func swapEntries(all *storetest.Everything) {
	var about []int
	for i, e := range all.Journal {
		if e.Subject == "ord_1" {
			about = append(about, i)
		}
	}
	a, b := &all.Journal[about[0]], &all.Journal[about[1]]
	*a, *b = *b, *a
	a.Position, b.Position = b.Position, a.Position
}
