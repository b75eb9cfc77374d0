package couponkit_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// accepted is a request with the totals of its quote.
func (w *world) accepted(t *testing.T, r couponkit.CheckoutRequest) couponkit.CheckoutRequest {
	t.Helper()
	q := w.priced(t, r)
	r.Expected = &couponkit.Totals{Subtotal: q.Subtotal, Discount: q.Discount, Shipping: q.Shipping, Total: q.Total}
	return r
}

// What happens to an automatic coupon between the quote and the checkout: the totals that the customer has
// accepted are not exceeded, and nothing is stored. The next quote has what is left.
func TestAnAutomaticCouponEndsBeforeTheCheckout(t *testing.T) {
	t.Parallel()
	for about, change := range map[string]func(*world, coupon.Coupon) error{
		"it expires":    func(w *world, _ coupon.Coupon) error { w.pass(2 * time.Hour); return nil },
		"it is off":     func(w *world, c coupon.Coupon) error { _, err := w.SetActive(t.Context(), c.ID, false); return err },
		"it is deleted": func(w *world, c coupon.Coupon) error { return w.Delete(t.Context(), c.ID) },
		"it needs a code": func(w *world, c coupon.Coupon) error {
			_, err := w.Update(t.Context(), c.ID, coupon.Patch{Automatic: coupon.Set(false)})
			return err
		},
		"it needs a larger cart": func(w *world, c coupon.Coupon) error {
			_, err := w.Update(t.Context(), c.ID, coupon.Patch{MinPurchase: coupon.Set(coupon.Amounts{"": "31"})})
			return err
		},
		"its budget is gone": func(w *world, _ coupon.Coupon) error {
			r := w.request("")
			r.Customer = bob
			_, err := w.Checkout(t.Context(), r)
			return err
		},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			w, current := automaticWorld(t)
			d := automatic(percentOff(50), "Half", "")
			d.ExpiresAt, d.Budget = calendar.At(w.now.Add(time.Hour)), coupon.Amounts{"EUR": "20.00"}
			c := w.create(t, d)
			w.create(t, automatic(percentOff(10), "Kept", ""))
			update(t, current)
			r := w.accepted(t, w.requestWithKey("mine", ""))
			require.NoError(t, change(w, c))
			_, err := w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, coupon.ErrCartTotalsInvalid)
			again := w.accepted(t, r)
			require.Equal(t, int64(3_00), again.Expected.Discount, "the next best one")
			require.Equal(t, []string{"Kept"}, names(w.checkout(t, again).Order))
		})
	}
}

// invalidStore returns coupons whose terms no version would have accepted.
type invalidStore struct {
	store.Store

	ids []string
}

func (s invalidStore) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	found, err := s.Store.LookUp(ctx, by)
	for _, f := range found.Coupons {
		if f != nil && slices.Contains(s.ids, f.Coupon.ID) {
			f.Coupon.Name = ""
		}
	}
	return found, err
}

// An automatic coupon that cannot be read, or whose terms became invalid, is left out, and the next best one applies.
func TestAnAutomaticCouponThatBecameInvalid(t *testing.T) {
	t.Parallel()
	for about, damaged := range map[string]func(store.Store, string) store.Store{
		"it cannot be read": func(s store.Store, id string) store.Store { return damagedStore{s, map[string]bool{id: true}} },
		"it is invalid":     func(s store.Store, id string) store.Store { return invalidStore{s, []string{id}} },
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			w, current := automaticWorld(t)
			half := w.create(t, automatic(percentOff(50), "Half", ""))
			w.create(t, automatic(percentOff(10), "Tenth", ""))
			update(t, current)
			require.Equal(t, []string{"Half"}, applied(w.priced(t, w.request(""))))
			service, err := couponkit.New(damaged(w.store, half.ID),
				couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)), couponkit.WithAutomatic(current))
			require.NoError(t, err)
			w.Service = service
			require.Equal(t, []string{"Tenth"}, applied(w.priced(t, w.request(""))))
			require.Equal(t, []string{"Tenth"}, names(w.checkout(t, w.request("")).Order))
		})
	}
}

// An index that nobody updates for hours follows the clock, which may also go back.
func TestAnOldIndexFollowsTheClock(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	begin := w.now
	for i, name := range []string{"Early", "Late", "Later"} {
		d := automatic(percentOff(int64(10*(i+1))), name, "")
		d.StartsAt, d.ExpiresAt = calendar.At(begin.Add(time.Duration(i)*time.Hour)), calendar.At(begin.Add(time.Duration(i+1)*time.Hour))
		w.create(t, d)
	}
	update(t, current)
	for _, at := range []int{0, 1, 2, 3, 2, 1, 0, -1} {
		w.now = begin.Add(time.Duration(at)*time.Hour + time.Minute)
		want := []string{}
		if at >= 0 && at < 3 {
			want = []string{[]string{"Early", "Late", "Later"}[at]}
		}
		require.Equal(t, want, applied(w.priced(t, w.request(""))), "after %d hours", at)
	}
}

// A coupon that was used up and is given back is proposed after ten seconds at most, and at once if the clock
// has gone back.
func TestAUsedUpAutomaticCouponComesBack(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{10 * time.Second, -time.Hour} {
		w, current := automaticWorld(t)
		d := automatic(percentOff(50), "Once", "")
		d.MaxUses, d.MaxUsesPerUser = coupon.Set(1), coupon.Clear[int]()
		w.create(t, d)
		update(t, current)
		made := w.checkout(t, w.request(""))
		w.pay(t, made)
		require.Empty(t, applied(w.priced(t, w.request(""))))
		_, err := w.Refund(t.Context(), couponkit.RefundRequest{OrderID: made.Order.ID, Key: "all", Returns: theRest})
		require.NoError(t, err)
		w.pass(wait)
		require.Equal(t, []string{"Once"}, applied(w.priced(t, w.request(""))))
	}
}

// once limits a coupon to one use by each customer, which an automatic coupon is not by itself.
func once(d coupon.Draft) coupon.Draft {
	d.MaxUsesPerUser = coupon.Set(1)
	return d
}

// A sale that is automatic is for every order of a customer.
func TestAnAutomaticCouponIsUsedAgain(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	w.create(t, automatic(percentOff(50), "Sale", ""))
	update(t, current)
	for range 3 {
		made := w.checkout(t, w.request(""))
		require.Equal(t, []string{"Sale"}, names(made.Order))
		require.Empty(t, made.Order.Replaces)
		w.pay(t, made)
	}
}

// Guests are counted by their address.
func TestAGuestUsesAnAutomaticCouponOnce(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t, couponkit.WithGuests())
	w.create(t, once(automatic(percentOff(50), "Once", "")))
	update(t, current)
	r := w.request("")
	for _, c := range []struct {
		who  eligibility.Customer
		want []string
	}{
		{eligibility.Customer{Email: "Guest@example.org"}, []string{"Once"}},
		{eligibility.Customer{Email: "guest@example.org"}, []string{}},
		{eligibility.Customer{Email: "other@example.org"}, []string{"Once"}},
	} {
		r.Customer = c.who
		made, err := w.Checkout(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, c.want, names(made.Order), c.who.Email)
		w.pay(t, made)
	}
}

// An open order holds the last use of an automatic coupon. Its customer hands it over, others get the next one,
// and a code that excludes it frees it when the order ends.
func TestAnOpenOrderHoldsTheLastUseOfAnAutomaticCoupon(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	for i := range 10 { // more than the index proposes at once
		d := automatic(percentOff(int64(50+i)), fmt.Sprint("Last ", i), "a")
		d.MaxUses = coupon.Set(1)
		w.create(t, d)
	}
	w.create(t, automatic(percentOff(5), "Kept", "a"))
	w.create(t, grouped(percentOff(20), "CODE", "a"))
	update(t, current)
	var held []couponkit.Checkout
	for i := range 10 {
		made, err := w.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: phones(), Customer: eligibility.Customer{ID: customerID(i)}})
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprint("Last ", 9-i)}, names(made.Order))
		held = append(held, made)
	}
	require.Equal(t, []string{"Kept"}, applied(w.priced(t, w.request(""))), "all others are reserved")
	own := couponkit.CheckoutRequest{Cart: phones(), Customer: eligibility.Customer{ID: customerID(0)}}
	again := w.checkout(t, own)
	require.Equal(t, []string{"Last 9"}, names(again.Order))
	require.Equal(t, held[0].Order.ID, again.Order.Replaces)
	own.Codes = []string{"CODE"}
	coded := w.checkout(t, own)
	require.Equal(t, []string{"Percent off"}, names(coded.Order))
	require.Empty(t, coded.Order.Replaces, "the code needs nothing")
	_, err := w.CancelCheckout(t.Context(), couponkit.OrderRequest{OrderID: again.Order.ID, AnyCustomer: true})
	require.NoError(t, err)
	require.Equal(t, redemption.OrderCancelled, w.order(t, again.Order.ID).State)
	require.Equal(t, []string{"Last 9"}, applied(w.priced(t, w.request(""))), "it is free")
}

// A budget that is too small for the whole discount leaves the coupon out, and another one takes its place. In a
// smaller cart it still applies.
func TestTheBudgetOfAnAutomaticCouponRunsOut(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	for i := range 9 {
		d := automatic(percentOff(int64(50+i)), fmt.Sprint("Budget ", i), "")
		d.Budget, d.MaxUsesPerUser = coupon.Amounts{"EUR": "14.00"}, coupon.Clear[int]()
		w.create(t, d)
	}
	w.create(t, automatic(percentOff(10), "Kept", ""))
	update(t, current)
	require.Equal(t, []string{"Kept"}, applied(w.priced(t, w.request(""))), "no budget has 15.00")
	r := w.request("")
	r.Cart.Lines[0].Quantity = 1
	require.Equal(t, []string{"Budget 8"}, applied(w.priced(t, r)))
	for range 3 {
		r.Key += "+"
		w.pay(t, w.checkout(t, r))
	}
	require.Equal(t, []string{"Budget 7"}, applied(w.priced(t, r)), "5.80 are more than the rest of the first")
}

// A repeated key returns its order, whatever automatic coupons there are by then, also where codes compete.
func TestARepeatedKeyKeepsItsAutomaticCoupons(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	w.create(t, tenOff())
	r := w.accepted(t, w.requestWithKey("mine", "TEN"))
	r.Conflicts = eligibility.KeepBest
	made := w.checkout(t, r)
	w.create(t, automatic(percentOff(90), "Better", ""))
	update(t, current)
	again := w.checkout(t, r)
	require.True(t, again.Replayed)
	require.Equal(t, made.Order.Quote, again.Order.Quote)
	r.Key = "other"
	_, err := w.Checkout(t.Context(), r)
	require.Equal(t, []string{"TEN not_combinable"}, refusedFor(err))
	r.SkipRefused = true
	_, err = w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, coupon.ErrCartTotalsInvalid, "the customer has accepted other totals")
	r.Expected = nil
	require.Equal(t, []string{"Better"}, names(w.checkout(t, r).Order))
}

// A cart gets nothing if no automatic coupon has its currency or its items.
func TestCartsWithoutAutomaticCoupons(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	w.create(t, automatic(tenOff(), "Euros", ""))
	update(t, current)
	r := w.request("")
	r.Cart.Currency = pricing.USD()
	require.Empty(t, applied(w.priced(t, r)))
	r = w.request("")
	r.Cart.Lines = r.Cart.Lines[1:]
	require.Empty(t, applied(w.priced(t, r)), "only shipping")
}

// A code that never applies gives up no open order. The automatic coupons are those that the cart has without the code, and
// what they take over is theirs.
func TestACodeThatIsRefusedTakesOverNothingForAutomaticCoupons(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, group string // of the code
		first       []string
	}{
		{"an order holds both", "b", []string{"Own", "Percent off"}},
		{"an order holds the code, and another one the automatic coupon", "", []string{"Percent off"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w, current := automaticWorld(t)
			w.create(t, once(automatic(percentOff(20), "Own", "a")))
			code := grouped(percentOff(30), "CODE", test.group)
			code.Kinds = []string{"device"}
			w.create(t, code)
			update(t, current)
			open := w.checkout(t, w.request("CODE"))
			require.ElementsMatch(t, test.first, names(open.Order))
			if test.group == "" {
				open = w.checkout(t, w.request(""))
				require.Equal(t, []string{"Own"}, names(open.Order))
			}
			without := w.request("CODE")
			without.SkipRefused = true
			without.Cart.Lines[0].Kind, without.Cart.Lines[0].ItemID = pricing.Accessory, "case"
			require.Equal(t, []string{"Own"}, applied(w.priced(t, without)))
			made, err := w.Checkout(t.Context(), without)
			require.NoError(t, err)
			require.Equal(t, []string{"Own"}, names(made.Order))
			require.Equal(t, open.Order.ID, made.Order.Replaces)
		})
	}
}
