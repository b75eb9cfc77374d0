package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// onEveryStore runs a test on the SQLite file, in memory and on PostgreSQL.
func onEveryStore(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, newWorld(t)) })
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, newWorld(t, func(c *app.Config) { c.Store = app.Memory }))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		address := postgres.NewCopy(t)
		test(t, newWorld(t, func(c *app.Config) { c.Store = address }))
	})
}

// TestACartIsBought: spec 4.5, 6; the amount of the payment page, the redemption,
// the count and the order.
func TestACartIsBought(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		ann, admin := w.as(t, "ann"), w.as(t, "admin")
		applied := ann.get("/payment/apply-coupon/tenoff").is(http.StatusOK)
		require.Equal(t, "10.00", applied.text("discountValue"))
		require.Equal(t, "€", applied.text("currencySymbol"))
		cart := object{
			"lines":            []object{line("accessory", "charger", 3), line("accessory", "cable", 1)},
			"shippingOptionId": "express", "couponCode": applied.text("couponId"),
		}
		bought := ann.checkout(cart).is(http.StatusCreated)
		require.Equal(t, "135.10", bought.text("quote.total")) // 119.70 + 12.50 - 10 + 12.90
		sessions := w.Simulator.Fake().Sessions()
		require.Len(t, sessions, 1)
		require.EqualValues(t, 135_10, sessions[0].Total)
		require.Equal(t, "TENOFF", sessions[0].Metadata["couponCode"])

		page := *ann
		page.loose = true
		require.Contains(t, string(page.get(w.path(bought.text("url"))).is(http.StatusOK).body), "135.10 EUR")
		order := "/order/" + bought.text("orderId")
		require.Equal(t, "open", ann.get(order).text("state"))
		require.Equal(t, bought.text("url"), ann.get(order).text("paymentUrl"))
		coupon := "/admin/coupon/" + applied.text("couponId")
		require.Equal(t, 1, admin.get(coupon).number("reservedCount"))

		ann.pays(bought)
		paid := ann.get(order)
		require.Equal(t, "10.00", paid.text("discountAmount"))
		require.Equal(t, "TENOFF", paid.text("coupon.code"))
		require.Equal(t, 1, admin.get(coupon).number("usedCount"))
		require.Equal(t, 0, admin.get(coupon).number("reservedCount"))
		uses := admin.get(coupon + "/redemptions").is(http.StatusOK)
		require.Equal(t, 1, uses.number("total"))
		require.Equal(t, "ann@example.org", uses.text("items.0.customerEmail"))
		require.Equal(t, bought.text("sessionId"), uses.text("items.0.sessionId"))
		usage := admin.get(coupon + "/usage?days=7").is(http.StatusOK)
		require.Len(t, usage.list("days"), 7)
		require.Equal(t, "2026-11-20", usage.text("days.6.date"))
		require.Equal(t, 1, usage.number("days.6.completed"))
	})
}

// TestTheCustomerComesBack: the payment page sends them to their order.
func TestTheCustomerComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.as(t, "ann")
	bought := ann.checkout(object{"lines": []object{line("plan", "plus", 1)}}).is(http.StatusCreated)
	back := ann.onPaymentPage(bought.text("url"), "pay").is(http.StatusSeeOther).header.Get("Location")
	require.Equal(t, "/orders/"+bought.text("orderId"), ann.get(w.path(back)).is(http.StatusSeeOther).header.Get("Location"))
	require.Equal(t, "/cart?notice=other_account", w.as(t, "ben").get(w.path(back)).is(http.StatusSeeOther).header.Get("Location"), "the key is the customer's own")
	require.Equal(t, "/login?next="+url.QueryEscape(w.path(back)), w.browser(t).get(w.path(back)).is(http.StatusSeeOther).header.Get("Location"), "whose sign-in has ended")
}

// TestTheCustomerIsFasterThanTheWebhook: who comes back sees what the processor knows. While it
// does not answer, they see what is stored.
func TestTheCustomerIsFasterThanTheWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.Deliver = time.Hour })
	fake := w.Simulator.Fake()
	ann := w.as(t, "ann")
	bought := ann.withKey("cart-1").checkout(object{"lines": []object{line("plan", "plus", 1)}}).is(http.StatusCreated)
	order := "/order/" + bought.text("orderId")
	require.NoError(t, fake.Pay(fake.Sessions()[0].ID))
	down := fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.GetSession, Kind: fakeprocessor.LostBefore, Times: -1})
	for _, state := range []string{"open", "paid"} {
		require.Equal(t, "/orders/"+bought.text("orderId"), ann.get("/payment/return?key=cart-1").is(http.StatusSeeOther).header.Get("Location"))
		require.Equal(t, state, ann.get(order).text("state"))
		down.Remove()
	}
	require.Equal(t, "/cart?notice=other_account", ann.get("/payment/return").is(http.StatusSeeOther).header.Get("Location"), "no key")
}

// TestPlaceAndPointsComeBack: a session that ends unpaid, whichever way, frees the
// place (spec 3.2, contract section 5).
func TestPlaceAndPointsComeBack(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		ann, ben := w.as(t, "ann"), w.as(t, "ben")
		cart := object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "LASTONE"}
		for _, end := range [][]string{{"decline", "expire"}, {"later", "fails"}} {
			bought := ann.checkout(cart).is(http.StatusCreated)
			ben.get("/payment/apply-coupon/LASTONE").refused(http.StatusUnprocessableEntity, "usage_limit_reached")
			for _, action := range end {
				ann.onPaymentPage(bought.text("url"), action)
			}
			ann.reaches(bought.text("orderId"), "cancelled")
			ben.get("/payment/apply-coupon/LASTONE").is(http.StatusOK)
			ann.onPaymentPage(bought.text("url"), "pay").is(http.StatusConflict)
		}
		bought := ann.checkout(cart).is(http.StatusCreated)
		w.clock.advance(61 * time.Minute) // the session's hour is over
		ann.reaches(bought.text("orderId"), "cancelled")
		ben.get("/payment/apply-coupon/LASTONE").is(http.StatusOK)

		late := ben.checkout(cart).is(http.StatusCreated)
		ben.onPaymentPage(late.text("url"), "later").is(http.StatusSeeOther)
		ben.reaches(late.text("orderId"), "awaiting_payment")
		ben.onPaymentPage(late.text("url"), "arrives").is(http.StatusSeeOther)
		ben.reaches(late.text("orderId"), "paid")
		ann.get("/payment/apply-coupon/LASTONE").refused(http.StatusUnprocessableEntity, "usage_limit_reached")
	})
}

// TestPoints: spec 2.3, 3.2; contract section 8.
func TestPoints(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		ann := w.as(t, "ann")
		require.Equal(t, 1_500, ann.get("/points").is(http.StatusOK).number("balance"))
		id := w.as(t, "admin").get("/admin/coupon/all?search=POINTS25").text("items.0.id")
		held := ann.post("/points/redeem/"+id, nil).is(http.StatusCreated)
		require.Equal(t, "POINTS25", held.text("couponCode"))
		again := ann.post("/points/redeem/"+id, nil).is(http.StatusCreated)
		require.Equal(t, held.text("id"), again.text("id"), "the customer holds one already")
		points := ann.get("/points").is(http.StatusOK)
		require.Equal(t, 1_000, points.number("balance"))
		require.Len(t, points.list("reservations"), 1)

		cart := object{"lines": []object{line("plan", "family", 1)}, "couponCode": "POINTS25"}
		bought := ann.checkout(cart).is(http.StatusCreated)
		require.Equal(t, "36.75", bought.text("quote.total"))
		ann.onPaymentPage(bought.text("url"), "expire").is(http.StatusSeeOther)
		ann.reaches(bought.text("orderId"), "cancelled")
		eventually(t, "the points are back", func() bool { return ann.get("/points").number("balance") == 1_500 })
		require.Empty(t, ann.get("/points").list("reservations"))

		keyed := ann.withKey("exchange")
		held = keyed.post("/points/redeem/POINTS25", nil).is(http.StatusCreated)
		w.as(t, "cleo").delete("/points/reservation/"+held.text("id")).refused(http.StatusNotFound, "not_found")
		ann.delete("/points/reservation/" + held.text("id")).is(http.StatusNoContent)
		require.Equal(t, 1_500, ann.get("/points").number("balance"))
		keyed.post("/points/redeem/POINTS25", nil).refused(http.StatusConflict, "reservation_closed")

		ann.post("/points/redeem/POINTS25", nil).is(http.StatusCreated)
		ann.pays(ann.checkout(cart).is(http.StatusCreated))
		require.Equal(t, 1_000, ann.get("/points").number("balance"))

		poor := w.as(t, "ben").post("/points/redeem/POINTS25", nil).refused(http.StatusUnprocessableEntity, "points_not_redeemed")
		require.Contains(t, poor.text("detail"), "enough points")
		require.Equal(t, 250, w.as(t, "ben").get("/points").number("balance"))
		w.as(t, "ann").post("/points/redeem/SUMMER10", nil).refused(http.StatusUnprocessableEntity, "invalid_input")
		w.as(t, "ann").post("/points/redeem/NOWHERE", nil).refused(http.StatusNotFound, "coupon_not_found")
	})
}

// TestAKeyBringsTheFirstAnswerBack: contract section 8, Idempotency-Key.
func TestAKeyBringsTheFirstAnswerBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.as(t, "ann").withKey("one")
	cart := object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "SUMMER10"}
	first := ann.checkout(cart).is(http.StatusCreated)
	second := ann.checkout(cart).is(http.StatusCreated)
	require.JSONEq(t, string(first.body), string(second.body))
	require.Empty(t, first.header.Get("Idempotency-Replayed"))
	require.Equal(t, "true", second.header.Get("Idempotency-Replayed"))
	ann.checkout(with(cart, object{"couponCode": "PLAN20"})).refused(http.StatusUnprocessableEntity, "idempotency_key_reused")
	other := w.as(t, "ben").withKey("one").checkout(cart).is(http.StatusCreated)
	require.NotEqual(t, first.text("orderId"), other.text("orderId"), "a key is the customer's own")
	ann.withKey("with space").checkout(cart).refused(http.StatusUnprocessableEntity, "invalid_input")
	ann.withKey(strings.Repeat("k", 300)).checkout(cart).refused(http.StatusUnprocessableEntity, "invalid_input")
}

// TestAKeyOfAnOrderThatHasEnded: its link leads nowhere, so that the first answer is
// not given again; that of an order which was paid is.
func TestAKeyOfAnOrderThatHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.as(t, "ann")
	cart := object{"lines": []object{line("plan", "basic", 1)}}
	paid := ann.withKey("paid").checkout(cart).is(http.StatusCreated)
	ann.pays(paid)
	require.JSONEq(t, string(paid.body), string(ann.withKey("paid").checkout(cart).is(http.StatusCreated).body))

	ended := ann.withKey("ended").checkout(cart).is(http.StatusCreated)
	ann.onPaymentPage(ended.text("url"), "expire").is(http.StatusSeeOther)
	ann.reaches(ended.text("orderId"), "cancelled")
	ann.withKey("ended").checkout(cart).refused(http.StatusConflict, "order_ended")

	link := object{"mode": "subscription", "lines": cart["lines"]}
	linked := ann.withKey("link").post("/payment/payment-link", link).is(http.StatusCreated)
	ann.onPaymentPage(linked.text("url"), "expire").is(http.StatusSeeOther)
	eventually(t, "the link has ended", func() bool {
		return ann.withKey("link").post("/payment/payment-link", link).status == http.StatusConflict
	})
}

// TestPricesComeFromTheCatalogue: a browser cannot send one, and what it expects is
// only compared (spec 4.5, 7 no. 10).
func TestPricesComeFromTheCatalogue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.as(t, "ann")
	totals := object{"subtotal": "9.99", "discount": "0", "shipping": "0", "total": "9.99"}
	for name, test := range map[string]struct {
		body any
		want map[string]string
	}{
		"a price":         {object{"lines": []object{{"kind": "plan", "itemId": "basic", "quantity": 1, "unitPrice": "0.01"}}, "expected": totals}, map[string]string{"lines[0].unitPrice": "unknown"}},
		"no totals":       {object{"lines": []object{line("plan", "basic", 1)}}, map[string]string{"expected": "required"}},
		"odd totals":      {object{"lines": []object{line("plan", "basic", 1)}, "expected": object{"subtotal": "9.999", "discount": "x", "shipping": "0", "total": "9.99"}}, map[string]string{"expected.subtotal": "too_many_decimals", "expected.discount": "malformed"}},
		"unknown items":   {object{"lines": []object{line("plan", "gold", 1), line("device", "basic", 0)}, "shippingOptionId": "mule", "expected": totals}, map[string]string{"lines[0].itemId": "unknown", "lines[1].itemId": "unknown", "lines[1].quantity": "too_small", "shippingOptionId": "unknown"}},
		"no shipping":     {object{"lines": []object{line("device", "watch", 1)}, "expected": totals}, map[string]string{"shippingOptionId": "required"}},
		"nothing to ship": {object{"lines": []object{line("plan", "basic", 1)}, "shippingOptionId": "standard", "expected": totals}, map[string]string{"shippingOptionId": "not_allowed"}},
		"shipping lines":  {object{"lines": []object{line("shipping", "pickup", 1)}, "expected": totals}, map[string]string{"lines[0].kind": "not_allowed"}},
		"an empty cart":   {object{"lines": []object{}, "expected": totals}, map[string]string{"lines": "required"}},
		"too many":        {object{"lines": []object{line("plan", "basic", 10_000)}, "expected": totals}, map[string]string{"lines[0].quantity": "too_large"}},
		"no JSON":         {`{"lines":`, map[string]string{"": "malformed"}},
		"twice":           {`{"couponCode":"A","couponCode":"B"}`, map[string]string{"couponCode": "malformed", "lines": "required", "expected": "required"}},
		"rules too":       {object{"lines": []object{line("plan", "gold", 1)}, "expected": totals, "tip": "1", "couponCode": 5}, map[string]string{"lines[0].itemId": "unknown", "tip": "unknown", "couponCode": "malformed"}},
		"lines of sorts":  {object{"lines": []any{line("plan", "gold", 1), 5}, "expected": object{"subtotal": "9.999", "discount": "0", "shipping": "0", "total": "0"}, "shippingOptionId": "standard"}, map[string]string{"lines[0].itemId": "unknown", "lines[1]": "malformed", "expected.subtotal": "too_many_decimals"}},
	} {
		a := ann.post("/payment/cart-checkout", test.body).refused(http.StatusUnprocessableEntity, "invalid_input")
		require.Equal(t, test.want, a.fields(), name)
	}
	wrong := ann.post("/payment/cart-checkout", object{"lines": []object{line("plan", "basic", 1)}, "expected": with(totals, object{"total": "5"})})
	wrong.refused(http.StatusUnprocessableEntity, "cart_totals_invalid")
	require.Equal(t, "total", wrong.text("params.field"))
	require.Empty(t, w.Simulator.Fake().Sessions(), "nothing was opened")
}

// TestPaymentLinks: spec 4.6. A subscription is discounted on its eligible lines; a
// product's amount is charged as it is, and the coupon is counted.
func TestPaymentLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, admin := w.as(t, "ann"), w.as(t, "admin")
	subscription := object{
		"mode": "subscription", "shippingOptionId": "standard", "couponCode": "PLAN20",
		"lines": []object{line("plan", "plus", 1), line("device", "watch", 1)},
	}
	link := ann.withKey("sub-1").post("/payment/payment-link", subscription).is(http.StatusCreated)
	product := object{"mode": "product", "amount": "80.00", "currency": "EUR", "couponCode": "SUMMER10"}
	second := ann.post("/payment/payment-link", product).is(http.StatusCreated)
	sessions := w.Simulator.Fake().Sessions()
	require.Len(t, sessions, 2)
	require.EqualValues(t, 19_99-4_00+229_00+4_90, sessions[0].Total)
	require.EqualValues(t, 80_00, sessions[1].Total)
	for _, l := range []answer{link, second} {
		ann.onPaymentPage(l.text("url"), "pay").is(http.StatusSeeOther)
	}
	for _, code := range []string{"PLAN20", "SUMMER10"} {
		eventually(t, code+" is counted", func() bool {
			return admin.get("/admin/coupon/all?search="+code).number("items.0.usedCount") == 1
		})
	}
	for name, test := range map[string]struct {
		body object
		want map[string]string
	}{
		"no mode":                  {object{"lines": []object{line("plan", "plus", 1)}}, map[string]string{"mode": "required"}},
		"a price of its own":       {with(subscription, object{"amount": "1", "currency": "EUR"}), map[string]string{"amount": "not_allowed", "currency": "not_allowed"}},
		"a subscription without":   {object{"mode": "subscription", "lines": []object{line("device", "watch", 1)}, "shippingOptionId": "pickup"}, map[string]string{"lines": "required"}},
		"a product with lines":     {with(product, object{"lines": []object{line("plan", "plus", 1)}, "shippingOptionId": "pickup"}), map[string]string{"lines": "not_allowed", "shippingOptionId": "not_allowed"}},
		"a product for nothing":    {with(product, object{"amount": "0"}), map[string]string{"amount": "too_small"}},
		"a product of no currency": {object{"mode": "product", "amount": "5"}, map[string]string{"currency": "required"}},
		"a product of nothing":     {object{"mode": "product"}, map[string]string{"amount": "required", "currency": "required"}},
		"less than nothing":        {object{"mode": "product", "amount": "-5.001"}, map[string]string{"amount": "too_small", "currency": "required"}},
		"rules too":                {with(product, object{"amount": "-5", "currency": 5, "tip": "1"}), map[string]string{"amount": "too_small", "currency": "malformed", "tip": "unknown"}},
		"too fine":                 {with(product, object{"amount": "5.001"}), map[string]string{"amount": "too_many_decimals"}},
	} {
		a := ann.post("/payment/payment-link", test.body).refused(http.StatusUnprocessableEntity, "invalid_input")
		require.Equal(t, test.want, a.fields(), name)
	}
	ann.post("/payment/payment-link", with(product, object{"couponCode": "OLD"})).refused(http.StatusUnprocessableEntity, "coupon_expired")
	ann.post("/payment/payment-link", with(product, object{"couponCode": "NOPE"})).refused(http.StatusNotFound, "coupon_not_found")
	ann.post("/payment/payment-link", with(product, object{"couponCode": "NOPE", "amount": "0.49"})).refused(http.StatusNotFound, "coupon_not_found")
}

// TestAFreeOrderNeedsNoMoney: 100 % leaves the shipping, and without shipping
// nothing (contract section 2.5).
func TestAFreeOrderNeedsNoMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.as(t, "ann")
	cart := object{"lines": []object{line("accessory", "earbuds", 2)}, "shippingOptionId": "pickup", "couponCode": "FREEBIE"}
	bought := ann.checkout(cart).is(http.StatusCreated)
	require.Equal(t, "0.00", bought.text("quote.total"))
	ann.pays(bought)
}

// TestTheLastUse: two customers at once, one gets it (contract section 5.2).
func TestTheLastUse(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		admin := w.as(t, "admin")
		admin.creates(object{"code": "RACE", "maxUses": 3, "maxUsesPerUser": nil})
		body := object{
			"lines": []object{line("plan", "basic", 1)}, "couponCode": "RACE",
			"expected": object{"subtotal": "9.99", "discount": "1.00", "shipping": "0", "total": "8.99"},
		}
		const buyers = 12
		names := []string{"ann", "ben", "cleo"}
		people := make([]*browser, len(names))
		for i, name := range names {
			people[i] = w.as(t, name)
		}
		answers := make(chan answer, buyers)
		for i := range buyers {
			go func() { answers <- people[i%len(people)].post("/payment/cart-checkout", body) }()
		}
		opened := map[string]bool{}
		for range buyers {
			if a := <-answers; a.status == http.StatusCreated {
				opened[a.text("orderId")] = true
			} else if a.status != http.StatusConflict {
				a.refused(http.StatusUnprocessableEntity, "usage_limit_reached")
			}
		}
		c := admin.get("/admin/coupon/all?search=RACE")
		require.Equal(t, 3, c.number("items.0.reservedCount"))
		require.GreaterOrEqual(t, len(opened), 3)
	})
}

// TestAnOrderIsCancelled: contract section 5.3. The customer no longer wants to pay. Place and
// points are free at once, and the session cannot be paid any more.
func TestAnOrderIsCancelled(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		ann, ben := w.as(t, "ann"), w.as(t, "ben")
		cart := object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "LASTONE"}
		bought := ann.checkout(cart).is(http.StatusCreated)
		id := object{"orderId": bought.text("orderId")}
		ben.post("/payment/cancel", id).refused(http.StatusNotFound, "not_found")
		w.browser(t).post("/payment/cancel", id).refused(http.StatusUnauthorized, "user_required")
		for range 2 {
			cancelled := ann.post("/payment/cancel", id).is(http.StatusOK)
			require.Equal(t, "cancelled", cancelled.text("state"))
			require.Equal(t, string(ann.get("/order/"+bought.text("orderId")).body), string(cancelled.body))
		}
		ann.onPaymentPage(bought.text("url"), "pay").is(http.StatusConflict)
		late := ben.checkout(cart).is(http.StatusCreated)
		ben.onPaymentPage(late.text("url"), "pay").is(http.StatusSeeOther)
		ben.post("/payment/cancel", object{"orderId": late.text("orderId")}).refused(http.StatusConflict, "order_paid")
		require.Equal(t, "paid", ben.get("/order/"+late.text("orderId")).text("state"))
	})
}

// TestWhatNamesNoOrder: every fault of the request is told, and no text fails the service.
func TestWhatNamesNoOrder(t *testing.T) {
	t.Parallel()
	ann := newWorld(t).as(t, "ann")
	require.Equal(t, map[string]string{"orderId": "required"}, ann.post("/payment/cancel", object{}).refused(http.StatusUnprocessableEntity, "invalid_input").fields())
	require.Equal(t, map[string]string{"orderId": "malformed"}, ann.post("/payment/cancel", object{"orderId": 7}).refused(http.StatusUnprocessableEntity, "invalid_input").fields())
	for _, id := range []string{"ord_none", "\x00", "../admin", "ö"} {
		ann.post("/payment/cancel", object{"orderId": id}).refused(http.StatusNotFound, "not_found")
	}
}
