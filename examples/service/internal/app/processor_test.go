package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/app"
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

// TestTheStripeSwitch: with Stripe's keys the webhook asks for Stripe's signature,
// and there is no payment page here.
func TestTheStripeSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unseeded, func(c *app.Config) {
		c.Store, c.StripeKey, c.StripeWebhookSecret = app.Memory, "sk_test_nothing", "whsec_nothing"
	})
	require.Nil(t, w.Simulator)
	b := w.browser(t)
	b.post("/payment/webhook", `{"id":"evt_1","object":"event"}`).refused(http.StatusBadRequest, "bad_request")
	b.header = http.Header{"Stripe-Signature": {"t=1,v1=" + url.QueryEscape("forged")}}
	b.post("/payment/webhook", `{"id":"evt_1","object":"event"}`).refused(http.StatusBadRequest, "bad_request")
	b.get("/simulator/pay/sim_x").refused(http.StatusNotFound, "not_found")
}
