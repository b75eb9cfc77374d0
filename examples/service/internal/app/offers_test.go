package app_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/ratelimit"
	"github.com/couponkit/couponkit/store"
)

func withSuggestions(c *app.Config) {
	c.SuggestBest, c.SuggestNearly, c.Follow = true, true, 10*time.Millisecond
}

// ownCoupons replaces the coupons of the demo.
func (w *world) ownCoupons(t *testing.T, drafts ...coupon.Draft) {
	t.Helper()
	for c, err := range w.Service.Coupons(t.Context(), store.CouponList{}) {
		require.NoError(t, err)
		require.NoError(t, w.Service.Delete(t.Context(), c.ID))
	}
	for _, d := range drafts {
		d.Name, d.DiscountType = "Test", pricing.FixedAmount
		if d.Amount == nil {
			d.Amount = coupon.Amounts{"": "5"}
		}
		_, err := w.Service.Create(t.Context(), d)
		require.NoError(t, err)
	}
}

// offers asks for the offers of a cart until the index has the coupons.
func (b *browser) offers(cart object, best string) answer {
	b.t.Helper()
	var found answer
	require.Eventually(b.t, func() bool {
		found = b.post("/payment/offers", cart).is(http.StatusOK)
		code, _ := found.value("best.code").(string)
		return code == best
	}, 30*time.Second, 10*time.Millisecond, "the best coupon is not %q", best)
	return found
}

// TestCouponsForACart: the shop suggests the best coupon that the customer may use now, and those that lack a
// little. It suggests nothing that the store would refuse, and no coupon of others.
func TestCouponsForACart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withSuggestions)
	w.ownCoupons(t,
		coupon.Draft{Code: "SMALL"},
		coupon.Draft{Code: "LARGE", Amount: coupon.Amounts{"": "8"}},
		coupon.Draft{Code: "SPENT", Amount: coupon.Amounts{"": "12"}},
		coupon.Draft{Amount: coupon.Amounts{"": "30"}}, // has no plain code
		coupon.Draft{Code: "BENS", Amount: coupon.Amounts{"": "20"}, Distribution: coupon.UserSpecific, AllowedUserEmails: coupon.EmailList{"ben@example.org"}},
		coupon.Draft{Code: "SIXTY", Amount: coupon.Amounts{"": "10"}, MinPurchase: coupon.Amounts{"": "60"}},
		coupon.Draft{Code: "HUNDRED", Amount: coupon.Amounts{"": "40"}, MinPurchase: coupon.Amounts{"": "100"}},
		coupon.Draft{Code: "PAIR", Amount: coupon.Amounts{"": "9"}, MinQuantity: coupon.Set(2)},
		coupon.Draft{Code: "CASE", Amount: coupon.Amounts{"": "9.5"}, Kinds: []string{"accessory"}, Contains: &coupon.ContentsDraft{MinPurchase: coupon.Amounts{"": "50"}}},
	)
	cart := object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup"}
	ann := w.as(t, "ann")
	found := ann.offers(cart, "SPENT")
	require.Equal(t, "12.00", found.text("best.saves"))
	ann.pays(ann.checkout(with(cart, object{"codes": []string{"SPENT"}})).is(http.StatusCreated))
	found = ann.offers(cart, "LARGE")
	require.Equal(t, []any{"8.00", "LARGE", "FIXED_AMOUNT"}, []any{found.text("best.saves"), found.text("best.terms.code"), found.text("best.terms.discountType")})
	require.Len(t, found.list("nearly"), 2)
	require.Equal(t, []any{"SIXTY", "20.10", nil, "10.00"}, []any{found.text("nearly.0.code"), found.text("nearly.0.missing"), found.value("nearly.0.pieces"), found.text("nearly.0.saves")})
	require.Nil(t, found.value("nearly.0.contained"))
	require.Equal(t, []any{"CASE", "10.10", true, "9.50"}, []any{found.text("nearly.1.code"), found.text("nearly.1.missing"), found.value("nearly.1.contained"), found.text("nearly.1.saves")})
	ann.pays(ann.checkout(object{"lines": []object{line("accessory", "charger", 2)}, "shippingOptionId": "pickup", "codes": []string{"CASE"}}).is(http.StatusCreated))
	found = ann.offers(cart, "LARGE")
	require.Equal(t, []any{"PAIR", nil, 1, "9.00"}, []any{found.text("nearly.1.code"), found.value("nearly.1.missing"), found.number("nearly.1.pieces"), found.text("nearly.1.saves")})
	found = ann.offers(with(cart, object{"codes": []string{"SMALL"}}), "LARGE")
	require.Equal(t, "3.00", found.text("best.saves"))
	require.Empty(t, found.list("nearly"), "what the coupon of the cart excludes")
	require.Nil(t, ann.post("/payment/offers", with(cart, object{"codes": []string{"LARGE"}})).is(http.StatusOK).value("best"))

	require.Equal(t, "20.00", w.as(t, "ben").offers(cart, "BENS").text("best.saves"))
	visitor := w.browser(t).post("/payment/offers", cart).is(http.StatusOK)
	require.Equal(t, []any{nil, []any{}}, []any{visitor.value("best"), visitor.value("nearly")})
	require.Equal(t, true, w.browser(t).get("/session").value("offers"))
	fault := ann.post("/payment/offers", object{"lines": []object{line("accessory", "nothing", 1)}}).refused(http.StatusUnprocessableEntity, "invalid_input")
	require.Equal(t, map[string]string{"lines[0].itemId": "unknown"}, fault.fields())
}

// TestSuggestionsAreNoWayToGuess: wrong codes beside suggestions are counted as in a quote.
func TestSuggestionsAreNoWayToGuess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withSuggestions, func(c *app.Config) { c.Limits.AttemptsPerUser = ratelimit.Limit{Attempts: 2, Window: 2 * time.Hour} })
	ann, cart := w.as(t, "ann"), object{"lines": []object{line("accessory", "charger", 1)}, "codes": []string{"GUESS"}}
	for range 2 {
		ann.post("/payment/offers", cart).is(http.StatusOK)
	}
	ann.post("/payment/offers", cart).refused(http.StatusTooManyRequests, "too_many_attempts")
	ann.post("/payment/quote", cart).refused(http.StatusTooManyRequests, "too_many_attempts")
}

// TestAShopThatSuggestsNothing: both switches are off by default, and each shows its own part.
func TestAShopThatSuggestsNothing(t *testing.T) {
	t.Parallel()
	cart := object{"lines": []object{line("accessory", "charger", 1)}}
	for name, change := range map[string]func(*app.Config){
		"nothing": func(*app.Config) {},
		"best":    func(c *app.Config) { c.SuggestBest = true },
		"nearly":  func(c *app.Config) { c.SuggestNearly = true },
	} {
		w := newWorld(t, func(c *app.Config) { c.Follow = 10 * time.Millisecond }, change)
		w.ownCoupons(t, coupon.Draft{Code: "SMALL"}, coupon.Draft{Code: "PAIR", MinQuantity: coupon.Set(2)})
		ann := w.as(t, "ann")
		require.Equal(t, name != "nothing", ann.get("/session").value("offers"))
		want := map[string][]int{"nothing": {0, 0}, "best": {1, 0}, "nearly": {0, 1}}[name]
		shown := func() []int {
			found := ann.post("/payment/offers", cart).is(http.StatusOK)
			best := 0
			if found.value("best") != nil {
				best = 1
			}
			return []int{best, len(found.list("nearly"))}
		}
		require.Eventually(t, func() bool { return slices.Equal(want, shown()) }, 30*time.Second, 10*time.Millisecond, name)
	}
}
