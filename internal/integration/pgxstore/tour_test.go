package pgxstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// tour fills a store with one of everything: coupons of every kind and state,
// redemptions and orders in every state. What a store then holds is what any other
// holds after the same tour.
type tour struct {
	t *testing.T
	s store.Store
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (w tour) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// coupons are those of the tour, as they are created.
func (w tour) coupons() []coupon.Coupon {
	return []coupon.Coupon{
		newCoupon(w.t, "PERCENT", func(c *coupon.Coupon) {
			c.Limits = coupon.Limits{MaxUses: 100, MaxUsesPerUser: 5}
			c.Description, c.MinPurchase = "It's 100 % – «quoted» \\ and_more", 100
			c.StartsAt, c.ExpiresAt = epoch.Add(-time.Hour), epoch.Add(1000*time.Hour)
		}),
		newCoupon(w.t, "AMOUNT", func(c *coupon.Coupon) {
			c.Discount = must(pricing.AmountOff(pricing.NewMoney(1050, pricing.EUR())))
			c.Scope = coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems("phone", "watch"), Plans: coupon.NewItems("basic")}
			c.State = coupon.Inactive
		}),
		newCoupon(w.t, "LISTED", func(c *coupon.Coupon) {
			c.Limits.MaxUsesPerUser = 1
			c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, must(coupon.NewEmailSet("zoe@example.org", "ann@example.org"))
		}),
		newCoupon(w.t, "POINTS", func(c *coupon.Coupon) {
			c.Distribution, c.PointsRequired = coupon.PointsRedeemable, 500
			c.State = coupon.Pending
		}),
		newCoupon(w.t, "ONE", func(c *coupon.Coupon) { c.Limits.MaxUses = 1 }),
		newCoupon(w.t, "UNLIMITED"),
		newCoupon(w.t, "DELETING", func(c *coupon.Coupon) { c.State = coupon.Deleting }),
		newCoupon(w.t, "DELETED"),
	}
}

// customersOfTour use the coupons, each in another way.
var customersOfTour = []string{
	"open", "attached", "unpaid", "paid", "failed", "expired", "cancelled", "lapsed", "taken", "ann", "bea", "cleo", "dora", "late",
}

// fill walks the tour.
func (w tour) fill() {
	w.t.Helper()
	ctx := w.t.Context()
	coupons := w.coupons()
	for _, c := range coupons {
		w.ok(w.s.CreateCoupon(ctx, c))
	}
	percent, listed, points, one, unlimited, deleted := coupons[0], coupons[2], coupons[3], coupons[4], coupons[5], coupons[7]
	_, err := w.s.ConfirmMirror(ctx, points.ID, coupon.Mirror{CouponID: "co_1", PromotionCodeID: "promo_1", Revision: 1})
	w.ok(err)
	edited := coupons[1]
	edited.Name, edited.UpdatedAt = "Edited", epoch.Add(time.Minute)
	_, err = w.s.UpdateCoupon(ctx, edited)
	w.ok(err)

	w.reserve(percent, "open")
	w.attach(w.reserve(percent, "attached"))
	w.settle(w.attach(w.reserve(percent, "unpaid")), redemption.SessionUnpaid)
	w.settle(w.attach(w.reserve(unlimited, "paid")), redemption.SessionCompleted)
	w.settle(w.attach(w.reserve(percent, "failed")), redemption.PaymentFailed)
	w.settle(w.attach(w.reserve(listed, "expired")), redemption.SessionExpired)
	w.transition(w.reserve(percent, "cancelled").Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: epoch.Add(time.Hour)})
	w.transition(w.reserve(percent, "lapsed").Redemption.ID, redemption.Event{Kind: redemption.Lapsed, At: epoch.Add(3 * time.Hour)})
	w.takeOver(w.reserve(listed, "taken"))
	w.points(points)
	w.late(one)
	w.settle(w.attach(w.reserve(deleted, "paid")), redemption.SessionCompleted)
	w.ok(w.s.DeleteCoupon(ctx, deleted.ID, 1))
	w.plainOrder()
}

// reserve keeps a place; the customer is named after what becomes of it.
func (w tour) reserve(c coupon.Coupon, customer string) store.Reserved {
	w.t.Helper()
	kept, err := w.s.Reserve(w.t.Context(), checkout(c, quote(w.t), customer, c.Code.String(), epoch))
	w.ok(err)
	return kept
}

func (w tour) attach(kept store.Reserved) store.Reserved {
	w.t.Helper()
	session := "cs_" + kept.Order.ID
	_, err := w.s.AttachSession(w.t.Context(), store.Attachment{
		OrderID: kept.Order.ID, SessionID: session, SessionURL: "https://pay.example/" + session,
		Deadline: epoch.Add(2 * time.Hour), At: epoch.Add(time.Second),
	})
	w.ok(err)
	return kept
}

func (w tour) settle(kept store.Reserved, kind redemption.EventKind) {
	w.t.Helper()
	r := kept.Redemption
	_, err := w.s.Settle(w.t.Context(), store.Settlement{
		Event: redemption.Event{
			Kind: kind, At: epoch.Add(time.Minute), SessionID: "cs_" + kept.Order.ID, OrderID: kept.Order.ID,
			Deadline: epoch.Add(72 * time.Hour),
		},
		ReservationID: r.ID, CouponID: r.CouponID, CustomerID: r.CustomerID, NewID: "rsv_new_" + r.ID,
	})
	w.ok(err)
}

func (w tour) transition(id string, e redemption.Event) {
	w.t.Helper()
	_, err := w.s.Transition(w.t.Context(), id, e)
	w.ok(err)
}

func (w tour) takeOver(kept store.Reserved) {
	w.t.Helper()
	order := kept.Order.Clone()
	order.ID, order.Key, order.CreatedAt, order.UpdatedAt = "ord_second", "second", epoch.Add(time.Minute), epoch.Add(time.Minute)
	_, err := w.s.TakeOver(w.t.Context(), store.TakeOver{
		ReservationID: kept.Redemption.ID, Order: order, Deadline: epoch.Add(2 * time.Hour), At: epoch.Add(time.Minute),
	})
	w.ok(err)
}

// points has reservations in every state of their points.
func (w tour) points(c coupon.Coupon) {
	w.t.Helper()
	for i, customer := range []string{"ann", "bea", "cleo", "dora"} {
		id := "rsv_points_" + customer
		_, err := w.s.Reserve(w.t.Context(), store.Reservation{Redemption: redemption.Redemption{
			ID: id, Key: "points", CouponID: c.ID, CustomerID: customer, State: redemption.Reserved,
			Origin: redemption.FromPoints, Points: 500, PointsState: redemption.PointsPending,
			Deadline: epoch.Add(time.Minute), CreatedAt: epoch, UpdatedAt: epoch,
		}})
		w.ok(err)
		for _, kind := range []redemption.EventKind{redemption.PointsExchanged, redemption.Cancelled, redemption.PointsGivenBack}[:i] {
			w.transition(id, redemption.Event{Kind: kind, At: epoch.Add(time.Hour)})
		}
	}
}

// late is a payment after the last place was given back and taken by another.
func (w tour) late(c coupon.Coupon) {
	w.t.Helper()
	lapsed := w.attach(w.reserve(c, "late"))
	w.settle(lapsed, redemption.SessionExpired)
	w.settle(w.attach(w.reserve(c, "ann")), redemption.SessionCompleted)
	w.settle(lapsed, redemption.SessionCompleted)
	// and one that nothing is known of
	_, err := w.s.Settle(w.t.Context(), store.Settlement{
		Event:    redemption.Event{Kind: redemption.SessionCompleted, At: epoch.Add(time.Hour), SessionID: "cs_unknown"},
		CouponID: c.ID, CustomerID: "bea", NewID: "rsv_unknown",
	})
	w.ok(err)
}

func (w tour) plainOrder() {
	w.t.Helper()
	o := store.Order{
		ID: "ord_plain", Key: "plain", CustomerID: "ann", State: store.OrderOpen, CreatedAt: epoch, UpdatedAt: epoch,
		Quote:    must(pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: quoteLines()}, pricing.Discount{}, nil)),
		Metadata: map[string]string{"note": "it's \"quoted\""}, Deadline: epoch.Add(time.Hour),
	}
	_, _, err := w.s.CreateOrder(w.t.Context(), o)
	w.ok(err)
}

func quoteLines() []pricing.Line {
	return []pricing.Line{{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000}}
}

// contents is everything that can be read from a store.
type contents struct {
	Coupons     []coupon.Coupon
	Redemptions []redemption.Redemption
	Orders      []store.Order
	Found       []store.Found
	Due         []redemption.Redemption
	Open        []store.Order
}

func (w tour) contents() contents {
	w.t.Helper()
	ctx := w.t.Context()
	var all contents
	page, err := w.s.ListCoupons(ctx, store.CouponList{PageSize: store.MaxPageSize})
	w.ok(err)
	for _, listed := range page.Items {
		c, err := w.s.Coupon(ctx, listed.ID)
		w.ok(err)
		all.Coupons = append(all.Coupons, c)
		for _, customer := range customersOfTour {
			found, err := w.s.LookUp(ctx, store.LookUp{Code: c.Code, CustomerID: customer, Email: customer + "@example.org"})
			w.ok(err)
			all.Found = append(all.Found, found)
		}
	}
	redemptions, err := w.s.ListRedemptions(ctx, store.RedemptionList{PageSize: store.MaxPageSize})
	w.ok(err)
	all.Redemptions = redemptions.Items
	for _, id := range append(w.ordersOf(all.Redemptions), "ord_plain") {
		o, err := w.s.Order(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		w.ok(err)
		all.Orders = append(all.Orders, o)
	}
	all.Due, all.Open = w.due(ctx)
	return all
}

// ordersOf are the orders of the redemptions, also those that were taken over.
func (w tour) ordersOf(all []redemption.Redemption) []string {
	var ids []string
	for _, r := range all {
		ids = append(ids, r.OrderID, "ord_"+r.ID[len(redemption.IDPrefix):])
	}
	return ids
}

func (w tour) due(ctx context.Context) ([]redemption.Redemption, []store.Order) {
	w.t.Helper()
	due, err := w.s.Due(ctx, epoch.Add(time.Hour), 100)
	w.ok(err)
	open, err := w.s.OpenOrders(ctx, epoch.Add(time.Hour), 100)
	w.ok(err)
	return due, open
}

// same compares what two stores hold.
func (w tour) same(want contents) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.contents(), cmpopts.EquateEmpty()); diff != "" {
		w.t.Errorf("the contents (-want +got):\n%s", diff)
	}
}
