package couponkit_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// countedReads counts how often the counters are read.
type countedReads struct {
	store.Store
	reads int
}

func (c *countedReads) Counts(ctx context.Context, keys []string) ([]eligibility.Count, error) {
	c.reads++
	return c.Store.Counts(ctx, keys)
}

// Contract section 4.11: paid and open orders take from a budget; an order that ended does not.
func TestWhatIsSpentOfABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dollars, err := pricing.ParseCurrency("USD")
	require.NoError(t, err)
	budgeted := percentOff(10)
	budgeted.MaxUsesPerUser = coupon.Clear[int]()
	budgeted.Budget = coupon.NewAmounts(pricing.NewMoney(50_00, dollars), pricing.NewMoney(25_00, pricing.EUR()))
	both := []coupon.Coupon{w.create(t, budgeted), w.create(t, tenOff())}
	counted := &countedReads{Store: w.store}
	admin, err := couponkit.New(counted, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	check := func(step string, euros, cents int64) {
		t.Helper()
		got, err := admin.Spent(t.Context(), both...)
		require.NoError(t, err)
		want := []coupon.MoneySet{coupon.NewMoneySet(pricing.NewMoney(euros, pricing.EUR()), pricing.NewMoney(cents, dollars)), {}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	check("nothing was bought", 0, 0)
	w.pay(t, w.checkout(t, w.request("PERCENT")))
	check("a paid order", 3_00, 0)
	bobs := w.request("PERCENT")
	bobs.Customer, bobs.Cart.Currency = bob, dollars
	open := w.checkout(t, bobs)
	check("an open order beside it", 3_00, 3_00)
	_, err = w.CancelCheckout(t.Context(), couponkit.OrderRequest{CustomerID: bob.ID, OrderID: open.Order.ID})
	require.NoError(t, err)
	check("the open order was cancelled", 3_00, 0)
	require.Equal(t, 4, counted.reads, "one read of the counters for all coupons")
}

func TestSpentPassesTheErrorOfTheStoreOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := percentOff(10)
	d.Budget = coupon.NewAmounts(pricing.NewMoney(50_00, pricing.EUR()))
	c := w.create(t, d)
	require.NoError(t, w.store.Close())
	_, err := w.Spent(t.Context(), c)
	require.ErrorIs(t, err, store.ErrClosed)
}

// An administrator reads every order, a customer only their own.
func TestOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	r := w.request("TEN")
	r.Key = "cart"
	bought := w.checkout(t, r)
	for name, request := range map[string]couponkit.OrderRequest{
		"an administrator":              {OrderID: bought.Order.ID, AnyCustomer: true},
		"the customer":                  {OrderID: bought.Order.ID, CustomerID: ann.ID},
		"the customer, by their key":    {Key: "cart", CustomerID: ann.ID},
		"an administrator beside a key": {OrderID: bought.Order.ID, CustomerID: bob.ID, AnyCustomer: true},
	} {
		got, err := w.Order(t.Context(), request)
		require.NoError(t, err, name)
		if diff := cmp.Diff(bought.Order, got.Order); diff != "" || len(got.Uses) != 1 {
			t.Errorf("%s: %d uses (-want +got):\n%s", name, len(got.Uses), diff)
		}
	}
	for name, request := range map[string]couponkit.OrderRequest{
		"another customer":        {OrderID: bought.Order.ID, CustomerID: bob.ID},
		"another customer's key":  {Key: "cart", CustomerID: bob.ID},
		"an order that is not":    {OrderID: "ord_unknown", AnyCustomer: true},
		"a key that was not used": {Key: "basket", CustomerID: ann.ID},
	} {
		_, err := w.Order(t.Context(), request)
		require.ErrorIs(t, err, store.ErrNotFound, name)
	}
	_, err := w.Order(t.Context(), couponkit.OrderRequest{})
	require.ErrorIs(t, err, validation.ErrInvalid)
}

// Coupons reads every page, newest first. It goes on after a coupon that cannot be read, and ends with
// the first error of the list.
func TestCoupons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var want []string
	for _, code := range []string{"ONE", "TWO", "THREE"} {
		d := tenOff()
		d.Code = code
		want = append([]string{w.create(t, d).ID}, want...)
		w.pass(time.Second)
	}
	var got []string
	for c, err := range w.Coupons(t.Context(), store.CouponList{PageSize: 1}) {
		require.NoError(t, err)
		got = append(got, c.ID)
	}
	require.Equal(t, want, got)
	for c, err := range w.Coupons(t.Context(), store.CouponList{PageSize: 1, Page: 2}) {
		require.NoError(t, err)
		require.Equal(t, want[1], c.ID)
		break
	}
	damagedBehind(w, want[1])
	unreadable := map[string]error{}
	for c, err := range w.Coupons(t.Context(), store.CouponList{PageSize: 1}) {
		unreadable[c.ID] = err
	}
	require.Len(t, unreadable, 3)
	require.ErrorIs(t, unreadable[want[1]], store.ErrUnreadable)
	errs := 0
	for _, err := range w.Coupons(t.Context(), store.CouponList{PageSize: -1}) {
		require.ErrorIs(t, err, validation.ErrInvalid)
		errs++
	}
	require.Equal(t, 1, errs)
}
