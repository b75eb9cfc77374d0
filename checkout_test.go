package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

// TestCheckoutStoresTheOrderAndOpensTheSession holds specification 2.5 and 4.5.
func TestCheckoutStoresTheOrderAndOpensTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	r := w.request("ten")
	r.Metadata = map[string]string{"cart": "42"}
	r.Describe = func(l pricing.Line) string { return "The " + l.ItemID }
	got := w.checkout(t, r)

	order := w.order(t, got.Order.ID)
	if order.State != redemption.OrderOpen || order.Coupons[0].ID != c.ID || useOf(t, got.Uses).Discount != 10_00 || order.Quote.Total != 24_90 ||
		order.Coupons[0].Code != c.Code || order.Coupons[0].Discount.Value() != "10.00" || order.Metadata["cart"] != "42" || order.SessionID != got.Session.ID {
		t.Errorf("order is %+v", order)
	}
	if held := w.get(t, c.ID); held.UsedCount != 0 || held.ReservedCount != 1 {
		t.Errorf("counts are %d used and %d reserved, want 0 and 1", held.UsedCount, held.ReservedCount)
	}
	request, err := w.fake.Request(got.Session.ID)
	require.NoError(t, err)
	wantLines := []processor.SessionLine{
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "The phone", Quantity: 2, UnitAmount: 6_67},
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "The phone", Quantity: 1, UnitAmount: 6_66},
		{LineID: "S", Kind: pricing.Shipping, ItemID: "dhl", Name: "The dhl", Quantity: 1, UnitAmount: 4_90},
	}
	if diff := cmp.Diff(wantLines, request.Lines); diff != "" {
		t.Errorf("lines of the session (-want +got):\n%s", diff)
	}
	wantMetadata := map[string]string{
		"couponCode": "TEN", "couponId": c.ID, "orderId": order.ID,
		"customerId": ann.ID, "discountAmount": "1000",
	}
	if diff := cmp.Diff(wantMetadata, request.Metadata); diff != "" {
		t.Errorf("metadata of the session (-want +got):\n%s", diff)
	}
	if !request.OrderedAt.Equal(order.CreatedAt) {
		t.Errorf("the session's order is of %s, want %s", request.OrderedAt, order.CreatedAt)
	}
	if request.Total != 24_90 || request.Mode != processor.Payment || !request.ExpiresAt.Equal(w.now.Add(couponkit.DefaultSessionLifetime)) ||
		!order.Deadline.Equal(request.ExpiresAt.Add(couponkit.DefaultGrace)) || request.CustomerEmail != ann.Email {
		t.Errorf("request is %+v", request)
	}
}

func TestCheckoutWithoutACoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.checkout(t, w.request(""))
	require.NoError(t, w.fake.Pay(got.Session.ID))
	outcomes := w.deliver(t)
	if len(outcomes) != 1 || outcomes[0].Order.State != redemption.OrderPaid || len(outcomes[0].Uses) != 0 {
		t.Errorf("outcomes are %+v", outcomes)
	}
}

// TestCheckoutOfAnEmptyCart: there is nothing to pay for, and nothing is stored.
func TestCheckoutOfAnEmptyCart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	for _, code := range []string{"", "TEN"} {
		r := w.request(code)
		r.Key, r.Cart.Lines = "cart-1", nil
		_, err := w.Checkout(t.Context(), r)
		var invalid *validation.Error
		if !errors.As(err, &invalid) || invalid.Fields[0].Path != "lines" {
			t.Errorf("code %q: %v, want a fault of the lines", code, err)
		}
		if _, err := w.orderByKey("cart-1"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("code %q: there is an order (%v)", code, err)
		}
	}
}

// TestARepeatedCheckoutWhoseSessionHasEnded: the answer of the processor was lost. The
// customer never saw the session, and comes back after it has ended.
func TestARepeatedCheckoutWhoseSessionHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostAfter})
	r := w.request("TEN")
	r.Key = "cart-1"
	if _, err := w.Checkout(t.Context(), r); !errors.Is(err, couponkit.ErrUnavailable) {
		t.Fatalf("a lost answer: %v", err)
	}
	w.pass(couponkit.DefaultSessionLifetime)
	for range 2 {
		if got, err := w.Checkout(t.Context(), r); !errors.Is(err, couponkit.ErrOrderEnded) {
			t.Errorf("got %+v, %v; want ErrOrderEnded", got, err)
		}
	}
	if held := w.get(t, c.ID); held.ReservedCount != 0 {
		t.Errorf("%d places are kept, want none", held.ReservedCount)
	}
	r.Key = "cart-2"
	got := w.checkout(t, r)
	require.NoError(t, w.fake.Pay(got.Session.ID))
	w.deliver(t)
	if used := w.get(t, c.ID); used.UsedCount != 1 {
		t.Errorf("%d uses, want 1", used.UsedCount)
	}
}

// TestCheckoutComparesTotals: spec 7 no. 10 names every total that differs.
func TestCheckoutComparesTotals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	r := w.request("TEN")
	r.Expected = &couponkit.Totals{Subtotal: 30_00, Discount: 9_99, Shipping: 4_90, Total: 24_91}
	_, err := w.Checkout(t.Context(), r)
	var refused *coupon.Rejection
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Reasons, 2)
	first := refused.Headline()
	if first.Code != coupon.CartTotalsInvalid || first.Params.Field != "discount" || first.Params.Submitted.Minor() != 9_99 || first.Params.Computed.Minor() != 10_00 {
		t.Errorf("first reason is %+v", first)
	}
	quote, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: r.Cart, Codes: []string{"TEN"}, Customer: ann})
	require.NoError(t, err)
	shown := quote.Totals()
	if want := (couponkit.Totals{Subtotal: 30_00, Discount: 10_00, Shipping: 4_90, Total: 24_90}); shown != want {
		t.Errorf("the quote's totals are %+v, want %+v", shown, want)
	}
	r.Expected = &shown
	w.checkout(t, r)
}

// TestARepeatedKeyComparesTotals: prices may change between two calls with one key. Who
// was shown the new ones is not sent to pay the old ones; who was shown the old ones
// goes on.
func TestARepeatedKeyComparesTotals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	r := w.request("TEN")
	r.Key = "once"
	r.Expected = &couponkit.Totals{Subtotal: 30_00, Discount: 10_00, Shipping: 4_90, Total: 24_90}
	first := w.checkout(t, r)

	dearer := r
	dearer.Cart = phones()
	dearer.Cart.Lines[0].UnitPrice += 5_00
	if again := w.checkout(t, dearer); again.Session != first.Session || !again.Replayed {
		t.Errorf("who was shown the first totals got %+v", again)
	}
	dearer.Expected = &couponkit.Totals{Subtotal: 45_00, Discount: 10_00, Shipping: 4_90, Total: 39_90}
	if got, err := w.Checkout(t.Context(), dearer); !errors.Is(err, store.ErrKeyReused) {
		t.Errorf("who was shown 39.90 got a session of %s, %v", got.Order.Quote.Currency.Format(got.Order.Quote.Total), err)
	}

	require.NoError(t, w.fake.Pay(first.Session.ID))
	w.deliver(t)
	paid, err := w.Checkout(t.Context(), dearer)
	require.ErrorIs(t, err, couponkit.ErrOrderPaid, "a key whose order is paid has nothing more to charge")
	require.Equal(t, first.Order.ID, paid.Order.ID)
}

// TestNothingChangesAfterCheckout holds specification 1 ("coupon changes affect only
// future validations") and contract 4.5: the order, the session and the redemption
// are as they were, whatever happens to the coupon.
func TestNothingChangesAfterCheckout(t *testing.T) {
	t.Parallel()
	changes := map[string]func(w *world, c coupon.Coupon) error{
		"edited": func(w *world, c coupon.Coupon) error {
			_, err := w.Update(w.t.Context(), c.ID, coupon.Patch{
				Name: coupon.Set("New"), MinPurchase: coupon.Set(coupon.Amounts{"EUR": "999"}),
			})
			return err
		},
		"switched off": func(w *world, c coupon.Coupon) error {
			_, err := w.SetActive(w.t.Context(), c.ID, false)
			return err
		},
		"deleted": func(w *world, c coupon.Coupon) error { return w.Delete(w.t.Context(), c.ID) },
		"expired": func(w *world, c coupon.Coupon) error {
			_, err := w.Update(w.t.Context(), c.ID, coupon.Patch{ExpiresAt: coupon.Set(calendar.At(w.now))})
			return err
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.create(t, tenOff())
			r := w.request("TEN")
			r.Key = "once"
			before := w.checkout(t, r)
			require.NoError(t, change(w, c))
			if diff := cmp.Diff(before.Order, w.order(t, before.Order.ID), opaque); diff != "" {
				t.Errorf("the order has changed (-before +after):\n%s", diff)
			}
			if again := w.checkout(t, r); !again.Replayed || again.Session != before.Session {
				t.Errorf("repeating the checkout gave %+v", again)
			}
			require.NoError(t, w.fake.Pay(before.Session.ID))
			outcomes := w.deliver(t)
			if len(outcomes) != 1 || outcomes[0].Uses[0].State != redemption.Completed || outcomes[0].Uses[0].OverLimit ||
				outcomes[0].Order.State != redemption.OrderPaid || outcomes[0].Order.Quote.Total != 24_90 || outcomes[0].Flag != couponkit.FlagNone {
				t.Errorf("outcomes are %+v", outcomes)
			}
		})
	}
}

// opaque compares the values whose fields go-cmp must not see.
var opaque = cmp.Options{
	cmp.Comparer(func(a, b pricing.Currency) bool { return a == b }),
	cmp.Comparer(func(a, b coupon.Code) bool { return a == b }),
}

func TestCheckoutIsIdempotentByKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	r := w.request("TEN")
	r.Key = "cart-1"
	first := w.checkout(t, r)
	r.Codes = []string{" ten "} // the same request, typed another way
	second := w.checkout(t, r)
	if first.Replayed || !second.Replayed || second.Session != first.Session || second.Order.ID != first.Order.ID {
		t.Errorf("first %+v, second %+v", first, second)
	}
	r.Codes = nil
	if _, err := w.Checkout(t.Context(), r); !errors.Is(err, store.ErrKeyReused) {
		t.Errorf("another request with the key: %v, want ErrKeyReused", err)
	}
	other := r
	other.Customer = bob
	if theirs := w.checkout(t, other); theirs.Order.ID == first.Order.ID {
		t.Error("another customer got this customer's order by its key")
	}
	if held := w.get(t, c.ID); held.ReservedCount != 1 {
		t.Errorf("%d reservations, want 1", held.ReservedCount)
	}
}

// TestCheckoutGoesOnAfterAnyFailure: whichever call fails, before or after its
// effect, the same key leads to one order, one session and one reservation.
func TestCheckoutGoesOnAfterAnyFailure(t *testing.T) {
	t.Parallel()
	for calls := range 8 {
		for _, after := range []bool{false, true} {
			w, blow := newCrashingWorld(t)
			c := w.create(t, tenOff())
			blow.arm(calls, after)
			r := w.request("TEN")
			r.Key = "once"
			_, err := w.Checkout(t.Context(), r)
			if err != nil && !errors.Is(err, errCrash) {
				t.Fatalf("stopped after %d calls: %v", calls, err)
			}
			blow.restart()
			got := w.checkout(t, r)
			if sessions := w.fake.Sessions(); len(sessions) != 1 || sessions[0].ID != got.Session.ID {
				t.Errorf("stopped after %d calls (%t): %d sessions", calls, after, len(sessions))
			}
			if held := w.get(t, c.ID); held.ReservedCount != 1 {
				t.Errorf("stopped after %d calls (%t): %d reservations", calls, after, held.ReservedCount)
			}
		}
	}
}

// newCrashingWorld is a world whose service stops when its fuse blows.
func newCrashingWorld(t *testing.T) (*world, *fuse) {
	t.Helper()
	w, blow := newWorld(t), &fuse{}
	service, err := couponkit.New(crashingStore(w.store, blow), couponkit.WithProcessor(crashingProcessor(w.fake, blow)),
		couponkit.WithClock(func() time.Time { return w.now }), couponkit.WithPoints(crashingPoints(w.ledger, blow)))
	require.NoError(t, err)
	w.Service = service
	return w, blow
}

// TestARetryingCustomerIsNotInTheirOwnWay holds contract 5.3.
func TestARetryingCustomerIsNotInTheirOwnWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.MaxUses = coupon.Set(1)
	c := w.create(t, d)
	first := w.checkout(t, w.request("TEN"))
	if _, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann}); err != nil {
		t.Errorf("the customer's own session counts against the limit: %v", err)
	}
	second := w.checkout(t, w.request("TEN"))
	if old, err := w.fake.Session(t.Context(), first.Session.ID); err != nil || old.Status != processor.SessionExpired {
		t.Errorf("the first session is %+v, %v; want expired", old, err)
	}
	if o := w.order(t, first.Order.ID); o.State != redemption.OrderCancelled {
		t.Errorf("the first order is %s, want cancelled", o.State)
	}
	require.NoError(t, w.fake.Pay(second.Session.ID))
	w.deliver(t) // the expiry of the first session among them
	if got := w.get(t, c.ID); got.UsedCount != 1 || got.ReservedCount != 0 {
		t.Errorf("counts are %d used and %d reserved, want 1 and 0", got.UsedCount, got.ReservedCount)
	}
}

// TestARetryAfterPaymentIsRefused holds contract 5.3: if the session turns out to be
// paid, the use counts and the limit holds.
func TestARetryAfterPaymentIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	first := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(first.Session.ID)) // and the webhook is late
	if _, err := w.Checkout(t.Context(), w.request("TEN")); !errors.Is(err, coupon.ErrUserUsageLimitReached) {
		t.Errorf("second checkout: %v, want user_usage_limit_reached", err)
	}
	w.deliver(t)
	if got := w.get(t, c.ID); got.UsedCount != 1 || got.ReservedCount != 0 {
		t.Errorf("counts are %d used and %d reserved, want 1 and 0", got.UsedCount, got.ReservedCount)
	}
}

// TestARetryWhileADelayedPaymentIsOnItsWay: a finished session cannot be taken over.
func TestARetryWhileADelayedPaymentIsOnItsWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	require.NoError(t, w.fake.PayLater(w.checkout(t, w.request("TEN")).Session.ID))
	if _, err := w.Checkout(t.Context(), w.request("TEN")); !errors.Is(err, coupon.ErrUserUsageLimitReached) {
		t.Errorf("second checkout: %v, want user_usage_limit_reached", err)
	}
}

// TestARepeatedCheckoutThatSucceedsCanBePaid: the order of a key that has ended, is paid or waits for
// its payment is an error, also if nobody has told the service of it. Nobody is sent to a payment
// page that leads nowhere.
func TestARepeatedCheckoutThatSucceedsCanBePaid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(*world, couponkit.Checkout) error
		want    error
	}{
		"nothing": {func(*world, couponkit.Checkout) error { return nil }, nil},
		"it was cancelled": {func(w *world, c couponkit.Checkout) error {
			_, err := w.CancelCheckout(w.t.Context(), couponkit.OrderRequest{OrderID: c.Order.ID, CustomerID: ann.ID})
			return err
		}, couponkit.ErrOrderEnded},
		"its session has expired": {func(w *world, c couponkit.Checkout) error {
			_, err := w.fake.ExpireSession(w.t.Context(), c.Session.ID)
			return err
		}, couponkit.ErrOrderEnded},
		"it was replaced": {func(w *world, _ couponkit.Checkout) error {
			_, err := w.Checkout(w.t.Context(), w.again("again"))
			return err
		}, couponkit.ErrOrderEnded},
		"it was paid":            {func(w *world, c couponkit.Checkout) error { return w.fake.Pay(c.Session.ID) }, couponkit.ErrOrderPaid},
		"it is to be paid later": {func(w *world, c couponkit.Checkout) error { return w.fake.PayLater(c.Session.ID) }, couponkit.ErrOrderPaid},
		"its payment has failed": {func(w *world, c couponkit.Checkout) error {
			return errors.Join(w.fake.PayLater(c.Session.ID), w.fake.PaymentFails(c.Session.ID))
		}, couponkit.ErrOrderEnded},
		"it was refunded": {func(w *world, c couponkit.Checkout) error {
			if err := w.fake.Pay(c.Session.ID); err != nil {
				return err
			}
			w.deliver(w.t)
			_, err := w.Refund(w.t.Context(), couponkit.RefundRequest{OrderID: c.Order.ID, Key: "refund", Returns: pricing.Returns{All: true}})
			return err
		}, couponkit.ErrOrderPaid},
	} {
		for _, told := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, told %t", name, told), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.create(t, tenOff())
				r := w.request("TEN")
				r.Key = "once"
				first := w.checkout(t, r)
				require.NoError(t, test.happens(w, first))
				if told {
					w.deliver(t)
				} else if name != "nothing" {
					w.pass(couponkit.DefaultSessionLifetime)
				}
				again, err := w.Checkout(t.Context(), r)
				require.ErrorIs(t, err, test.want)
				switch {
				case test.want == nil:
					require.Equal(t, []string{again.Session.ID}, w.payable())
					require.Equal(t, first.Session, again.Session)
					require.True(t, again.Replayed)
				case errors.Is(test.want, couponkit.ErrOrderPaid):
					require.Empty(t, again.Session, "no payment page")
					require.Equal(t, first.Order.ID, again.Order.ID)
					require.NotEqual(t, redemption.OrderOpen, again.Order.State)
					require.True(t, again.Replayed)
				default:
					require.Empty(t, again)
				}
			})
		}
	}
}

// TestARepeatedCheckoutWhoseProcessorIsSilent: once the time of the session is over, only the processor
// knows whether it was paid.
func TestARepeatedCheckoutWhoseProcessorIsSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request("")
	r.Key = "once"
	w.checkout(t, r)
	down := w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.GetSession, Kind: fakeprocessor.LostBefore, Times: -1})
	w.checkout(t, r) // the processor is not asked
	w.pass(couponkit.DefaultSessionLifetime)
	_, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	down.Remove()
	_, err = w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, couponkit.ErrOrderEnded)
}

// openSessions returns which of the checkouts' sessions can still be paid.
func (w *world) openSessions(t *testing.T, checkouts ...couponkit.Checkout) []bool {
	t.Helper()
	var open []bool
	for _, c := range checkouts {
		session, err := w.fake.Session(t.Context(), c.Session.ID)
		require.NoError(t, err)
		open = append(open, session.Status == processor.SessionOpen)
	}
	return open
}

// TestASessionIsNotEndedWithoutNeed holds contract 5.3: a customer's open session is ended
// only if it alone blocks a new checkout. The oldest session is ended first. No session is
// ended while the customer holds a reservation that no session uses.
func TestASessionIsNotEndedWithoutNeed(t *testing.T) {
	t.Parallel()
	several := func(t *testing.T) *world {
		t.Helper()
		w := newWorld(t)
		d := tenOff()
		d.MaxUsesPerUser = coupon.Set(2)
		w.create(t, d)
		return w
	}
	t.Run("two uses are two sessions", func(t *testing.T) {
		t.Parallel()
		w := several(t)
		first, second := w.checkout(t, w.request("TEN")), w.checkout(t, w.request("TEN"))
		if diff := cmp.Diff([]bool{true, true}, w.openSessions(t, first, second)); diff != "" {
			t.Errorf("open sessions (-want +got):\n%s", diff)
		}
	})
	t.Run("the oldest is ended", func(t *testing.T) {
		t.Parallel()
		w := several(t)
		first := w.checkout(t, w.request("TEN"))
		w.pass(time.Second)
		second := w.checkout(t, w.request("TEN"))
		w.pass(time.Second)
		third := w.checkout(t, w.request("TEN"))
		if diff := cmp.Diff([]bool{false, true, true}, w.openSessions(t, first, second, third)); diff != "" {
			t.Errorf("open sessions (-want +got):\n%s", diff)
		}
	})
}

// TestTheLastPlaceGoesWhileACheckoutIsPriced: whoever has none is told that the limit
// is reached, by the store that counts, and not by what was read before.
func TestTheLastPlaceGoesWhileACheckoutIsPriced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.MaxUses = coupon.Set(1)
	w.create(t, d)
	other, meanwhile := w.Service, w.request("TEN")
	meanwhile.Customer = bob
	w.behind(func(call string, effect func() error) error {
		if call == "Reserve" {
			_, err := other.Checkout(t.Context(), meanwhile)
			require.NoError(t, err)
		}
		return effect()
	})
	if _, err := w.Checkout(t.Context(), w.request("TEN")); !errors.Is(err, coupon.ErrUsageLimitReached) {
		t.Errorf("got %v, want usage_limit_reached", err)
	}
}

// TestTermsThatChangeWhileACheckoutIsPriced: what was priced by older terms is priced again,
// and keeps no place by them.
func TestTermsThatChangeWhileACheckoutIsPriced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	other := w.Service
	w.behind(func(call string, effect func() error) error {
		if call == "Reserve" {
			_, err := other.Update(t.Context(), c.ID, coupon.Patch{MinPurchase: coupon.Set(coupon.Amounts{"": "500"})})
			require.NoError(t, err)
		}
		return effect()
	}, couponkit.WithClock(clockOf(w)))
	_, err := w.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, coupon.ErrMinimumPurchaseNotMet)
	require.Zero(t, w.get(t, c.ID).ReservedCount)
}

// TestTheLastUse: of many customers at once exactly as many get a session as there
// are uses, and the others are told why not.
func TestTheLastUse(t *testing.T) {
	t.Parallel()
	const customers, uses = 64, 5
	fake := fakeprocessor.New(fakeprocessor.Options{})
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(fake))
	require.NoError(t, err)
	d := tenOff()
	d.MaxUses = coupon.Set(uses)
	_, err = service.Create(t.Context(), d)
	require.NoError(t, err)
	var group sync.WaitGroup
	results := make([]error, customers)
	for i := range results {
		group.Go(func() {
			_, results[i] = service.Checkout(t.Context(), couponkit.CheckoutRequest{
				Cart: phones(), Codes: []string{"TEN"}, Customer: eligibility.Customer{ID: customerID(i)},
			})
		})
	}
	group.Wait()
	got := 0
	for _, err := range results {
		if err == nil {
			got++
		} else if !errors.Is(err, coupon.ErrUsageLimitReached) {
			t.Errorf("loser got %v, want usage_limit_reached", err)
		}
	}
	if got != uses {
		t.Errorf("%d sessions, want %d", got, uses)
	}
}

// TestOneCustomerAtManyDevices: a customer with one use gets one use, even with
// many checkouts at once.
func TestOneCustomerAtManyDevices(t *testing.T) {
	t.Parallel()
	store, fake := memstore.New(), fakeprocessor.New(fakeprocessor.Options{})
	service, err := couponkit.New(store, couponkit.WithProcessor(fake))
	require.NoError(t, err)
	c, err := service.Create(t.Context(), tenOff())
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			_, err := service.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: phones(), Codes: []string{"TEN"}, Customer: ann})
			var refused *coupon.Rejection
			if err != nil && !errors.As(err, &refused) && !isConflict(err) {
				t.Errorf("checkout: %v", err)
			}
		})
	}
	group.Wait()
	got, err := service.Get(t.Context(), c.ID)
	require.NoError(t, err)
	if got.ReservedCount != 1 {
		t.Errorf("%d places, want 1", got.ReservedCount)
	}
	open := 0
	for _, s := range fake.Sessions() {
		if s.Status == processor.SessionOpen {
			open++
		}
	}
	if open > 1 {
		t.Errorf("%d open sessions for one use", open)
	}
}

func isConflict(err error) bool {
	return errors.Is(err, store.ErrConflict) || errors.Is(err, couponkit.ErrOrderEnded)
}

// TestAProcessorThatNeedsAnAddressToReturnTo: the fault is named before anything is
// stored.
func TestAProcessorThatNeedsAnAddressToReturnTo(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{NeedsSuccessURL: true})
	c := w.create(t, tenOff())
	r := w.request("TEN")
	_, err := w.Checkout(t.Context(), r)
	var invalid *validation.Error
	require.ErrorAs(t, err, &invalid)
	if invalid.Fields[0].Path != "successUrl" || w.get(t, c.ID).ReservedCount != 0 {
		t.Errorf("got %v, %d reservations", err, w.get(t, c.ID).ReservedCount)
	}
	r.SuccessURL = "https://shop.example/thanks"
	w.checkout(t, r)
}

// TestAContextThatEnds is told as what it is, and the same key goes on where it stopped.
func TestAContextThatEnds(t *testing.T) {
	t.Parallel()
	for want, bound := range map[error]func(context.Context) (context.Context, context.CancelFunc){
		context.Canceled: context.WithCancel,
		context.DeadlineExceeded: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Minute)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create(t, tenOff())
			r := w.request("TEN")
			r.Key = "attempt"
			w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.Delay, Latency: time.Hour})
			ctx, cancel := bound(t.Context())
			time.AfterFunc(2*time.Minute, cancel)
			_, err := w.Checkout(ctx, r)
			if !errors.Is(err, want) || errors.Is(err, couponkit.ErrUnavailable) {
				t.Errorf("got %v, want %v alone", err, want)
			}
			if again := w.checkout(t, r); !again.Replayed || again.Session.URL == "" {
				t.Errorf("the same key: %+v", again)
			}
		})
	}
}

// TestAProcessorThatTakesOneInterval: of lines that recur in different intervals those are
// named that are not as the first, before anything is stored. What is paid once may stand
// beside.
func TestAProcessorThatTakesOneInterval(t *testing.T) {
	t.Parallel()
	plan := func(id string, recurs pricing.Interval) pricing.Line {
		return pricing.Line{ID: id, Kind: pricing.Plan, ItemID: "gold", Quantity: 3, UnitPrice: 10_00, Recurs: recurs}
	}
	w := newWorldWith(t, processor.Abilities{OneInterval: true})
	c := w.create(t, tenOff())
	r := w.request("TEN")
	r.Cart = pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		plan("setup", pricing.Once), plan("month", pricing.Monthly), plan("year", pricing.Yearly), plan("again", pricing.Monthly), plan("week", pricing.Weekly),
	}}
	_, err := w.Checkout(t.Context(), r)
	var invalid *validation.Error
	require.ErrorAs(t, err, &invalid)
	named := map[string]validation.Code{}
	for _, f := range invalid.Fields {
		named[f.Path] = f.Code
	}
	want := map[string]validation.Code{"lines[2].recurs": validation.Mismatch, "lines[4].recurs": validation.Mismatch}
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	stored, err := w.store.ListUses(t.Context(), store.UseList{CouponID: c.ID})
	require.NoError(t, err)
	require.Empty(t, stored.Items) // nor one that was given back
	r.Cart.Lines = append(r.Cart.Lines[:2], r.Cart.Lines[3])
	w.checkout(t, r)
}

// TestOnlyAnAnswerGivesThePlaceBack: a session that the processor has not refused may
// have been made, and paid.
func TestOnlyAnAnswerGivesThePlaceBack(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int64{
		processor.ErrRejected: 0, processor.ErrForbidden: 0, processor.ErrNotFound: 0, processor.ErrUnavailable: 1,
	} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.Refuse, Err: err})
		_, got := w.Checkout(t.Context(), w.request("TEN"))
		require.ErrorIs(t, got, err)
		if kept := w.get(t, c.ID).ReservedCount; kept != want {
			t.Errorf("%v: %d reservations, want %d", err, kept, want)
		}
	}
}

// TestARefusedSessionGivesThePlaceBack: what the processor refuses for good does not
// wait for the sweep.
func TestARefusedSessionGivesThePlaceBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.Refuse})
	r := w.request("TEN")
	r.Key = "once"
	if _, err := w.Checkout(t.Context(), r); !errors.Is(err, processor.ErrRejected) {
		t.Fatalf("got %v, want ErrRejected", err)
	}
	if got := w.get(t, c.ID); got.ReservedCount != 0 {
		t.Errorf("%d reservations, want 0", got.ReservedCount)
	}
	if _, err := w.Checkout(t.Context(), r); !errors.Is(err, couponkit.ErrOrderEnded) {
		t.Errorf("the key again: %v, want ErrOrderEnded", err)
	}
	r.Key = "twice"
	w.checkout(t, r)
}

// TestARefusedRepetitionKeepsThePlace: the answer of the first call was lost, and its session can be paid.
// That the processor refuses the repetition does not free the place before that session has ended.
// TestAnExpiredSessionIsNoAnswerWhileAnotherOneMayBeCreated: the answer about a session was lost, and the session has
// expired. A repeated checkout may be creating another one.
func TestAnExpiredSessionIsNoAnswerWhileAnotherOneMayBeCreated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithCreateTime(time.Hour))
	c := w.create(t, tenOff())
	r := w.request("TEN")
	r.Key = "once"
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostAfter})
	_, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, processor.ErrUnavailable)
	_, err = w.fake.ExpireSession(t.Context(), w.fake.Sessions()[0].ID)
	require.NoError(t, err)
	o, err := w.orderByKey("once")
	require.NoError(t, err)
	cancelled, err := w.CancelCheckout(t.Context(), couponkit.OrderRequest{OrderID: o.ID, CustomerID: ann.ID})
	require.NoError(t, err)
	require.Equal(t, redemption.OrderEnding, cancelled.Order.State)
	w.held(t, c.ID, 0, 1)
	w.pass(time.Hour)
	_, err = w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, redemption.OrderCancelled, w.order(t, o.ID).State)
	w.held(t, c.ID, 0, 0)
}

func TestARefusedRepetitionKeepsThePlace(t *testing.T) {
	t.Parallel()
	for name, hidden := range map[string]bool{"a session that can be found": false, "a session that nobody finds": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.create(t, tenOff())
			r := w.request("TEN")
			r.Key = "once"
			w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostAfter})
			_, err := w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, processor.ErrUnavailable)
			w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.Refuse})
			_, err = w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, processor.ErrRejected)
			require.Equal(t, int64(1), w.get(t, c.ID).ReservedCount)
			if hidden {
				w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.FindSession, Kind: fakeprocessor.Refuse, Err: processor.ErrNotFound, Times: -1})
			}
			w.pass(redemption.DueRetry)
			_, err = w.Sweep(t.Context(), 0)
			want := int64(0)
			if hidden {
				require.ErrorIs(t, err, couponkit.ErrPaymentOpen)
				want = 1 // it may be created right now
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, want, w.get(t, c.ID).ReservedCount)
			w.pass(couponkit.DefaultCreateTime)
			_, err = w.Sweep(t.Context(), 0)
			require.NoError(t, err)
			require.Zero(t, w.get(t, c.ID).ReservedCount)
		})
	}
}

func subscription() pricing.Cart {
	return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "P", Kind: pricing.Plan, ItemID: "gold", Quantity: 3, UnitPrice: 10_00, Recurs: pricing.Monthly},
		{ID: "D", Kind: pricing.Device, ItemID: "router", Quantity: 1, UnitPrice: 20_00},
		{ID: "S", Kind: pricing.Shipping, ItemID: "dhl", Quantity: 1, UnitPrice: 5_00},
	}}
}

// TestDiscountOnRecurringLines: the first period by default, every period on request.
func TestDiscountOnRecurringLines(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		options     []couponkit.Option
		wantPlan    []int64 // unit amounts
		wantOnFirst int64
	}{
		"first period": {nil, []int64{10_00}, 6_00},
		"every period": {
			[]couponkit.Option{couponkit.WithRecurringDiscount(couponkit.EveryPeriod)}, []int64{8_00}, 0,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tc.options...)
			w.create(t, percentOff(20))
			r := w.request("PERCENT")
			r.Cart = subscription()
			got := w.checkout(t, r)
			request, err := w.fake.Request(got.Session.ID)
			require.NoError(t, err)
			var plan []int64
			for _, l := range request.Lines {
				if l.Kind == pricing.Plan {
					plan = append(plan, l.UnitAmount)
				}
			}
			if request.Mode != processor.Subscription || request.Total != 45_00 || request.FirstPeriodDiscount != tc.wantOnFirst {
				t.Errorf("request is %+v", request)
			}
			if diff := cmp.Diff(tc.wantPlan, plan); diff != "" {
				t.Errorf("unit amounts of the plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFewLines: a processor that takes few lines gets the two unit prices of a line
// as one line, which charges the same.
func TestFewLines(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{MaxLines: 2})
	w.create(t, tenOff())
	request, err := w.fake.Request(w.checkout(t, w.request("TEN")).Session.ID)
	require.NoError(t, err)
	want := []processor.SessionLine{
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "3 x phone", Quantity: 1, UnitAmount: 20_00},
		{LineID: "S", Kind: pricing.Shipping, ItemID: "dhl", Name: "dhl", Quantity: 1, UnitAmount: 4_90},
	}
	if diff := cmp.Diff(want, request.Lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestAsManyLinesAsAllowed: nothing is merged that need not be.
func TestAsManyLinesAsAllowed(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{MaxLines: 3})
	w.create(t, tenOff())
	request, err := w.fake.Request(w.checkout(t, w.request("TEN")).Session.ID)
	require.NoError(t, err)
	require.Len(t, request.Lines, 3)
}

// TestOnlyUnitsOfOneLineAreMerged: lines of a cart need no IDs, and goods may cost a
// cent less than those before them.
func TestOnlyUnitsOfOneLineAreMerged(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{MaxLines: 4})
	d := tenOff()
	d.AppliesTo = coupon.Subscription
	w.create(t, d)
	r := w.request("TEN")
	r.Cart = pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{Kind: pricing.Plan, ItemID: "gold", Quantity: 7, UnitPrice: 10_00},
		{Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 10_01},
		{Kind: pricing.Device, ItemID: "tablet", Quantity: 1, UnitPrice: 10_00},
		{Kind: pricing.Accessory, ItemID: "tablet", Quantity: 1, UnitPrice: 9_99},
	}}
	request, err := w.fake.Request(w.checkout(t, r).Session.ID)
	require.NoError(t, err)
	want := []processor.SessionLine{
		{Kind: pricing.Plan, ItemID: "gold", Name: "7 x gold", Quantity: 1, UnitAmount: 60_00},
		{Kind: pricing.Device, ItemID: "phone", Name: "phone", Quantity: 1, UnitAmount: 10_01},
		{Kind: pricing.Device, ItemID: "tablet", Name: "tablet", Quantity: 1, UnitAmount: 10_00},
		{Kind: pricing.Accessory, ItemID: "tablet", Name: "tablet", Quantity: 1, UnitAmount: 9_99},
	}
	if diff := cmp.Diff(want, request.Lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestLinesThatLookLikeUnitsOfOne: lines of a cart may differ in nothing but a cent, or in
// that one of them recurs. A plan that is billed monthly is never sold once instead, and
// what is too many lines then is refused before a place is kept.
func TestLinesThatLookLikeUnitsOfOne(t *testing.T) {
	t.Parallel()
	gym := func(price int64, recurs pricing.Interval) pricing.Line {
		return pricing.Line{Kind: pricing.Plan, ItemID: "gym", Quantity: 1, UnitPrice: price, Recurs: recurs}
	}
	for name, lines := range map[string][]pricing.Line{
		"the second recurs":  {gym(20_01, pricing.Once), gym(20_00, pricing.Monthly)},
		"the first recurs":   {gym(20_01, pricing.Monthly), gym(20_00, pricing.Once)},
		"both are sold once": {gym(20_01, pricing.Once), gym(20_00, pricing.Once)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := couponkit.CheckoutRequest{Cart: pricing.Cart{Currency: pricing.EUR(), Lines: lines}, Customer: ann}
			_, err := newWorldWith(t, processor.Abilities{MaxLines: 1}).Checkout(t.Context(), r)
			if diff := cmp.Diff([]string{"lines"}, faultyFields(t, err)); diff != "" {
				t.Errorf("faulty fields (-want +got):\n%s", diff)
			}
			w := newWorldWith(t, processor.Abilities{MaxLines: 3})
			r.Cart.Lines = append(slices.Clone(lines), pricing.Line{Kind: pricing.Device, ItemID: "bag", Quantity: 3, UnitPrice: 10_00})
			d := tenOff()
			d.AppliesTo = coupon.Product
			w.create(t, d)
			r.Codes = []string{"TEN"}
			request, err := w.fake.Request(w.checkout(t, r).Session.ID)
			require.NoError(t, err)
			var want []processor.SessionLine
			for _, l := range lines {
				want = append(want, processor.SessionLine{
					Kind: l.Kind, ItemID: l.ItemID, Name: l.ItemID, Quantity: 1, UnitAmount: l.UnitPrice, Recurs: l.Recurs,
				})
			}
			want = append(want, processor.SessionLine{Kind: pricing.Device, ItemID: "bag", Name: "3 x bag", Quantity: 1, UnitAmount: 20_00})
			if diff := cmp.Diff(want, request.Lines); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheFirstPeriodOfSeveralPlans: their discounts come off together.
func TestTheFirstPeriodOfSeveralPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, percentOff(20))
	r := w.request("PERCENT")
	r.Cart = subscription()
	r.Cart.Lines = append(r.Cart.Lines, pricing.Line{
		ID: "Q", Kind: pricing.Plan, ItemID: "backup", Quantity: 1, UnitPrice: 5_00, Recurs: pricing.Monthly,
	})
	request, err := w.fake.Request(w.checkout(t, r).Session.ID)
	require.NoError(t, err)
	if request.FirstPeriodDiscount != 7_00 || request.Total != 49_00 {
		t.Errorf("request is %+v", request)
	}
}

// miscounting is a processor whose sessions charge something else than was asked.
type miscounting struct {
	processor.Processor
	change func(*processor.Session)
}

func (p miscounting) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	s, err := p.Processor.CreateSession(ctx, r)
	p.change(&s)
	return s, err
}

// TestASessionThatChargesSomethingElseIsEnded: nobody pays what was not quoted, and
// the place is free again.
func TestASessionThatChargesSomethingElseIsEnded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*processor.Session){
		"another total":    func(s *processor.Session) { s.Total++ },
		"another currency": func(s *processor.Session) { s.Currency = pricing.Currency{} },
	} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		service, err := couponkit.New(w.store, couponkit.WithProcessor(miscounting{w.fake, change}), couponkit.WithClock(clockOf(w)))
		require.NoError(t, err)
		if _, err := service.Checkout(t.Context(), w.request("TEN")); !errors.Is(err, processor.ErrRejected) {
			t.Errorf("%s: got %v, want ErrRejected", name, err)
		}
		if s := w.fake.Sessions(); len(s) != 1 || s[0].Status != processor.SessionExpired || w.get(t, c.ID).ReservedCount != 0 {
			t.Errorf("%s: sessions are %+v, %d reservations", name, s, w.get(t, c.ID).ReservedCount)
		}
	}
}

// TestAnAnswerThatCannotBeKept: what the processor answers is not the customer's input,
// and no error says so. Nobody pays that session, and the place is free again.
func TestAnAnswerThatCannotBeKept(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*processor.Session){
		"no ID":           func(s *processor.Session) { s.ID = "" },
		"a huge ID":       func(s *processor.Session) { s.ID = strings.Repeat("x", redemption.MaxIDLength+1) },
		"a huge URL":      func(s *processor.Session) { s.URL = strings.Repeat("x", redemption.MaxMetadataLength+1) },
		"a malformed URL": func(s *processor.Session) { s.URL = "\x00" },
	} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		service, err := couponkit.New(w.store, couponkit.WithProcessor(miscounting{w.fake, change}), couponkit.WithClock(clockOf(w)))
		require.NoError(t, err)
		_, err = service.Checkout(t.Context(), w.request("TEN"))
		if !errors.Is(err, processor.ErrRejected) || errors.Is(err, validation.ErrInvalid) {
			t.Errorf("a session with %s: got %v, want ErrRejected and no fault of the input", name, err)
		}
		if n := w.get(t, c.ID).ReservedCount; n != 0 {
			t.Errorf("a session with %s: %d reservations", name, n)
		}
		if s := w.fake.Sessions(); strings.HasSuffix(name, "URL") && s[0].Status != processor.SessionExpired {
			t.Errorf("a session with %s is %s", name, s[0].Status)
		}
	}
}

// TestAMinimumThatOnlyTheProcessorKnows: what the processor refuses as too small is a rejection,
// and no outage. Nothing is held for the order.
func TestAMinimumThatOnlyTheProcessorKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.Refuse, Err: processor.ErrBelowMinimum})
	_, err := w.Checkout(t.Context(), w.request("TEN"))
	var refused *coupon.Rejection
	require.ErrorAs(t, err, &refused)
	require.Equal(t, c.ID, refused.CouponID)
	require.Equal(t, coupon.BelowMinimumCharge, refused.Headline().Code)
	require.Equal(t, coupon.Params{Total: coupon.Amount{Money: pricing.NewMoney(24_90, pricing.EUR())}}, refused.Headline().Params)
	require.NotErrorIs(t, err, processor.ErrRejected)
	w.held(t, c.ID, 0, 0)
	require.Equal(t, []coupon.RejectionCode{coupon.BelowMinimumCharge}, w.attempts[len(w.attempts)-1].Reasons)
}

// TestACheapCartLosesNoUse: the last use is in a session that can be paid. The customer checks out
// a cart that the processor refuses as too small, while somebody else waits for the use. The
// customer can return to the first cart.
func TestACheapCartLosesNoUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, lastUse())
	first := w.checkout(t, w.request("TEN"))
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.Refuse, Err: processor.ErrBelowMinimum})
	_, err := w.Checkout(t.Context(), w.again("cheap"))
	require.ErrorIs(t, err, coupon.ErrBelowMinimumCharge)
	other := w.request("TEN")
	other.Customer = bob
	_, err = w.Checkout(t.Context(), other)
	require.ErrorIs(t, err, coupon.ErrUsageLimitReached)
	require.Empty(t, w.payable())
	back := w.checkout(t, w.again("back"))
	require.Equal(t, first.Order.Quote, back.Order.Quote)
	require.Equal(t, []string{back.Session.ID}, w.payable())
	require.NoError(t, w.fake.Pay(back.Session.ID))
	w.deliver(t)
	w.held(t, c.ID, 1, 0)
}

// TestASessionThatTheProcessorRefuses: what the processor refuses is not the customer's
// input, whatever fields the refusal names, and the place is free again.
func TestASessionThatTheProcessorRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	behind := func() time.Time { return w.now.Add(-2 * couponkit.DefaultSessionLifetime) }
	service, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(behind))
	require.NoError(t, err)
	_, err = service.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, processor.ErrRejected)
	require.ErrorContains(t, err, "expiresAt")
	require.NotErrorIs(t, err, validation.ErrInvalid)
	if input, ok := errors.AsType[*validation.Error](err); ok {
		t.Errorf("the refusal names fields of the request: %v", input)
	}
	if n := w.get(t, c.ID).ReservedCount; n != 0 {
		t.Errorf("%d reservations", n)
	}
}

// TestARefusalKeepsWhatItIs: hosts that look for an adapter's own error find it.
func TestARefusalKeepsWhatItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var faults validation.Error
	faults.Add("lines", validation.TooLong, "at most 3")
	service, err := couponkit.New(w.store, couponkit.WithProcessor(refusing{w.fake, fmt.Errorf("%w: %w: %w", processor.ErrRejected, &net.AddrError{Err: "no lane"}, faults.Err())}))
	require.NoError(t, err)
	_, err = service.Checkout(t.Context(), w.request(""))
	require.ErrorIs(t, err, processor.ErrRejected)
	require.NotErrorIs(t, err, validation.ErrInvalid)
	var own *net.AddrError
	require.ErrorAs(t, err, &own)
	if input, ok := errors.AsType[*validation.Error](err); ok {
		t.Errorf("the refusal names fields of the request: %v", input)
	}
}

// refusing is a processor that makes no session.
type refusing struct {
	processor.Processor

	with error
}

func (r refusing) CreateSession(context.Context, processor.SessionRequest) (processor.Session, error) {
	return processor.Session{}, r.with
}

// TestWhenASessionEnds: who repeats a key learns whether the session can still be paid,
// before anything has told that it has ended.
func TestWhenASessionEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithSessionLifetime(45*time.Minute))
	r := w.request("")
	r.Key = "once"
	first := w.checkout(t, r)
	if want := w.now.Add(45 * time.Minute); !first.Session.ExpiresAt.Equal(want) {
		t.Errorf("the session ends at %s, want %s", first.Session.ExpiresAt, want)
	}
	if at := w.fake.Sessions()[0].ExpiresAt; !first.Session.ExpiresAt.Equal(at) {
		t.Errorf("the session ends at %s, and the processor's at %s", first.Session.ExpiresAt, at)
	}
	w.pass(45*time.Minute - time.Second)
	if again := w.checkout(t, r); again.Session != first.Session {
		t.Errorf("the repeated key: %+v of %+v, want %+v", again.Session, again.Order, first.Session)
	}
	w.pass(time.Second)
	_, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, couponkit.ErrOrderEnded)
}

// TestProductLink holds specification 4.6: the amount is charged as it is, and the
// use is recorded.
func TestProductLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.MinPurchase = coupon.Amounts{"EUR": "1000"}
	c := w.create(t, d)
	r := couponkit.PaymentLinkRequest{
		Mode: couponkit.ProductLink, Amount: pricing.NewMoney(20_00, pricing.EUR()),
		CheckoutRequest: couponkit.CheckoutRequest{Codes: []string{"TEN"}, Customer: ann, Key: "link"},
	}
	got, err := w.PaymentLink(t.Context(), r)
	require.NoError(t, err)
	if got.Order.Quote.Total != 20_00 || got.Order.Quote.Discount != 0 || got.Order.Coupons[0].ID != c.ID {
		t.Errorf("order is %+v", got.Order)
	}
	again, err := w.PaymentLink(t.Context(), r)
	require.NoError(t, err)
	if !again.Replayed || again.Session != got.Session {
		t.Errorf("the key again: %+v", again)
	}
	require.NoError(t, w.fake.Pay(got.Session.ID))
	w.deliver(t)
	if used := w.get(t, c.ID).UsedCount; used != 1 {
		t.Errorf("%d uses, want 1", used)
	}
	r.Key = "another"
	if _, err := w.PaymentLink(t.Context(), r); !errors.Is(err, coupon.ErrUserUsageLimitReached) {
		t.Errorf("second use: %v", err)
	}
	usd, err := pricing.ParseCurrency("USD")
	require.NoError(t, err)
	r.Amount, r.Customer = pricing.NewMoney(20_00, usd), bob
	if _, err := w.PaymentLink(t.Context(), r); !errors.Is(err, coupon.ErrCurrencyMismatch) {
		t.Errorf("another currency: %v", err)
	}
	r.Amount = pricing.NewMoney(0, usd)
	if _, err := w.PaymentLink(t.Context(), r); !errors.Is(err, validation.ErrInvalid) {
		t.Errorf("no amount: %v", err)
	}
	for _, test := range []struct {
		mode couponkit.LinkMode
		want validation.Code
	}{{0, validation.Required}, {9, validation.Unknown}} {
		r.Mode = test.mode
		_, err := w.PaymentLink(t.Context(), r)
		var invalid *validation.Error
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, "mode", invalid.Fields[0].Path)
		require.Equal(t, test.want, invalid.Fields[0].Code, "mode %d", test.mode)
	}
}

// TestLinkModesInWords: the two words of specification 4.6, and no others.
func TestLinkModesInWords(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]couponkit.LinkMode{
		"subscription": couponkit.SubscriptionLink, "product": couponkit.ProductLink,
	} {
		got, err := couponkit.ParseLinkMode(word)
		if err != nil || got != want || want.String() != word {
			t.Errorf("%q is %v, %v, and written %q", word, got, err, want)
		}
	}
	for _, word := range []string{"", "PRODUCT", "both"} {
		var invalid *validation.Error
		_, err := couponkit.ParseLinkMode(word)
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, "mode", invalid.Fields[0].Path)
	}
}

// TestSubscriptionLink holds specification 4.6: eligible lines are discounted,
// shipping is not.
func TestSubscriptionLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := percentOff(50)
	d.AppliesTo, d.PlanIDs = coupon.Subscription, []string{"gold"}
	w.create(t, d)
	got, err := w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
		Mode:            couponkit.SubscriptionLink,
		CheckoutRequest: couponkit.CheckoutRequest{Cart: subscription(), Codes: []string{"PERCENT"}, Customer: ann},
	})
	require.NoError(t, err)
	if q := got.Order.Quote; q.Discount != 15_00 || q.Total != 40_00 || q.EligibleSubtotal != 30_00 {
		t.Errorf("quote is %+v", q)
	}
}

// TestFaultsOfACheckoutAreNamedAlike: the fields of a request have one name, whether it
// brings a coupon or not.
func TestFaultsOfACheckoutAreNamedAlike(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	for _, code := range []string{"", "TEN"} {
		r := w.request(code)
		r.Key = strings.Repeat("k", redemption.MaxIDLength+1)
		r.Metadata = map[string]string{"note": "\x00"}
		_, err := w.Checkout(t.Context(), r)
		var invalid *validation.Error
		require.ErrorAs(t, err, &invalid, "code %q", code)
		var paths []string
		for _, f := range invalid.Fields {
			paths = append(paths, f.Path)
		}
		if diff := cmp.Diff([]string{"key", "metadata.note"}, paths); diff != "" {
			t.Errorf("code %q, the fields (-want +got):\n%s", code, diff)
		}
	}
}

func TestNewRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	fake := fakeprocessor.New(fakeprocessor.Options{Abilities: processor.Abilities{
		MinSessionLifetime: 30 * time.Minute, MaxSessionLifetime: 24 * time.Hour,
	}})
	cases := map[string][]couponkit.Option{
		"no clock":        {couponkit.WithClock(nil)},
		"no IDs":          {couponkit.WithIDs(nil)},
		"no observer":     {couponkit.WithObserver(nil)},
		"no logger":       {couponkit.WithLogger(nil)},
		"no location":     {couponkit.WithLocation(nil)},
		"no currency":     {couponkit.WithCurrency(pricing.Currency{})},
		"short session":   {couponkit.WithSessionLifetime(29 * time.Minute)},
		"long session":    {couponkit.WithSessionLifetime(25 * time.Hour)},
		"no grace":        {couponkit.WithGrace(0)},
		"endless grace":   {couponkit.WithGrace(math.MaxInt64)},
		"no wait":         {couponkit.WithPaymentWait(-1)},
		"no exchange":     {couponkit.WithExchangeTime(0)},
		"no such lasting": {couponkit.WithRecurringDiscount(couponkit.EveryPeriod + 1)},
	}
	for name, options := range cases {
		if _, err := couponkit.New(memstore.New(), append(options, couponkit.WithProcessor(fake))...); !errors.Is(err, validation.ErrInvalid) {
			t.Errorf("%s: %v, want invalid input", name, err)
		}
	}
	_, err := couponkit.New(memstore.New(), couponkit.WithProcessor(fake), nil)
	require.NoError(t, err, "an option that is none")
	for _, just := range []time.Duration{30 * time.Minute, 24 * time.Hour} {
		if _, err := couponkit.New(memstore.New(), couponkit.WithProcessor(fake), couponkit.WithSessionLifetime(just)); err != nil {
			t.Errorf("a session of %v, which is just allowed: %v", just, err)
		}
	}
	longest := couponkit.WithGrace(math.MaxInt64 - 30*time.Minute)
	_, err = couponkit.New(memstore.New(), couponkit.WithProcessor(fake), couponkit.WithSessionLifetime(30*time.Minute), longest)
	require.NoError(t, err, "the longest grace")
	_, err = couponkit.New(nil, couponkit.WithProcessor(nil), couponkit.WithClock(nil), couponkit.WithSessionLifetime(-1), couponkit.WithGrace(-1))
	if diff := cmp.Diff([]string{"store", "processor", "clock", "sessionLifetime", "grace"}, faultyFields(t, err)); diff != "" {
		t.Errorf("all at once (-want +got):\n%s", diff)
	}
}

// TestWhereACustomerReturns: the processor is told both addresses.
func TestWhereACustomerReturns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request("")
	r.SuccessURL, r.CancelURL = "https://shop.example/thanks", "https://shop.example/cart"
	asked, err := w.fake.Request(w.checkout(t, r).Session.ID)
	require.NoError(t, err)
	if diff := cmp.Diff([]string{r.SuccessURL, r.CancelURL}, []string{asked.SuccessURL, asked.CancelURL}); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

// TestAnOrderThatIsPaidNeedsNoSession: the attachment was lost, and the payment heard of all
// the same; the repeated call returns what was paid, also while the processor is down.
func TestAnOrderThatIsPaidNeedsNoSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	whole := w.Service
	w.behind((&refusal{call: "Apply session_attached", err: errDown}).gate, couponkit.WithClock(clockOf(w)))
	r := w.request("")
	r.Key = "once"
	_, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, errDown)
	require.NoError(t, w.fake.Pay(w.fake.Sessions()[0].ID))
	w.Service = whole
	w.deliver(t)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostBefore, Times: -1})
	again, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, couponkit.ErrOrderPaid)
	if again.Order.State != redemption.OrderPaid || !again.Replayed {
		t.Errorf("the order is %s, replayed: %t; want paid, and true", again.Order.State, again.Replayed)
	}
}

// TestARepeatedKeyAtTheEndOfItsSession: at the instant at which the session would end there
// is nothing left of it, also at a processor whose sessions may be as short as they like.
func TestARepeatedKeyAtTheEndOfItsSession(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{})
	whole := w.Service
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostBefore})
	r := w.request("")
	r.Key = "once"
	_, err := whole.Checkout(t.Context(), r)
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	w.pass(couponkit.DefaultSessionLifetime)
	_, err = whole.Checkout(t.Context(), r)
	require.ErrorIs(t, err, couponkit.ErrOrderEnded)
}

// TestAnEventThatIsFasterThanTheAttachment: the customer has paid, or will, before
// the order knows of its session; the repeated checkout makes no second session.
func TestAnEventThatIsFasterThanTheAttachment(t *testing.T) {
	t.Parallel()
	for name, finish := range map[string]func(*fakeprocessor.Processor, string) error{
		"paid": (*fakeprocessor.Processor).Pay, "to be paid later": (*fakeprocessor.Processor).PayLater,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, blow := newCrashingWorld(t)
			c := w.create(t, tenOff())
			r := w.request("TEN")
			r.Key = "once"
			const beforeAttaching = 5 // Order, LookUp, VerifyMirror, Reserve, CreateSession
			blow.arm(beforeAttaching, false)
			_, err := w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, errCrash)
			blow.restart()
			require.NoError(t, finish(w.fake, w.fake.Sessions()[0].ID))
			w.pass(time.Minute)
			w.deliver(t)
			got, err := w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, couponkit.ErrOrderPaid)
			if sessions := w.fake.Sessions(); len(sessions) != 1 || got.Order.SessionID != sessions[0].ID || !got.Replayed {
				t.Errorf("%d sessions, checkout %+v", len(sessions), got)
			}
			if n := w.get(t, c.ID); n.UsedCount+n.ReservedCount != 1 {
				t.Errorf("%d used and %d reserved, want 1 in all", n.UsedCount, n.ReservedCount)
			}
		})
	}
}
