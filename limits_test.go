package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/memstore"
)

// firstOrders is a draft of 10 EUR off a first order.
func firstOrders() coupon.Draft {
	d := tenOff()
	d.Code, d.FirstOrder = "FIRST", true
	return d
}

// reasonsOf are the reasons of a refusal.
func reasonsOf(t *testing.T, err error) []coupon.Reason {
	t.Helper()
	var refused *coupon.Rejection
	require.ErrorAs(t, err, &refused)
	return refused.Reasons
}

func (w *world) pay(t *testing.T, c couponkit.Checkout) {
	t.Helper()
	require.NoError(t, w.fake.Pay(c.Session.ID))
	w.deliver(t)
}

// A customer who has paid for an order has had the first one, with a coupon or without.
func TestAFirstOrder(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{"without a coupon": "", "with the coupon": "FIRST", "with another": "TEN"} {
		w := newWorld(t)
		d := firstOrders()
		d.MaxUsesPerUser = coupon.Clear[int]()
		w.create(t, d)
		w.create(t, tenOff())
		w.pay(t, w.checkout(t, w.request(code)))
		want := []coupon.Reason{{Code: coupon.NotFirstOrder, Params: coupon.Params{Orders: 1}}}
		_, err := w.Checkout(t.Context(), w.request("FIRST"))
		if diff := cmp.Diff(want, reasonsOf(t, err)); diff != "" {
			t.Errorf("after an order %s (-want +got):\n%s", name, diff)
		}
		_, err = w.Validate(t.Context(), couponkit.ValidateRequest{Code: "FIRST", Customer: ann})
		if diff := cmp.Diff(want, reasonsOf(t, err)); diff != "" {
			t.Errorf("validated after an order %s (-want +got):\n%s", name, diff)
		}
		other := w.request("FIRST")
		other.Customer = bob
		w.checkout(t, other)
	}
}

// Orders that the host knows of count.
func TestEarlierOrdersOfTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, firstOrders())
	r := w.request("FIRST")
	r.Customer.EarlierOrders = 2
	_, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, coupon.ErrNotFirstOrder)
}

// An open order that the customer leaves for one with the coupon is replaced, and so is one that
// has the coupon. An order that nobody pays is no order.
func TestAFirstOrderTakesOverAnOpenOrder(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"", "FIRST"} {
		w := newWorld(t)
		w.create(t, firstOrders())
		open := w.checkout(t, w.request(code))
		fresh := w.checkout(t, w.request("FIRST"))
		require.Equal(t, open.Order.ID, fresh.Order.Replaces)
		require.Equal(t, redemption.OrderCancelled, w.order(t, open.Order.ID).State)
		counts, err := w.store.Counts(t.Context(), []string{eligibility.CustomerOrders(ann.ID)})
		require.NoError(t, err)
		require.Equal(t, eligibility.Count{Reserved: 1}, counts[0])
		w.pay(t, fresh)
		_, err = w.Checkout(t.Context(), w.request("FIRST"))
		require.ErrorIs(t, err, coupon.ErrNotFirstOrder)
	}
}

// Of two simultaneous first orders of one customer one gets the coupon, whichever of their
// sessions the customer pays. An order that met the session of the other one while it was created has
// its own session after a repetition.
func TestTwoFirstOrdersAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		w := newWorld(t)
		d := firstOrders()
		d.MaxUsesPerUser = coupon.Clear[int]()
		c := w.create(t, d)
		var wait sync.WaitGroup
		checkouts, errs := make([]couponkit.Checkout, 2), make([]error, 2)
		quiet, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
		require.NoError(t, err)
		checkOut := func(i int) {
			r := w.request("FIRST")
			r.Key = []string{"first", "second"}[i]
			checkouts[i], errs[i] = quiet.Checkout(t.Context(), r)
		}
		for i := range checkouts {
			wait.Go(func() { checkOut(i) })
		}
		wait.Wait()
		for i := range checkouts {
			if errors.Is(errs[i], couponkit.ErrPaymentOpen) {
				checkOut(i)
			}
			if errs[i] == nil {
				_ = w.fake.Pay(checkouts[i].Session.ID) // one may have ended
			} else if !errors.Is(errs[i], coupon.ErrNotFirstOrder) && !errors.Is(errs[i], couponkit.ErrOrderEnded) {
				t.Errorf("a refusal is %v", errs[i])
			}
		}
		w.deliver(t)
		if used := w.get(t, c.ID); used.UsedCount != 1 || used.ReservedCount != 0 {
			t.Fatalf("%d used and %d reserved, want 1 and 0", used.UsedCount, used.ReservedCount)
		}
	}
}

// The sum of the discounts of paid and open orders stays within the budget.
func TestABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.MaxUsesPerUser = coupon.Clear[int]()
	d.Budget = coupon.NewAmounts(pricing.NewMoney(25_00, pricing.EUR()))
	w.create(t, d)
	first := w.checkout(t, w.request("TEN"))
	w.pay(t, first)
	bobs := w.request("TEN")
	bobs.Customer = bob
	open := w.checkout(t, bobs)
	want := []coupon.Reason{{Code: coupon.BudgetExhausted, Params: coupon.Params{
		Budget:    coupon.Amount{Money: pricing.NewMoney(25_00, pricing.EUR())},
		Remaining: coupon.Amount{Money: pricing.NewMoney(5_00, pricing.EUR())},
		Missing:   coupon.Amount{Money: pricing.NewMoney(5_00, pricing.EUR())},
	}}}
	_, err := w.Checkout(t.Context(), w.request("TEN"))
	if diff := cmp.Diff(want, reasonsOf(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := w.checkout(t, bobs) // the customer's own discount is not in their way
	require.Equal(t, open.Order.ID, again.Order.Replaces)
	small := w.request("TEN")
	small.Cart.Lines[0].Quantity, small.Cart.Lines[0].UnitPrice = 1, 5_00
	w.checkout(t, small)
	dollars := w.request("TEN")
	dollars.Cart.Currency, err = pricing.ParseCurrency("USD")
	require.NoError(t, err)
	_, err = w.Quote(t.Context(), couponkit.QuoteRequest{Cart: dollars.Cart, Codes: []string{"TEN"}, Customer: ann})
	require.ErrorIs(t, err, coupon.ErrCurrencyMismatch)
}

// The instant of the reservation decides the period. At its end the limit begins again.
func TestPeriodLimits(t *testing.T) {
	t.Parallel()
	berlin := zone("Europe/Berlin")
	for _, per := range []coupon.LimitSubject{coupon.PerCustomer, coupon.PerCoupon, coupon.PerCode} {
		w := newWorld(t)
		d := tenOff()
		d.MaxUsesPerUser = coupon.Clear[int]()
		d.PeriodLimits = []coupon.PeriodLimit{{Per: per, Period: calendar.Week, Zone: berlin, MaxUses: 1}}
		w.create(t, d)
		w.now = time.Date(2026, 11, 22, 22, 59, 0, 0, time.UTC) // a minute before Monday in Berlin
		w.pay(t, w.checkout(t, w.request("TEN")))
		_, err := w.Checkout(t.Context(), w.request("TEN"))
		want := []coupon.Reason{{Code: coupon.PeriodLimitReached, Params: coupon.Params{
			Per: per, Period: calendar.Week, TimeZone: "Europe/Berlin", MaxUses: 1, EndsAt: time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC),
		}}}
		if diff := cmp.Diff(want, reasonsOf(t, err)); diff != "" {
			t.Errorf("per %s (-want +got):\n%s", per, diff)
		}
		bobs := w.request("TEN")
		bobs.Customer = bob
		if _, err := w.Checkout(t.Context(), bobs); (per == coupon.PerCustomer) != (err == nil) {
			t.Errorf("per %s, another customer: %v", per, err)
		}
		w.pass(time.Minute)
		last := w.checkout(t, w.request("TEN"))
		w.pass(time.Second)
		require.Equal(t, last.Order.ID, w.checkout(t, w.request("TEN")).Order.Replaces, "the open order is in the way of its own customer")
	}
}

// A code that is used again by another coupon keeps its count for the period.
func TestALimitOfTheCodeOutlivesItsCoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.PeriodLimits = []coupon.PeriodLimit{{Per: coupon.PerCode, Period: calendar.Day, Zone: zone("UTC"), MaxUses: 1}}
	c := w.create(t, d)
	w.pay(t, w.checkout(t, w.request("TEN")))
	require.NoError(t, w.Delete(t.Context(), c.ID))
	w.create(t, d)
	_, err := w.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, coupon.ErrPeriodLimitReached)
}

// An exchange decides the period of its use; the budget is claimed at checkout.
func TestAnExchangeKeepsItsPeriod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.Distribution, d.PointsRequired, d.MaxUsesPerUser = coupon.PointsRedeemable, 10, coupon.Clear[int]()
	d.PeriodLimits = []coupon.PeriodLimit{{Per: coupon.PerCustomer, Period: calendar.Day, Zone: zone("UTC"), MaxUses: 1}}
	d.Budget = coupon.NewAmounts(pricing.NewMoney(15_00, pricing.EUR()))
	c := w.create(t, d)
	exchange := couponkit.ExchangeRequest{Coupon: "TEN", Customer: ann, Key: "k1"}
	held, err := w.ExchangePoints(t.Context(), exchange)
	require.NoError(t, err)
	w.pass(24 * time.Hour)
	paid := w.checkout(t, w.request("TEN"))
	budget := eligibility.Claim{Counter: eligibility.Budget(c.ID, "EUR"), Amount: 10_00, Limit: 15_00}
	if diff := cmp.Diff(append(held.Claims, budget), useOf(t, paid.Uses).Claims, byCounter); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.pay(t, paid)
	exchange.Key = "k2" // today nothing was exchanged yet
	_, err = w.ExchangePoints(t.Context(), exchange)
	require.NoError(t, err)
	_, err = w.Checkout(t.Context(), w.request("TEN"))
	require.ErrorIs(t, err, coupon.ErrBudgetExhausted)
}

// byCounter compares claims in any order.
var byCounter = cmpopts.SortSlices(func(a, b eligibility.Claim) bool { return a.Counter < b.Counter })

// A customer is one customer for every limit, by whichever identity they come.
func TestOneCustomerOfManyIdentities(t *testing.T) {
	t.Parallel()
	guest := eligibility.Customer{Email: " ANN@Example.org"}
	card := func(c eligibility.Customer, alias string) eligibility.Customer {
		c.Aliases = []string{alias}
		return c
	}
	limits := map[string]struct {
		draft func(*coupon.Draft)
		want  error
	}{
		"uses per customer": {func(*coupon.Draft) {}, coupon.ErrUserUsageLimitReached},
		"first order": {func(d *coupon.Draft) {
			d.FirstOrder, d.MaxUsesPerUser = true, coupon.Clear[int]()
		}, coupon.ErrNotFirstOrder},
		"uses in a month": {func(d *coupon.Draft) {
			d.MaxUsesPerUser = coupon.Clear[int]()
			d.PeriodLimits = []coupon.PeriodLimit{{Per: coupon.PerCustomer, Period: calendar.Month, Zone: zone("UTC"), MaxUses: 1}}
		}, coupon.ErrPeriodLimitReached},
	}
	for name, pair := range map[string][2]eligibility.Customer{
		"a member comes as a guest":        {ann, guest},
		"a guest becomes a member":         {guest, ann},
		"two accounts with one card":       {card(ann, "card_1"), card(bob, "card_1")},
		"a guest with a member's card":     {card(bob, "card_1"), card(guest, "card_1")},
		"a guest with two cards":           {card(guest, "card_1"), card(guest, "card_2")},
		"a guest with another letter case": {guest, {Email: "ann@EXAMPLE.org"}},
	} {
		for limit, test := range limits {
			w := newWorld(t, couponkit.WithGuests())
			d := tenOff()
			test.draft(&d)
			w.create(t, d)
			r := w.request("TEN")
			r.Customer = pair[0]
			w.pay(t, w.checkout(t, r))
			r.Customer = pair[1]
			_, err := w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, test.want, "%s: %s", name, limit)
			require.Len(t, reasonsOf(t, err), 1, "%s: %s", name, limit)
			r.Customer = eligibility.Customer{Email: "somebody@example.org"}
			w.checkout(t, r)
		}
	}
}

// Without the option a guest is nobody. With it, coupons for some customers stay closed.
func TestGuests(t *testing.T) {
	t.Parallel()
	listed := tenOff()
	listed.Code, listed.Distribution, listed.AllowedUserEmails = "LISTED", coupon.UserSpecific, coupon.EmailList{ann.Email}
	guest := eligibility.Customer{Email: ann.Email}
	closed, open := newWorld(t), newWorld(t, couponkit.WithGuests())
	for _, w := range []*world{closed, open} {
		w.create(t, tenOff())
		w.create(t, listed)
	}
	r := closed.request("TEN")
	r.Customer = guest
	_, err := closed.Checkout(t.Context(), r)
	require.ErrorIs(t, err, coupon.ErrUserRequired)

	c := open.checkout(t, r)
	id, err := couponkit.GuestID(guest.Email)
	require.NoError(t, err)
	require.Equal(t, id, c.Order.CustomerID)
	r.Codes = []string{"LISTED"}
	_, err = open.Checkout(t.Context(), r)
	require.ErrorIs(t, err, coupon.ErrUserRequired)
	r.Customer.Email = "nonsense"
	_, err = open.Checkout(t.Context(), r)
	require.Equal(t, []string{"customer.email"}, faultyFields(t, err))
	r.Customer = eligibility.Customer{ID: id}
	_, err = open.Checkout(t.Context(), r)
	require.Equal(t, []string{"customer.id"}, faultyFields(t, err))
}

// A guest with an ID of the host, such as that of a browser's session, has an address that nobody has verified.
func TestAGuestWithAnIDIsAStranger(t *testing.T) {
	t.Parallel()
	listed, personal := tenOff(), tenOff()
	listed.Code, listed.Distribution, listed.AllowedUserEmails = "LISTED", coupon.UserSpecific, coupon.EmailList{ann.Email}
	personal.Code = ""
	for name, w := range map[string]*world{"closed": newWorld(t), "open": newWorld(t, couponkit.WithGuests())} {
		w.create(t, tenOff())
		w.create(t, listed)
		c, err := w.Create(t.Context(), personal)
		require.NoError(t, err)
		_, err = w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "b"}, []coupon.CodeDraft{{Code: "ANNS", Owner: coupon.OwnerEmail(ann.Email)}})
		require.NoError(t, err)
		r := w.request("TEN")
		r.Customer = eligibility.Customer{ID: "session 1", Email: ann.Email, Guest: true}
		for _, code := range []string{"LISTED", "ANNS"} {
			r.Codes = []string{code}
			_, err = w.Quote(t.Context(), couponkit.QuoteRequest{Cart: r.Cart, Codes: r.Codes, Customer: r.Customer})
			require.ErrorIs(t, err, coupon.ErrUserRequired, "%s: %s", name, code)
			_, err = w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, coupon.ErrUserRequired, "%s: %s", name, code)
		}
		r.Codes = []string{"TEN"}
		require.Equal(t, "session 1", w.checkout(t, r).Order.CustomerID, name)
	}
}

// Facts of the host have bounds.
func TestFactsOfTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request("")
	r.Customer.Aliases = make([]string, eligibility.MaxAliases+1)
	r.Customer.Tags, r.Customer.EarlierOrders = []string{"ok", ""}, -1
	_, err := w.Checkout(t.Context(), r)
	require.Equal(t, []string{"customer.aliases", "customer.tags[1]", "customer.earlierOrders"}, faultyFields(t, err))
}

// No counter has an e-mail address or an alias in its key.
func TestCountersHaveNoPersonalData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	r := w.request("TEN")
	r.Customer.Aliases = []string{"card_4242"}
	c := w.checkout(t, r)
	for _, claim := range append(c.Order.Claims, useOf(t, c.Uses).Claims...) {
		require.NotContains(t, claim.Counter, "example.org")
		require.NotContains(t, claim.Counter, "card_4242")
	}
	require.Len(t, c.Order.Claims, 3)
}

// A guest and a member of the same address share their limits.
func ExampleWithGuests() {
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(fakeprocessor.New(fakeprocessor.Options{})), couponkit.WithGuests())
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := service.Create(context.Background(), tenOff()); err != nil {
		fmt.Println(err)
		return
	}
	r := couponkit.CheckoutRequest{Cart: phones(), Codes: []string{"TEN"}, Customer: eligibility.Customer{Email: "ann@example.org"}}
	checkout, err := service.Checkout(context.Background(), r)
	fmt.Println(checkout.Order.Quote.Discount, err)
	r.Customer.ID = "ann"
	_, err = service.Checkout(context.Background(), r)
	fmt.Println(err)
	// Output:
	// 1000 <nil>
	// coupon refused: user_usage_limit_reached
}
