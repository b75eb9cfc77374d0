package app_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/app"
)

func withGuests(c *app.Config) { c.Guests = true }

// TestAGuestBuysACart: issue 41; with an address, which counts for limits, and no session.
func TestAGuestBuysACart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withGuests)
	w.combinable(t)
	guest := w.browser(t)
	require.Equal(t, true, guest.get("/session").is(http.StatusOK).value("guests"))
	cart := object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup", "codes": []string{"SPRING", "HELLO"}}
	require.Equal(t, "10.00", guest.post("/payment/quote", cart).is(http.StatusOK).text("quote.discount"))
	guest.get("/payment/apply-coupon/SPRING").is(http.StatusOK)
	guest.get("/payment/apply-coupon/VIP15").refused(http.StatusUnauthorized, "user_required")
	require.Equal(t, map[string]string{"email": "required"}, guest.checkout(cart).refused(http.StatusUnprocessableEntity, "invalid_input").fields())
	for _, malformed := range []string{"gus", "gus@", "*@example.org"} {
		require.Contains(t, guest.post("/payment/cart-checkout", with(cart, object{"email": malformed})).refused(http.StatusUnprocessableEntity, "invalid_input").fields(), "email")
	}
	bought := guest.withKey("of-gus").checkout(with(cart, object{"email": "Gus@example.org"})).is(http.StatusCreated)
	require.Equal(t, "10.00", bought.text("quote.discount"))
	guest.onPaymentPage(bought.text("url"), "pay").is(http.StatusSeeOther)

	w.browser(t).get("/order/"+bought.text("orderId")).refused(http.StatusUnauthorized, "user_required")
	w.as(t, "ann").get("/order/"+bought.text("orderId")).refused(http.StatusNotFound, "not_found")
	same := w.browser(t) // another cart of the same address, in another browser
	again := same.checkout(object{"lines": []object{line("accessory", "cable", 1)}, "shippingOptionId": "pickup", "email": "gus@example.org"}).is(http.StatusCreated)
	same.reaches(bought.text("orderId"), "paid")
	require.Equal(t, "open", same.get("/order/"+again.text("orderId")).text("state"))
	back := same.get("/payment/return?key=of-gus").is(http.StatusSeeOther)
	require.Equal(t, "/orders/"+bought.text("orderId"), back.header.Get("Location"))

	limited := same.post("/payment/quote", with(cart, object{"email": "gus@example.org"})).is(http.StatusOK)
	require.Equal(t, "user_usage_limit_reached", limited.text("rejections.0.code"))
}

// TestGuestsAreNobodyElse: an account gives no address, and only the cart is open to guests.
func TestGuestsAreNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withGuests)
	cart := object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup", "email": "ben@example.org"}
	ann, guest := w.as(t, "ann"), w.browser(t)
	require.Equal(t, map[string]string{"email": "not_allowed"}, ann.post("/payment/quote", cart).refused(http.StatusUnprocessableEntity, "invalid_input").fields())
	ann.csrf = ""
	ann.post("/payment/cart-checkout", cart).refused(http.StatusForbidden, "csrf_token_invalid")
	guest.post("/payment/payment-link", object{"mode": "subscription"}).refused(http.StatusUnauthorized, "user_required")
	guest.get("/points").refused(http.StatusUnauthorized, "user_required")
	guest.get("/admin/coupon/all").refused(http.StatusUnauthorized, "user_required")
	guest.cookie = api.GuestCookie + "=%%%"
	guest.get("/order/ord_1").refused(http.StatusUnauthorized, "user_required")
	require.Contains(t, guest.get("/payment/return?key=k").is(http.StatusSeeOther).header.Get("Location"), "/login")
}

// TestWithoutGuests: nobody pays with an address alone.
func TestWithoutGuests(t *testing.T) {
	t.Parallel()
	guest := newWorld(t).browser(t)
	require.Equal(t, false, guest.get("/session").is(http.StatusOK).value("guests"))
	cart := object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup", "email": "gus@example.org"}
	require.Equal(t, map[string]string{"email": "not_allowed"}, guest.post("/payment/quote", cart).refused(http.StatusUnprocessableEntity, "invalid_input").fields())
	guest.post("/payment/cart-checkout", cart).refused(http.StatusUnauthorized, "user_required")
	guest.get("/payment/apply-coupon/SUMMER10").refused(http.StatusUnauthorized, "user_required")
	guest.get("/order/ord_1").refused(http.StatusUnauthorized, "user_required")
}
