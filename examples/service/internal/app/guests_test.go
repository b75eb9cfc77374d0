package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/app"
)

func withGuests(c *app.Config) { c.Guests = true }

// TestAGuestBuysACart: with an address, which counts for limits, and no session.
func TestAGuestBuysACart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withGuests)
	w.combinable(t)
	guest := w.browser(t)
	require.Equal(t, true, guest.get("/session").is(http.StatusOK).value("guests"))
	cart := object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup", "codes": []string{"SPRING", "HELLO"}}
	require.Equal(t, "10.00", guest.post("/payment/quote", cart).is(http.StatusOK).text("quote.discount"))
	guest.get("/payment/apply-coupon/SPRING").is(http.StatusOK)
	guest.get("/payment/apply-coupon/VIP15").refused(http.StatusNotFound, "coupon_not_found")
	require.Equal(t, map[string]string{"email": "required"}, guest.checkout(cart).refused(http.StatusUnprocessableEntity, "invalid_input").fields())
	for _, malformed := range []string{"gus", "gus@", "*@example.org"} {
		require.Contains(t, guest.post("/payment/cart-checkout", with(cart, object{"email": malformed})).refused(http.StatusUnprocessableEntity, "invalid_input").fields(), "email")
	}
	guest = guest.withKey("of-gus")
	bought := guest.checkout(with(cart, object{"email": "Gus@example.org"})).is(http.StatusCreated)
	require.Equal(t, "10.00", bought.text("quote.discount"))
	guest.onPaymentPage(bought.text("url"), "pay").is(http.StatusSeeOther)

	w.browser(t).get("/order/"+bought.text("orderId")).refused(http.StatusUnauthorized, "user_required")
	w.as(t, "ann").get("/order/"+bought.text("orderId")).refused(http.StatusNotFound, "not_found")
	guest.header.Del("Idempotency-Key")
	again := guest.checkout(object{"lines": []object{line("accessory", "cable", 1)}, "shippingOptionId": "pickup", "email": "gus@example.org"}).is(http.StatusCreated)
	guest.reaches(bought.text("orderId"), "paid")
	require.Equal(t, "open", guest.get("/order/"+again.text("orderId")).text("state"))
	back := guest.get("/payment/return?key=of-gus").is(http.StatusSeeOther)
	require.Equal(t, "/orders/"+bought.text("orderId"), back.header.Get("Location"))

	limited := w.browser(t).post("/payment/quote", with(cart, object{"email": "gus@example.org"})).is(http.StatusOK)
	require.Equal(t, "user_usage_limit_reached", limited.text("rejections.0.code"))
}

// TestAGuestSeesTheOrdersOfTheirBrowser: an order is shown to the browser that has placed it, by a
// cookie that the service has signed. An address alone shows nothing, whoever writes it into a cookie
// or into a checkout.
func TestAGuestSeesTheOrdersOfTheirBrowser(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "guests.db")
	w := newWorld(t, withGuests, func(c *app.Config) { c.Store = store })
	cart := object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup"}
	guest, stranger := w.browser(t), w.browser(t)
	const victim = "gus@example.org"
	guest = guest.withKey("again-of-gus")
	order := "/order/" + guest.checkout(with(cart, object{"email": victim})).is(http.StatusCreated).text("orderId")
	guest.get(order).is(http.StatusOK)

	id, err := couponkit.GuestID(victim)
	require.NoError(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	forged := encode(fmt.Appendf(nil, `[{"GuestID":%q,"OrderID":%q,"Key":"again-of-gus"}]`, id, strings.TrimPrefix(order, "/order/")))
	stranger.checkout(with(cart, object{"email": victim})).is(http.StatusCreated) // the same address, in another browser
	name, own, _ := strings.Cut(stranger.cookie, "=")
	content, signature, _ := strings.Cut(own, ".")
	for what, value := range map[string]string{
		"the address alone":                 encode([]byte(victim)),
		"no signature":                      forged,
		"an empty signature":                forged + ".",
		"the signature of another cookie":   forged + "." + signature,
		"a signature that is cut off":       content + "." + signature[:len(signature)-1],
		"the cookie of the stranger":        own,
		"the same with one character more":  content + "A." + signature,
		"a signature with a key of its own": forged + "." + encode(hmac.New(sha256.New, []byte("guess")).Sum(nil)),
	} {
		stranger.cookie = name + "=" + value
		stranger.get(order).refused(http.StatusUnauthorized, "user_required")
		require.Contains(t, stranger.get("/payment/return?key=again-of-gus").is(http.StatusSeeOther).header.Get("Location"), "/login", what)
	}
	require.NoError(t, w.Close(t.Context()))
	restarted := newWorld(t, withGuests, func(c *app.Config) { c.Store = store })
	guest.world = restarted
	guest.get(order).is(http.StatusOK) // the key of the service is kept
}

// TestTheCookieOfAGuestIsBounded: the oldest orders leave it.
func TestTheCookieOfAGuestIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withGuests, func(c *app.Config) { c.Limits.CheckoutsPerAddress.Attempts = 1_000 })
	guest := w.browser(t)
	var orders []string
	for i := range 25 {
		keyed := guest.withKey(fmt.Sprintf("%d-%s", i, strings.Repeat("k", 200)))
		cart := object{"lines": []object{line("accessory", "charger", i+1)}, "shippingOptionId": "pickup", "email": fmt.Sprintf("guest-%d@example.org", i)}
		orders = append(orders, keyed.checkout(cart).is(http.StatusCreated).text("orderId"))
		guest.cookie = keyed.cookie
		require.Less(t, len(guest.cookie), 4_096)
	}
	guest.get("/order/" + orders[24]).is(http.StatusOK)
	guest.get("/order/" + orders[20]).is(http.StatusOK)
	guest.get("/order/"+orders[0]).refused(http.StatusUnauthorized, "user_required")
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
