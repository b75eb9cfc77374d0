package stripeprocessor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/store/memstore"
)

// shop is couponkit's service on Stripe, with its webhook.
type shop struct {
	*world
	service *couponkit.Service
	address string
}

func newShop(t *testing.T, change ...func(*stripeprocessor.Options, *stripefake.Options)) *shop {
	t.Helper()
	w := newWorld(t, change...)
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(w.processor), couponkit.WithClock(w.clock.Now))
	require.NoError(t, err)
	s := &shop{world: w, service: service}
	s.address = w.webhook(service.Webhook(nil))
	return s
}

func (s *shop) create(code string, maxUses int) coupon.Coupon {
	s.Helper()
	c, err := s.service.Create(s.Context(), coupon.Draft{
		Code: code, Name: "Sale", DiscountType: pricing.Percentage, Percent: "10", MaxUses: coupon.Set(maxUses),
		MaxUsesPerUser: coupon.Clear[int](),
	})
	require.NoError(s, err)
	return c
}

func (s *shop) checkout(code, customer, key string, lines ...pricing.Line) couponkit.Checkout {
	s.Helper()
	c, err := s.service.Checkout(s.Context(), couponkit.CheckoutRequest{
		Key: key, Customer: eligibility.Customer{ID: customer}, Codes: []string{code},
		Cart:       pricing.Cart{Currency: pricing.EUR(), Lines: lines},
		SuccessURL: "https://shop.example/thanks", CancelURL: "https://shop.example/cart",
	})
	require.NoError(s, err)
	return c
}

func phones(quantity int64) pricing.Line {
	return pricing.Line{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: quantity, UnitPrice: 8_99}
}

// TestPurchase is the whole way: create, checkout, pay, webhook, counted once.
func TestPurchase(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.create("summer", 5)
	checkout := s.checkout("SUMMER", "ann", "cart-1", phones(3),
		pricing.Line{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90})
	session, ok := s.account.Session(checkout.Session.ID)
	require.True(t, ok)
	require.Equal(t, checkout.Order.Quote.Total, session.AmountTotal)
	require.NoError(t, s.account.Pay(session.ID))
	for range 2 {
		refused, err := s.account.Deliver(t.Context(), s.server.Client(), s.address)
		require.NoError(t, err)
		require.Zero(t, refused)
	}
	c, err := s.service.Get(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, int64(1), c.UsedCount)
	require.Zero(t, c.ReservedCount)
}

// TestShortestSessions: with the shortest lifetime that a service may have, a customer
// may come back for another cart, and Stripe may be slow to end the session before.
func TestShortestSessions(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var err error
	s.service, err = couponkit.New(memstore.New(), couponkit.WithProcessor(s.processor), couponkit.WithClock(s.clock.Now),
		couponkit.WithSessionLifetime(s.processor.Abilities().MinSessionLifetime))
	require.NoError(t, err)
	s.create("summer", 1)
	s.checkout("SUMMER", "ann", "cart-1", phones(3))
	s.account.Faults(func(c stripefake.Call) stripefake.Fault {
		if c.Op == "sessions.expire" {
			s.clock.Advance(5 * time.Second)
		}
		return stripefake.None
	})
	second := s.checkout("SUMMER", "ann", "cart-2", phones(2))
	require.NoError(t, s.account.Pay(second.Session.ID))
}

// TestSubscriptionPurchase: the first period is cheaper, renewals are not.
func TestSubscriptionPurchase(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create("summer", 5)
	checkout := s.checkout("SUMMER", "ann", "cart-1",
		pricing.Line{ID: "1", Kind: pricing.Plan, ItemID: "gold", Quantity: 2, UnitPrice: 9_99, Recurs: pricing.Monthly}, phones(1))
	require.NoError(t, s.account.Pay(checkout.Session.ID))
	renewal, err := s.account.Renewal(checkout.Session.ID)
	require.NoError(t, err)
	require.Equal(t, int64(2*9_99), renewal)
	_, err = s.account.Deliver(t.Context(), s.server.Client(), s.address)
	require.NoError(t, err)
	require.Len(t, s.account.Coupons(), 1, "the session's coupon is left")
}

// TestReconcileOfAnExpiredCoupon: a promotion code that has ended with its coupon is
// as it should be, however often one looks; prolonging the coupon makes another.
func TestReconcileOfAnExpiredCoupon(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(o *stripeprocessor.Options, _ *stripefake.Options) { o.MirrorExpiry = true })
	c := s.create("summer", 5)
	c, err := s.service.Update(t.Context(), c.ID, coupon.Patch{ExpiresAt: coupon.Set(calendar.At(s.clock.Now().Add(time.Hour)))})
	require.NoError(t, err)
	s.clock.Advance(2 * time.Hour)
	drifts, err := s.service.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.NoError(t, err)
	require.Empty(t, drifts)

	c, err = s.service.Update(t.Context(), c.ID, coupon.Patch{ExpiresAt: coupon.Clear[calendar.Moment]()})
	require.NoError(t, err)
	s.oneActive(c.Mirror.PromotionCodeID)
	_, err = s.service.Validate(t.Context(), couponkit.ValidateRequest{Code: "SUMMER", Customer: eligibility.Customer{ID: "ann"}})
	require.NoError(t, err)
	drifts, err = s.service.Reconcile(t.Context(), couponkit.ReconcileOptions{})
	require.NoError(t, err)
	require.Empty(t, drifts)
}

// TestEventsInAnyOrder: any permutation and duplication of what Stripe may tell of one
// session, also two events of other IDs for one fact, ends in the same state, with
// one redemption at most. Everything goes over HTTP.
func TestEventsInAnyOrder(t *testing.T) {
	t.Parallel()
	outcomes := map[string]struct {
		customer func(*shop, string) error
		used     int64
	}{
		"paid": {func(s *shop, id string) error { return s.account.Pay(id) }, 1},
		"paid late": {func(s *shop, id string) error {
			if err := s.account.PayLater(id); err != nil {
				return err
			}
			return s.account.PaymentArrives(id)
		}, 1},
		"failed": {func(s *shop, id string) error {
			if err := s.account.PayLater(id); err != nil {
				return err
			}
			return s.account.PaymentFails(id)
		}, 0},
		"expired": {func(s *shop, id string) error {
			_, err := s.processor.ExpireSession(s.Context(), id)
			return err
		}, 0},
	}
	for name, outcome := range outcomes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			purchase := 0
			rapid.Check(t, func(t *rapid.T) {
				purchase++
				c := s.create(fmt.Sprintf("CODE%d", purchase), 5)
				checkout := s.checkout(c.Code.String(), "ann", fmt.Sprint("cart-", purchase), phones(2))
				before := len(s.account.Events())
				if err := outcome.customer(s, checkout.Session.ID); err != nil {
					t.Fatal(err)
				}
				s.announceOther("checkout.session.expired", checkout.Session.ID, "expired")
				for i, e := range sessionEvents(s.account.Events()[before:]) {
					if rapid.Bool().Draw(t, fmt.Sprint("twin ", i)) {
						s.announceTwin(e)
					}
				}
				events := sessionEvents(s.account.Events()[before:])
				order := rapid.Permutation(append(events, rapid.SliceOfN(rapid.SampledFrom(events), 0, 4).Draw(t, "again")...)).Draw(t, "order")
				for _, e := range order {
					status, err := s.account.Send(s.Context(), s.server.Client(), s.address, e)
					if err != nil || status != http.StatusOK {
						t.Fatalf("%s is answered with %d, %v", e.Type, status, err)
					}
				}
				after, err := s.service.Get(s.Context(), c.ID)
				if err != nil || after.UsedCount != outcome.used || after.ReservedCount != 0 {
					t.Fatalf("used %d and reserved %d, want %d and 0: %v\norder: %v", after.UsedCount, after.ReservedCount, outcome.used, err, typesOf(order))
				}
			})
		})
	}
}

func sessionEvents(all []stripefake.Event) []stripefake.Event {
	var out []stripefake.Event
	for _, e := range all {
		if len(e.Type) > 8 && e.Type[:9] == "checkout." {
			out = append(out, e)
		}
	}
	return out
}

func typesOf(events []stripefake.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Type)
	}
	return out
}

// announceTwin announces the same fact under another event ID.
func (s *shop) announceTwin(e stripefake.Event) {
	var body struct {
		Data struct {
			Object any `json:"object"`
		} `json:"data"`
	}
	require.NoError(s, json.Unmarshal(e.Payload, &body))
	s.account.Announce(e.Type, body.Data.Object)
}

// announceOther announces that a session has ended otherwise than it has.
func (s *shop) announceOther(kind, sessionID, status string) {
	session, ok := s.account.Session(sessionID)
	require.True(s, ok)
	s.account.Announce(kind, map[string]any{
		"id": sessionID, "object": "checkout.session", "mode": session.Mode, "status": status, "payment_status": "unpaid",
		"currency": session.Currency, "amount_total": session.AmountTotal, "metadata": session.Metadata,
	})
}
