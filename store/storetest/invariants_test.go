package storetest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// noon is when everything in these tests happens.
func noon() time.Time { return time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC) }

// shelf is a store with a coupon of two places, one for each customer: ann has paid,
// bob has a reservation, and cem has given a place up.
func shelf(t *testing.T) store.Store {
	t.Helper()
	s := memstore.New()
	code, err := coupon.ParseCode("TEN")
	require.NoError(t, err)
	percent, err := pricing.ParsePercent("10")
	require.NoError(t, err)
	require.NoError(t, s.CreateCoupon(t.Context(), coupon.Coupon{
		ID: "cpn_ten", Code: code, Name: "Ten percent off", Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
		Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, State: coupon.Active,
		Limits: coupon.Limits{MaxUses: 2, MaxUsesPerUser: 1}, CreatedAt: noon(), UpdatedAt: noon(), Revision: 1,
	}))
	for _, customer := range []string{"ann", "cem", "bob"} {
		_, err := s.Reserve(t.Context(), store.Reservation{
			Redemption: redemption.Redemption{
				ID: "rsv_" + customer, Key: "key", CouponID: "cpn_ten", CustomerID: customer, State: redemption.Reserved,
				Origin: redemption.FromCheckout, OrderID: "ord_" + customer, Deadline: noon(), CreatedAt: noon(), UpdatedAt: noon(),
			},
			Order: &store.Order{
				ID: "ord_" + customer, Key: "key", CustomerID: customer, State: store.OrderOpen, CouponID: "cpn_ten",
				ReservationID: "rsv_" + customer, CreatedAt: noon(), UpdatedAt: noon(),
			},
		})
		require.NoError(t, err)
		kind := map[string]redemption.EventKind{"ann": redemption.SessionCompleted, "cem": redemption.SessionExpired}[customer]
		if kind == 0 {
			continue
		}
		_, err = s.Settle(t.Context(), store.Settlement{
			Event:         redemption.Event{Kind: kind, At: noon(), SessionID: "cs_" + customer, OrderID: "ord_" + customer},
			ReservationID: "rsv_" + customer,
		})
		require.NoError(t, err)
	}
	return s
}

func TestInvariantsHold(t *testing.T) {
	t.Parallel()
	require.NoError(t, storetest.CheckInvariants(t.Context(), shelf(t)))
	require.NoError(t, storetest.CheckInvariants(t.Context(), memstore.New()))
}

// TestAnotherSessionPays: an order that another session has paid stays beside a reservation
// which is released, for neither looks at the other.
func TestAnotherSessionPays(t *testing.T) {
	t.Parallel()
	s := shelf(t)
	_, err := s.Settle(t.Context(), store.Settlement{
		Event: redemption.Event{Kind: redemption.SessionCompleted, At: noon(), SessionID: "cs_other", OrderID: "ord_cem"},
	})
	require.NoError(t, err)
	o, err := s.Order(t.Context(), "ord_cem")
	require.NoError(t, err)
	require.Equal(t, store.OrderPaid, o.State)
	require.NoError(t, storetest.CheckInvariants(t.Context(), s))
}

// spoiled changes the record of one customer wherever it comes out.
func spoiled(customer string, how func(*redemption.Redemption)) func(store.Store) *faulty {
	return func(in store.Store) *faulty {
		return &faulty{Store: in, outRecord: func(r redemption.Redemption) redemption.Redemption {
			if r.CustomerID == customer {
				how(&r)
			}
			return r
		}}
	}
}

func spoiledOrder(customer string, how func(*store.Order)) func(store.Store) *faulty {
	return func(in store.Store) *faulty {
		return &faulty{Store: in, outOrder: func(o store.Order) store.Order {
			if o.CustomerID == customer {
				how(&o)
			}
			return o
		}}
	}
}

func spoiledCoupon(how func(*coupon.Coupon)) func(store.Store) *faulty {
	return func(in store.Store) *faulty {
		return &faulty{Store: in, outCoupon: func(c coupon.Coupon) coupon.Coupon {
			how(&c)
			return c
		}}
	}
}

func listing(how func(*store.RedemptionPage)) func(store.Store) *faulty {
	return func(in store.Store) *faulty {
		return &faulty{Store: in, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
			page, err := in.ListRedemptions(ctx, list)
			how(&page)
			return page, err
		}}
	}
}

func finding(how func(*store.Found)) func(store.Store) *faulty {
	return func(in store.Store) *faulty {
		return &faulty{Store: in, lookUp: func(ctx context.Context, by store.LookUp) (store.Found, error) {
			found, err := in.LookUp(ctx, by)
			how(&found)
			return found, err
		}}
	}
}

// TestInvariantsAreNoticed shows that each invariant is looked at: a store that breaks
// it is told so.
func TestInvariantsAreNoticed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		how  func(store.Store) *faulty
		want string
	}{
		"invalid record":     {spoiled("bob", func(r *redemption.Redemption) { r.Origin = 0 }), "redemption rsv_bob: invalid"},
		"listed twice":       {listing(func(p *store.RedemptionPage) { p.Items = append(p.Items, p.Items[0]) }), "redemption rsv_cem is listed twice"},
		"listed differently": {listing(func(p *store.RedemptionPage) { p.Items[0].UpdatedAt = noon().Add(1) }), "redemption rsv_cem is listed as"},
		"one key twice": {
			spoiled("ann", func(r *redemption.Redemption) { r.CustomerID = "bob" }),
			"have one key",
		},
		"one session twice": {spoiled("bob", func(r *redemption.Redemption) {
			r.State, r.SessionID, r.CompletedAt, r.Deadline = redemption.Completed, "cs_ann", noon(), time.Time{}
		}), "session cs_ann has completed both"},
		"completed at no time":  {spoiled("ann", func(r *redemption.Redemption) { r.CompletedAt = time.Time{} }), "rsv_ann is completed, and was completed at"},
		"completed too early":   {spoiled("bob", func(r *redemption.Redemption) { r.CompletedAt = noon() }), "rsv_bob is reserved, and was completed at"},
		"released at no time":   {spoiled("cem", func(r *redemption.Redemption) { r.ReleasedAt = time.Time{} }), "rsv_cem is released, and was released at"},
		"released and paid":     {spoiled("ann", func(r *redemption.Redemption) { r.ReleasedAt = noon() }), "rsv_ann is completed, and was released at"},
		"waits after the end":   {spoiled("ann", func(r *redemption.Redemption) { r.AwaitingPayment = true }), "rsv_ann is completed, and still waits"},
		"deadline after it":     {spoiled("cem", func(r *redemption.Redemption) { r.Deadline = noon() }), "rsv_cem is released, and still waits"},
		"leaves after it":       {spoiled("cem", func(r *redemption.Redemption) { r.LeavingUntil = noon() }), "rsv_cem is released, and still waits"},
		"flagged, not paid":     {spoiled("bob", func(r *redemption.Redemption) { r.OverLimit = true }), "rsv_bob is over the limit and reserved"},
		"points kept":           {spoiled("cem", func(r *redemption.Redemption) { r.PointsState = redemption.PointsDebited }), "rsv_cem is released, and its points are debited"},
		"order of none":         {spoiled("bob", func(r *redemption.Redemption) { r.OrderID = "ord_none" }), "order ord_none of redemption rsv_bob: not found"},
		"invalid order":         {spoiledOrder("bob", func(o *store.Order) { o.Key = "" }), "order ord_bob: invalid"},
		"another's reservation": {spoiledOrder("bob", func(o *store.Order) { o.ReservationID = "rsv_ann" }), "has an order of redemption rsv_ann"},
		"another's coupon":      {spoiledOrder("bob", func(o *store.Order) { o.CouponID = "cpn_other" }), "coupon cpn_other"},
		"paid and open":         {spoiledOrder("ann", func(o *store.Order) { o.State = store.OrderOpen }), "rsv_ann is completed, and its order ord_ann is open"},
		"released and open":     {spoiledOrder("cem", func(o *store.Order) { o.State = store.OrderAwaitingPayment }), "rsv_cem is released, and its order ord_cem is awaiting_payment"},
		"used miscounted":       {spoiledCoupon(func(c *coupon.Coupon) { c.UsedCount = 2 }), "has UsedCount 2 and ReservedCount 1, with 1 completed and 1 live"},
		"reserved miscounted":   {spoiledCoupon(func(c *coupon.Coupon) { c.ReservedCount = 0 }), "has UsedCount 1 and ReservedCount 0, with 1 completed and 1 live"},
		"oversold":              {spoiledCoupon(func(c *coupon.Coupon) { c.Limits.MaxUses = 1 }), "has 1 completed (0 flagged) and 1 live redemptions, and allows 1"},
		"oversold to one":       {spoiled("ann", func(r *redemption.Redemption) { r.CustomerID, r.Key = "bob", "another" }), `of customer "bob", and allows 1`},
		"look up miscounts":     {finding(func(f *store.Found) { f.CompletedByCustomer++ }), `LookUp of coupon cpn_ten counts 1 completed and 1 live redemptions of customer "bob", and there are 0 and 1`},
		"look up lists none":    {finding(func(f *store.Found) { f.Held = nil }), `lists 0 live redemptions of customer "bob", and there are 1`},
		"look up lists too many": {
			finding(func(f *store.Found) { f.Held = slices.Repeat(f.Held, store.MaxHeld+1) }),
			`lists 17 live redemptions of customer "bob", and at most 16 are to be listed`,
		},
		"look up lists another": {finding(func(f *store.Found) {
			for i := range f.Held {
				f.Held[i].ID = "rsv_other"
			}
		}), `lists redemption rsv_other as held by customer "bob"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := storetest.CheckInvariants(t.Context(), test.how(shelf(t)))
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestFlaggedUsesComeOnTop: what is over the limit and flagged is not an oversale, and
// neither is a limit that was lowered.
func TestFlaggedUsesComeOnTop(t *testing.T) {
	t.Parallel()
	lowered := spoiledCoupon(func(c *coupon.Coupon) { c.Limits.MaxUses = 1 })
	require.NoError(t, storetest.CheckInvariants(t.Context(), lowered(shelf(t)), "cpn_ten"))
	require.Error(t, storetest.CheckInvariants(t.Context(), lowered(shelf(t)), "cpn_other"))
	flagged := lowered(spoiled("ann", func(r *redemption.Redemption) { r.OverLimit = true })(shelf(t)))
	require.NoError(t, storetest.CheckInvariants(t.Context(), flagged))
}

// TestStoresThatFailAreNoSoundOnes: what cannot be read is reported.
func TestStoresThatFailAreNoSoundOnes(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for name, how := range map[string]func(store.Store) *faulty{
		"coupons": func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(context.Context, store.CouponList) (store.CouponPage, error) { return store.CouponPage{}, down }}
		},
		"redemptions": func(in store.Store) *faulty {
			return &faulty{Store: in, listRedemptions: func(context.Context, store.RedemptionList) (store.RedemptionPage, error) {
				return store.RedemptionPage{}, down
			}}
		},
		"look up": func(in store.Store) *faulty {
			return &faulty{Store: in, lookUp: func(context.Context, store.LookUp) (store.Found, error) { return store.Found{}, down }}
		},
		"order": func(in store.Store) *faulty {
			return &faulty{Store: in, order: func(context.Context, string) (store.Order, error) { return store.Order{}, down }}
		},
	} {
		err := storetest.CheckInvariants(t.Context(), how(shelf(t)))
		require.ErrorIs(t, err, down, name)
	}
}

// TestListsWithoutAnEnd: a cursor that leads to itself ends the check and not the
// patience of who waits for it.
func TestListsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for _, how := range []func(store.Store) *faulty{
		func(in store.Store) *faulty {
			return &faulty{Store: in, listRedemptions: func(ctx context.Context, _ store.RedemptionList) (store.RedemptionPage, error) {
				page, err := in.ListRedemptions(ctx, store.RedemptionList{})
				page.Next = "circle"
				return page, err
			}}
		},
		func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(ctx context.Context, _ store.CouponList) (store.CouponPage, error) {
				page, err := in.ListCoupons(ctx, store.CouponList{})
				page.Next = "circle"
				return page, err
			}}
		},
	} {
		err := storetest.CheckInvariants(t.Context(), how(shelf(t)))
		require.ErrorContains(t, err, "returned the cursor that it was given")
	}
}
