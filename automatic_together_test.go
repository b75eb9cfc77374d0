package couponkit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// overBudget is a draft that takes half of the phones, 15.00, and has a budget of 10.00. Beside half of the list price,
// it takes 7.50.
func overBudget(d coupon.Draft) coupon.Draft {
	d.Lane, d.Budget = pricing.OrderLane, coupon.Amounts{"EUR": "10.00"}
	return d
}

func onListPrices(d coupon.Draft) coupon.Draft {
	d.Lane = pricing.ItemLane
	return d
}

// An automatic coupon that exceeds its budget alone is found beside another one, where it takes less.
func TestAnAutomaticCouponThatExceedsItsBudgetAlone(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	w.create(t, onListPrices(automatic(percentOff(50), "Half", "a")))
	w.create(t, overBudget(automatic(percentOff(50), "Small budget", "b")))
	update(t, current)
	quote := w.priced(t, w.request(""))
	require.ElementsMatch(t, []string{"Half", "Small budget"}, applied(quote))
	require.Equal(t, int64(22_50), quote.Discount)
	require.Equal(t, quote.Total, w.checkout(t, w.request("")).Order.Quote.Total)
}

// A code that exceeds its budget alone does not compete: an automatic coupon is compared with the codes that may apply.
func TestACodeThatExceedsItsBudgetDoesNotCompete(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	w.create(t, onListPrices(grouped(percentOff(50), "HALF", "a")))
	w.create(t, overBudget(grouped(percentOff(50), "BUDGET", "b")))
	w.create(t, grouped(percentOff(1), "ONE", "b"))
	w.create(t, automatic(percentOff(60), "Most", ""))
	update(t, current)
	r := w.request("")
	r.Codes, r.Conflicts, r.SkipRefused = []string{"HALF", "BUDGET", "ONE"}, eligibility.KeepBest, true
	quote := w.priced(t, r)
	require.Equal(t, []string{"Most"}, applied(quote))
	require.Equal(t, quote.Total, w.checkout(t, r).Order.Quote.Total)
}

// An automatic coupon whose code was refused beside another code does not apply, and hides no others.
func TestAnAutomaticCouponWhoseCodeIsRefused(t *testing.T) {
	t.Parallel()
	w, current := automaticWorld(t)
	typed := grouped(percentOff(90), "ALONE", "")
	typed.Automatic = true
	w.create(t, typed)
	w.create(t, grouped(percentOff(80), "OTHER", ""))
	for i := range 20 {
		w.create(t, automatic(percentOff(30), fmt.Sprint("Crowd ", i), "a"))
	}
	w.create(t, automatic(percentOff(5), "Beside", "b"))
	update(t, current)
	r := w.request("")
	r.Codes, r.SkipRefused = []string{"ALONE", "OTHER"}, true
	quote := w.priced(t, r)
	require.Len(t, quote.Refused, 2)
	require.Len(t, quote.Terms, 2)
	require.Contains(t, applied(quote), "Beside")
	require.Equal(t, quote.Total, w.checkout(t, r).Order.Quote.Total)
}
