package app_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// TestThePaymentPage: what the customer can do there, and what not.
func TestThePaymentPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.as(t, "ann")
	bought := ann.checkout(object{"lines": []object{line("accessory", "case", 2)}, "shippingOptionId": "standard", "couponCode": "SUMMER10"}).is(http.StatusCreated)
	address := bought.text("url")
	stranger := w.browser(t)
	stranger.loose = true
	shows := func(texts ...string) {
		t.Helper()
		page := stranger.get(w.path(address)).is(http.StatusOK)
		require.Equal(t, "no-store", page.header.Get("Cache-Control"))
		for _, text := range texts {
			require.Contains(t, string(page.body), text)
		}
	}
	shows("Pay 49.72 EUR", "SUMMER10", "2 × Case", "22.41", "Standard delivery", `data-status="open"`)
	declined := ann.onPaymentPage(address, "decline").is(http.StatusOK)
	require.Contains(t, string(declined.body), "declined")
	ann.onPaymentPage(address, "steal").is(http.StatusBadRequest)
	ann.onPaymentPage(address, "arrives").is(http.StatusConflict)
	ann.onPaymentPage(w.URL+"/simulator/pay/cs_000001", "pay").is(http.StatusNotFound) // the processor's own ID
	shows(`data-status="open"`)
	ann.onPaymentPage(address, "later").is(http.StatusSeeOther)
	shows(`data-status="waiting"`)
	ann.onPaymentPage(address, "arrives").is(http.StatusSeeOther)
	shows(`data-status="paid"`, "/payment/return?key=")
	ann.onPaymentPage(address, "pay").is(http.StatusConflict)

	foreign := *ann
	foreign.loose = true
	foreign.header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"cross-site"}}
	foreign.do(http.MethodPost, w.path(address), "action=pay").refused(http.StatusForbidden, "cross_origin")
	foreign.header.Del("Sec-Fetch-Site")
	foreign.do(http.MethodPost, w.path(address), "action="+strings.Repeat("x", 10_000)).is(http.StatusBadRequest)
	require.Contains(t, stranger.get("/simulator/static/pay.css").is(http.StatusOK).header.Get("Content-Type"), "text/css")
}

// TestTwoNodes: two services on one PostgreSQL database start at once and share
// coupons, limits and sign-ins.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	address := postgres.Need(t).NewDatabase(t)
	nodes := make([]*world, 2)
	var starting sync.WaitGroup
	for i := range nodes {
		starting.Go(func() { nodes[i] = newWorld(t, func(c *app.Config) { c.Store = address }) })
	}
	starting.Wait()
	if t.Failed() {
		return
	}
	ann := nodes[0].as(t, "ann")
	there := *ann
	there.world = nodes[1]
	require.Equal(t, "usr_ann", there.get("/session").text("user.id"))
	created := nodes[0].as(t, "admin").creates(object{"code": "SHARED"})
	listed := nodes[1].as(t, "admin").get("/admin/coupon/all?search=SHARED").is(http.StatusOK)
	require.Equal(t, created.text("id"), listed.text("items.0.id"))
}

// stripeInMemory is an account at Stripe with its API, and what makes a service use it.
func stripeInMemory(t *testing.T) (*stripefake.Account, *httptest.Server, func(*app.Config)) {
	t.Helper()
	const key, secret = "sk_test_reference", "whsec_reference"
	account := stripefake.New(stripefake.Options{Key: key, WebhookSecret: secret, Now: noon})
	stripe := httptest.NewServer(account)
	t.Cleanup(stripe.Close)
	return account, stripe, func(c *app.Config) {
		c.Store, c.StripeKey, c.StripeWebhookSecret, c.StripeURL = app.Memory, key, secret, stripe.URL
	}
}

// TestACartIsBoughtOnStripe: with Stripe's keys coupons are mirrored there, the
// customer is sent to Stripe's page to pay the discounted amount, and Stripe's signed
// webhook counts the use once.
func TestACartIsBoughtOnStripe(t *testing.T) {
	t.Parallel()
	account, stripe, onStripe := stripeInMemory(t)
	w := newWorld(t, onStripe)
	require.Nil(t, w.Simulator)
	ann, admin := w.as(t, "ann"), w.as(t, "admin")
	created := admin.creates(object{"code": "ONSTRIPE", "discountType": "FIXED_AMOUNT", "discountValue": "20", "maxUses": 3})
	mirrored := false
	for _, c := range account.Coupons() {
		mirrored = mirrored || c.ID == created.text("processorCouponId") && c.AmountOff == 20_00
	}
	require.True(t, mirrored, "the coupon is not at Stripe")

	cart := object{"lines": []object{line("accessory", "earbuds", 2)}, "shippingOptionId": "standard", "couponCode": "onstripe"}
	bought := ann.checkout(cart).is(http.StatusCreated)
	session, known := account.Session(bought.text("sessionId"))
	require.True(t, known)
	require.EqualValues(t, 2*99_00-20_00+4_90, session.AmountTotal)
	require.Contains(t, bought.text("url"), session.ID)
	require.NoError(t, account.Pay(session.ID))
	for range 2 { // the second time there is nothing new
		refused, err := account.Deliver(t.Context(), stripe.Client(), w.URL+"/payment/webhook")
		require.NoError(t, err)
		require.Zero(t, refused)
	}
	require.Equal(t, "paid", ann.get("/order/"+bought.text("orderId")).text("state"))
	counted := admin.get("/admin/coupon/" + created.text("id"))
	require.Equal(t, 1, counted.number("usedCount"))
	require.Equal(t, 0, counted.number("reservedCount"))
	require.Equal(t, false, admin.patch("/admin/coupon/"+created.text("id")+"/status", object{"active": false}).is(http.StatusOK).value("active"))
	for _, c := range account.PromotionCodes() {
		require.False(t, c.Code == "ONSTRIPE" && c.Active, "the code is still active at Stripe")
	}
}

// TestAPaymentOfALostOrder: the store is an older copy, without the coupon and the order that
// the customer pays. The use is counted from the payment. There is no order to show.
func TestAPaymentOfALostOrder(t *testing.T) {
	t.Parallel()
	account, stripe, onStripe := stripeInMemory(t)
	before, after := newWorld(t, onStripe), newWorld(t, onStripe)
	coupon := before.as(t, "admin").creates(object{"code": "LOST"}).text("id")
	bought := before.as(t, "ann").checkout(object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "LOST"}).is(http.StatusCreated)
	require.NoError(t, account.Pay(bought.text("sessionId")))
	for range 2 {
		refused, err := account.Deliver(t.Context(), stripe.Client(), after.URL+"/payment/webhook")
		require.NoError(t, err)
		require.Zero(t, refused)
	}
	kept := after.as(t, "admin").get("/admin/coupon/" + coupon + "/redemptions").is(http.StatusOK)
	require.Equal(t, 1, kept.number("total"))
	for field, want := range map[string]any{
		"state": "completed", "origin": "payment", "customerEmail": "ann@example.org", "sessionId": bought.text("sessionId"),
	} {
		require.Equal(t, want, kept.value("items.0."+field), field)
	}
	after.as(t, "ann").get("/order/"+kept.text("items.0.orderId")).refused(http.StatusNotFound, "not_found")
}

// TestTheStripeSwitch: with Stripe's keys the webhook asks for Stripe's signature,
// and there is no payment page here.
func TestTheStripeSwitch(t *testing.T) {
	t.Parallel()
	_, _, onStripe := stripeInMemory(t)
	w := newWorld(t, unseeded, onStripe)
	require.Nil(t, w.Simulator)
	b := w.browser(t)
	b.post("/payment/webhook", `{"id":"evt_1","object":"event"}`).refused(http.StatusBadRequest, "bad_request")
	b.header = http.Header{"Stripe-Signature": {"t=1,v1=" + url.QueryEscape("forged")}}
	b.post("/payment/webhook", `{"id":"evt_1","object":"event"}`).refused(http.StatusBadRequest, "bad_request")
	b.get("/simulator/pay/sim_x").refused(http.StatusNotFound, "not_found")
}
