package app_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// sold is an order of ann: two plans with a coupon of 10 %, and shipping.
func (w *world) sold(t *testing.T) (order string) {
	t.Helper()
	ann := w.as(t, "ann")
	bought := ann.checkout(object{
		"lines": []object{line("accessory", "case", 3)}, "couponCode": "SUMMER10", "shippingOptionId": "standard",
	}).is(http.StatusCreated)
	ann.pays(bought)
	return bought.text("orderId")
}

// TestOrdersAreListedForAdministrators: by customer, state and day, page by page.
func TestOrdersAreListedForAdministrators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.sold(t)
	w.clock.advance(24 * time.Hour)
	second := w.sold(t)
	w.clock.advance(time.Second)
	open := w.as(t, "ben").checkout(object{"lines": []object{line("plan", "basic", 1)}}).is(http.StatusCreated).text("orderId")
	admin := w.as(t, "admin")
	customer := admin.get("/admin/order/" + first).is(http.StatusOK).text("customerId")
	for query, want := range map[string][]string{
		"":                                      {open, second, first},
		"?customer=" + customer:                 {second, first},
		"?state=open":                           {open},
		"?state=paid&until=2026-11-20":          {first},
		"?from=2026-11-21":                      {open, second},
		"?from=2026-11-20T12:00:01Z&state=paid": {second},
		"?customer=nobody":                      {},
	} {
		got := []string{}
		for _, item := range admin.get("/admin/order/all" + query).is(http.StatusOK).list("items") {
			got = append(got, item.(map[string]any)["id"].(string))
		}
		require.Equal(t, want, got, query)
	}
	page := admin.get("/admin/order/all?pageSize=2").is(http.StatusOK)
	require.Len(t, page.list("items"), 2)
	require.Equal(t, first, admin.get("/admin/order/all?pageSize=2&after="+page.text("next")).text("items.0.id"))
	for query, field := range map[string]string{
		"state=sold": "state", "from=yesterday": "from", "from=2026-11-21&until=2026-11-20": "until", "after=x": "after", "pageSize=0": "pageSize", "due=1": "due",
	} {
		require.Contains(t, admin.get("/admin/order/all?"+query).refused(http.StatusUnprocessableEntity, "invalid_input").fields(), field)
	}
	for _, path := range []string{"/admin/order/all", "/admin/order/" + first, "/admin/coupon/x/history"} {
		w.as(t, "ann").get(path).refused(http.StatusForbidden, "administrator_required")
		w.browser(t).get(path).refused(http.StatusUnauthorized, "user_required")
	}
	admin.get("/admin/order/ord_none").refused(http.StatusNotFound, "not_found")
}

// TestUnitsAreRefunded: what is shown before is what is refunded, and a key refunds once.
func TestUnitsAreRefunded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	order := "/admin/order/" + w.sold(t)
	admin := w.as(t, "admin")
	sold := admin.get(order).is(http.StatusOK)
	require.Equal(t, 3, sold.number("lines.0.left"))
	one := object{"returns": []object{{"line": 0, "quantity": 1}}}
	shown := admin.post(order+"/refund/preview", one).is(http.StatusOK)
	require.Empty(t, admin.get(order).list("refunds"), "a preview changes nothing")
	require.Equal(t, "SUMMER10", shown.text("coupons.0.code"))
	made := admin.withKey("one").post(order+"/refund", one).is(http.StatusCreated)
	require.Equal(t, shown.text("amount"), made.text("amount"))
	require.Equal(t, made.text("id"), admin.withKey("one").post(order+"/refund", one).is(http.StatusCreated).text("id"))
	admin.withKey("one").post(order+"/refund", object{"all": true}).refused(http.StatusUnprocessableEntity, "idempotency_key_reused")
	left := admin.get(order)
	require.Equal(t, []any{2, "partly_refunded", made.text("amount")}, []any{left.number("lines.0.left"), left.text("state"), left.text("refunded")})
	for field, body := range map[string]object{
		"returns[0].quantity": {"returns": []object{{"line": 0, "quantity": 3}}}, "returns[0].line": {"returns": []object{{"line": 9, "quantity": 1}}}, "returns": {},
	} {
		require.Contains(t, admin.post(order+"/refund/preview", body).refused(http.StatusUnprocessableEntity, "invalid_input").fields(), field)
		require.Contains(t, admin.withKey("bad").post(order+"/refund", body).refused(http.StatusUnprocessableEntity, "invalid_input").fields(), field)
	}
	require.Contains(t, admin.withKey("").post(order+"/refund", one).refused(http.StatusUnprocessableEntity, "invalid_input").fields(), "key")
	admin.withKey("rest").post(order+"/refund", object{"all": true}).is(http.StatusCreated)
	whole := admin.get(order)
	require.Equal(t, []string{"refunded", whole.text("total")}, []string{whole.text("state"), whole.text("refunded")})
	open := "/admin/order/" + w.as(t, "ben").checkout(object{"lines": []object{line("plan", "basic", 1)}}).is(http.StatusCreated).text("orderId")
	admin.post(open+"/refund/preview", object{"all": true}).refused(http.StatusConflict, "conflict")
	admin.withKey("open").post(open+"/refund", object{"all": true}).refused(http.StatusConflict, "conflict")
	w.as(t, "ann").post(order+"/refund", one).refused(http.StatusForbidden, "administrator_required")
	admin.csrf = "another"
	admin.post(order+"/refund", one).refused(http.StatusForbidden, "csrf_token_invalid")
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// sends sends a form as a browser without scripts does.
func (b *browser) sends(path string, form url.Values) answer {
	b.t.Helper()
	loose := *b
	loose.loose, loose.csrf = true, ""
	loose.header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	return loose.do("POST", path, form.Encode())
}

// TestUnitsAreRefundedWithoutScripts: the page shows a refund before it is made, and makes it once.
func TestUnitsAreRefundedWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/admin/orders/" + w.sold(t)
	admin, strict := w.as(t, "admin"), w.as(t, "admin")
	admin.loose = true
	require.NotContains(t, string(admin.get(path).is(http.StatusOK).body), "would be refunded")
	shown := string(admin.get(path + "?show=units&units0=2&shipping=true").is(http.StatusOK).body)
	require.Contains(t, shown, "This would be refunded")
	form := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(shown, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	require.Equal(t, "2", form.Get("units0"))
	sold := func() answer { return strict.get("/admin/order/" + path[len("/admin/orders/"):]) }
	require.Empty(t, sold().list("refunds"))

	for name, wrong := range map[string]string{"csrf": "another", "amount": "0.01", "units0": "9"} {
		require.GreaterOrEqual(t, admin.sends(path, changedForm(form, name, wrong)).status, http.StatusBadRequest, name)
	}
	w.as(t, "ann").sends(path, form).page(http.StatusForbidden, "Administrators only")
	require.Equal(t, "/login?next="+url.QueryEscape(path), w.browser(t).sends(path, form).is(http.StatusSeeOther).header.Get("Location"))
	require.Empty(t, sold().list("refunds"), "what is refused refunds nothing")

	for range 2 { // a form that is sent twice
		require.Equal(t, path, admin.sends(path, form).is(http.StatusSeeOther).header.Get("Location"))
	}
	after := sold()
	require.Len(t, after.list("refunds"), 1)
	require.Equal(t, form.Get("amount"), after.text("refunded"))
	require.Contains(t, string(admin.get(path).body), form.Get("amount")+" EUR</strong> by admin@example.org on 20 Nov 2026")
	require.Contains(t, string(admin.get(path+"?show=units&units0=two").is(http.StatusUnprocessableEntity).body), "must be a whole number")
	require.Contains(t, string(admin.get(path+"?show=units").is(http.StatusUnprocessableEntity).body), "returns")
	admin.get("/admin/orders/ord_none").page(http.StatusNotFound, "Order")
	require.Contains(t, string(admin.get("/admin/orders?customer=&state=partly_refunded").is(http.StatusOK).body), path)
	require.Contains(t, string(admin.get("/admin/orders?state=none").is(http.StatusUnprocessableEntity).body), "state: must be")
}

// TestHowTheMoneyGoesBack: the order tells of each refund how far its money went, of refunds and
// disputes at the processor, and what somebody should look at. A failed repayment is tried again, or
// marked as returned elsewhere, without scripts.
func TestHowTheMoneyGoesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.sold(t)
	order, path := "/admin/order/"+id, "/admin/orders/"+id
	admin, ann, page := w.as(t, "admin"), w.as(t, "ann"), w.as(t, "admin")
	page.loose = true
	shows := func(texts ...string) string {
		t.Helper()
		shown := string(page.get(path).is(http.StatusOK).body)
		for _, text := range texts {
			require.Contains(t, shown, text)
		}
		return shown
	}
	fake := w.Simulator.Fake()
	session := fake.Sessions()[0].ID
	one := object{"returns": []object{{"line": 0, "quantity": 1}}}
	require.Nil(t, admin.get(order).value("flag"))

	fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.Refund, Kind: fakeprocessor.Refuse, Err: fmt.Errorf("<b>closed</b>: %w", processor.ErrRejected)})
	failed := admin.withKey("one").post(order+"/refund", one).is(http.StatusCreated)
	require.Equal(t, []any{"failed", 1, "admin@example.org", "one"}, []any{failed.text("repayment.state"), failed.number("repayment.attempt"), failed.text("by"), failed.text("key")})
	require.Contains(t, failed.text("repayment.failure"), "closed")
	sold := admin.get(order)
	require.Equal(t, []string{"refund_failed", "22.41", "0.00"}, []string{sold.text("flag"), sold.text("refunded"), sold.text("returned")})
	require.Equal(t, []any{map[string]any{"line": 0.0, "quantity": 1.0}}, sold.list("refunds.0.returns.returns"))
	shown := shows("The money of a refund did not go back", "by admin@example.org", "&lt;b&gt;closed&lt;/b&gt;", "Try again", "Mark as returned elsewhere")
	require.NotContains(t, shown, "<b>closed")
	require.Equal(t, []any{"failed", "0.00"}, []any{ann.get("/order/" + id).text("refunds.0.state"), ann.get("/order/" + id).text("refunded")})
	require.NotContains(t, string(ann.get("/order/"+id).body), "closed", "the reason is for staff")

	again := url.Values{"csrf": {html.UnescapeString(csrfField.FindStringSubmatch(shown)[1])}, "again": {failed.text("id")}}
	for field, wrong := range map[string]string{"csrf": "another", "again": "rfd_none"} {
		require.GreaterOrEqual(t, page.sends(path, changedForm(again, field, wrong)).status, http.StatusBadRequest, field)
	}
	ann.sends(path, again).page(http.StatusForbidden, "Administrators only")
	require.Equal(t, "failed", admin.get(order).text("refunds.0.repayment.state"))
	for range 2 {
		require.Equal(t, path, page.sends(path, again).is(http.StatusSeeOther).header.Get("Location"))
	}
	sold = admin.get(order)
	require.Equal(t, []any{"succeeded", 2, nil}, []any{sold.text("refunds.0.repayment.state"), sold.number("refunds.0.repayment.attempt"), sold.value("flag")})
	require.NotContains(t, shows("The payment processor has returned the money."), "Try again")

	require.NoError(t, fake.FailRefund(sold.text("refunds.0.repayment.id"), "account closed"))
	eventually(t, "the failure is known", func() bool { return admin.get(order).value("flag") == "refund_failed" })
	shows("account closed")
	page.sends(path, changedForm(again, "elsewhere", "true")).is(http.StatusSeeOther)
	require.Equal(t, "elsewhere", admin.get(order).text("refunds.0.repayment.state"))

	fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.Refund, Kind: fakeprocessor.LostBefore})
	require.Equal(t, "due", admin.withKey("two").post(order+"/refund", one).is(http.StatusCreated).text("repayment.state"))
	shows("The payment processor has not answered yet.")
	require.Equal(t, "succeeded", admin.withKey("two").post(order+"/refund", one).is(http.StatusCreated).text("repayment.state"))

	_, err := fake.RefundByStaff(session, 5_00)
	require.NoError(t, err)
	eventually(t, "the refund of staff is known", func() bool { return admin.get(order).value("flag") == "external_refund" })
	require.Equal(t, "5.00", admin.get(order).text("externalRefunds.0.amount"))
	shows("Refunds at the payment processor", "<strong>5.00 EUR</strong>")

	preview := admin.post(order+"/refund/preview", object{"all": true, "elsewhere": true}).is(http.StatusOK)
	require.Equal(t, []string{"27.31", "22.31", "elsewhere"}, []string{preview.text("amount"), preview.text("repayment.amount"), preview.text("repayment.state")})
	require.Contains(t, string(page.get(path+"?show=all").body), "The payment processor returns 22.31 EUR.")
	shown = string(page.get(path + "?show=all&elsewhere=true").is(http.StatusOK).body)
	require.Contains(t, shown, "You return 22.31 EUR without the payment processor.")
	form := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(shown[:strings.Index(shown, `id="units-form"`)], -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	page.sends(path, form).is(http.StatusSeeOther)
	sold = admin.get(order)
	require.Equal(t, []string{"refunded", "elsewhere", "72.13"}, []string{sold.text("state"), sold.text("refunds.2.repayment.state"), sold.text("returned")})
	shows("The amount is 22.31 EUR; the rest was returned before.")

	dispute, err := fake.Dispute(session)
	require.NoError(t, err)
	eventually(t, "the dispute is known", func() bool { return admin.get(order).value("flag") == "disputed" })
	shows("The customer disputes the payment.", "The customer&#39;s bank has not decided.")
	require.NoError(t, fake.CloseDispute(dispute, true))
	eventually(t, "the dispute is won", func() bool { return admin.get(order).text("disputes.0.state") == "won" })
	shows("The shop keeps the money.")
	mine := ann.get("/order/" + id).is(http.StatusOK)
	require.Equal(t, "72.13", mine.text("refunded"))
	require.Len(t, mine.list("refunds"), 4)
}

// changedForm is a form with another value of one field.
func changedForm(form url.Values, field, value string) url.Values {
	changed := url.Values{}
	for name := range form {
		changed.Set(name, form.Get(name))
	}
	changed.Set(field, value)
	return changed
}

// TestWhatACouponWasUsedFor: by day in a zone, with discounts and what refunds took back.
func TestWhatACouponWasUsedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.advance(11*time.Hour + 30*time.Minute) // 23:30 UTC is the next day in Berlin
	order := w.sold(t)
	admin := w.as(t, "admin")
	refund := admin.withKey("one").post("/admin/order/"+order+"/refund", object{"returns": []object{{"line": 0, "quantity": 1}}}).is(http.StatusCreated)
	discount := admin.get("/admin/order/" + order).text("discount")
	coupon := "/admin/coupon/" + admin.get("/admin/coupon/SUMMER10").text("id")
	for zone, date := range map[string]string{"": "2026-11-20", "Europe/Berlin": "2026-11-21"} {
		usage := admin.get(coupon + "/usage?days=2&timeZone=" + zone).is(http.StatusOK)
		require.Equal(t, []any{date, 1, 0, 0}, []any{usage.text("days.1.date"), usage.number("days.1.completed"), usage.number("days.1.restored"), usage.number("days.0.completed")})
		require.Equal(t, discount, usage.text("days.1.amounts.0.discount"))
		require.Equal(t, refund.text("coupons.0.discount"), usage.text("days.1.amounts.0.returned"))
	}
	require.Contains(t, admin.get(coupon+"/usage?timeZone=Berlin").refused(http.StatusUnprocessableEntity, "invalid_input").fields(), "timeZone")
	page := *admin
	page.loose = true
	text := string(page.get("/admin/coupons/" + coupon[len("/admin/coupon/"):] + "?days=7&timeZone=Europe/Berlin").is(http.StatusOK).body)
	require.Contains(t, text, `aria-label="1 use in 7 days"`)
	require.Contains(t, text, `<th scope="row">21 Nov 2026</th><td>1</td><td>0</td><td>0</td><td>`+discount+` EUR</td><td>`+refund.text("coupons.0.discount")+` EUR</td>`)
}

// TestWhatChangedOfACoupon: every change with its fields and who made it, the newest first.
func TestWhatChangedOfACoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	coupon := "/admin/coupon/" + admin.creates(object{"code": "TOLD", "name": "<b>Old</b>"}).text("id")
	admin.patch(coupon, object{"name": "New", "maxUses": 5}).is(http.StatusOK)
	admin.patch(coupon+"/status", object{"active": false}).is(http.StatusOK)
	history := admin.get(coupon + "/history").is(http.StatusOK)
	changed := map[string][]any{}
	for _, item := range history.list("items") {
		change := item.(map[string]any)
		require.Equal(t, "admin@example.org", change["by"])
		for _, field := range change["fields"].([]any) {
			f := field.(map[string]any)
			if name := f["field"].(string); change["kind"] == "coupon_changed" {
				changed[name] = []any{f["before"], f["after"]}
			}
		}
	}
	require.Equal(t, []any{"<b>Old</b>", "New"}, changed["name"])
	require.Equal(t, []any{nil, 5.0}, changed["maxUses"])
	require.Equal(t, []any{true, false}, changed["active"])
	require.NotContains(t, changed, "revision")
	first := admin.get(coupon + "/history?pageSize=1").is(http.StatusOK)
	require.Len(t, first.list("items"), 1)
	second := admin.get(coupon + "/history?pageSize=100&before=" + fmt.Sprint(first.number("before"))).is(http.StatusOK)
	require.Len(t, second.list("items"), len(history.list("items"))-1)
	page := *admin
	page.loose = true
	text := string(page.get("/admin/coupons/" + coupon[len("/admin/coupon/"):]).is(http.StatusOK).body)
	require.Contains(t, text, `Name: <del>&lt;b&gt;Old&lt;/b&gt;</del> <ins>New</ins>`)
	require.Contains(t, text, "by admin@example.org")
	admin.delete(coupon).is(http.StatusNoContent)
	require.Equal(t, "coupon_deleted", admin.get(coupon+"/history").is(http.StatusOK).text("items.0.kind"))
	admin.get("/admin/coupon/cpn_none/history").refused(http.StatusNotFound, "coupon_not_found")
}

// TestCouponsAreNarrowed: by state, type, dates, what has expired and what is used up.
func TestCouponsAreNarrowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	admin.creates(object{"code": "NARROW-OFF", "startsAt": "2027-01-01", "expiresAt": "2027-02-01"})
	w.clock.advance(time.Second) // the newest is listed first
	admin.creates(object{"code": "NARROW-SOON", "expiresAt": "2026-11-21T00:00:00Z", "maxUses": 1})
	ann := w.as(t, "ann")
	ann.pays(ann.checkout(object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "NARROW-SOON"}).is(http.StatusCreated))
	admin.patch("/admin/coupon/"+admin.get("/admin/coupon/NARROW-OFF").text("id")+"/status", object{"active": false}).is(http.StatusOK)
	w.clock.advance(24 * time.Hour)
	admin = w.as(t, "admin") // the session has ended
	for query, want := range map[string][]string{
		"":                          {"NARROW-SOON", "NARROW-OFF"},
		"state=inactive":            {"NARROW-OFF"},
		"type=PERCENTAGE":           {"NARROW-SOON", "NARROW-OFF"},
		"type=TIERED":               {},
		"startsFrom=2027-01-01":     {"NARROW-OFF"},
		"startsUntil=2026-12-31":    {},
		"expiresUntil=2026-11-30":   {"NARROW-SOON"},
		"expired=true":              {"NARROW-SOON"},
		"usedUp=true":               {"NARROW-SOON"},
		"usedUp=true&sort=code":     {"NARROW-SOON"},
		"state=active&expired=true": {"NARROW-SOON"},
	} {
		got := []string{}
		for _, item := range admin.get("/admin/coupon/all?search=narrow&" + query).is(http.StatusOK).list("items") {
			got = append(got, item.(map[string]any)["code"].(string))
		}
		require.Equal(t, want, got, query)
	}
	for _, query := range []string{"state=pending", "type=NONE", "startsFrom=x", "expired=false", "usedUp=1", "expiresFrom=2027-01-02&expiresUntil=2027-01-01"} {
		admin.get("/admin/coupon/all?"+query).refused(http.StatusUnprocessableEntity, "invalid_input")
	}
}

// TestAnOrderIsEnding: the answer about a payment page was lost, and the customer cancels. The order keeps
// its coupons until nobody can create the page any more. Customers, administrators and the filter of
// orders see that, and what is due.
func TestAnOrderIsEnding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, admin := w.as(t, "ann"), w.as(t, "admin")
	w.Simulator.Fake().Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostBefore})
	ann.checkout(object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "LASTONE"}).refused(http.StatusServiceUnavailable, "processor_unavailable")
	order := admin.get("/admin/order/all?state=open").is(http.StatusOK).text("items.0.id")
	require.Empty(t, admin.get("/admin/order/"+order).is(http.StatusOK).list("due"), "it can still be paid")

	cancelled := ann.post("/payment/cancel", object{"orderId": order}).is(http.StatusOK)
	require.Equal(t, "ending", cancelled.text("state"))
	require.Equal(t, "ending", ann.get("/order/"+order).is(http.StatusOK).text("state"))
	require.Equal(t, order, admin.get("/admin/order/all?state=ending").is(http.StatusOK).text("items.0.id"))
	sold := admin.get("/admin/order/" + order).is(http.StatusOK)
	require.Equal(t, []any{object{"kind": "end_payment", "since": cancelled.text("updatedAt")}}, sold.list("due"))
	w.as(t, "ben").get("/payment/apply-coupon/LASTONE").refused(http.StatusUnprocessableEntity, "usage_limit_reached")
	page := *admin
	page.loose = true
	require.Contains(t, string(page.get("/admin/orders?state=ending").is(http.StatusOK).body), `<option value="ending" selected>Ending</option>`)
	shown := string(page.get("/admin/orders/" + order).is(http.StatusOK).body)
	require.Contains(t, shown, `id="order-state">Ending<`)
	require.Contains(t, shown, `data-due="end_payment">The payment may still be possible.`)

	w.clock.advance(couponkit.DefaultCreateTime)
	require.Equal(t, "cancelled", ann.post("/payment/cancel", object{"orderId": order}).is(http.StatusOK).text("state"))
	require.Empty(t, admin.get("/admin/order/"+order).is(http.StatusOK).list("due"))
	require.NotContains(t, string(page.get("/admin/orders/"+order).is(http.StatusOK).body), "data-due")
	w.as(t, "ben").get("/payment/apply-coupon/LASTONE").is(http.StatusOK)
}

// TestAnOrderWaitsForThePaymentOfAnEarlierOne: the customer has changed the cart while the first payment
// page may be created. There is no second page before the first one cannot be paid.
func TestAnOrderWaitsForThePaymentOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, admin := w.as(t, "ann"), w.as(t, "admin")
	w.Simulator.Fake().Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostBefore})
	ann.checkout(object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "LASTONE"}).refused(http.StatusServiceUnavailable, "processor_unavailable")
	first := admin.get("/admin/order/all").is(http.StatusOK).text("items.0.id")
	changed, second := object{"lines": []object{line("plan", "basic", 2)}, "couponCode": "LASTONE"}, ann.withKey("second")
	second.checkout(changed).refused(http.StatusConflict, "payment_open")
	replaced := admin.get("/admin/order/" + first).is(http.StatusOK)
	require.Equal(t, []string{"cancelled", "end_payment"}, []string{replaced.text("state"), replaced.text("due.0.kind")})
	require.Empty(t, w.Simulator.Fake().Sessions())

	w.clock.advance(couponkit.DefaultCreateTime)
	ann.pays(second.checkout(changed).is(http.StatusCreated))
	require.Len(t, w.Simulator.Fake().Sessions(), 1)
	require.Empty(t, admin.get("/admin/order/"+first).is(http.StatusOK).list("due"))
}
