package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
)

// allows reports whether the document allows a request with this body.
func (d *description) allows(t *testing.T, method, path string, body object) bool {
	t.Helper()
	sent, err := json.Marshal(body)
	require.NoError(t, err)
	err = d.valid([]string{"paths", path, strings.ToLower(method), "requestBody", "content", "application/json", "schema"}, sent)
	var mistake *jsonschema.ValidationError
	if err != nil {
		require.ErrorAs(t, err, &mistake)
	}
	return err == nil
}

// agrees sends a body and requires that it is taken if the document allows it, and
// refused if not. The path is that of the document.
func (b *browser) agrees(method, path, id string, body object) {
	b.t.Helper()
	d, err := described()
	require.NoError(b.t, err)
	a := b.do(method, strings.Replace(path, "{id}", id, 1), body)
	taken, allowed := a.status < http.StatusBadRequest, d.allows(b.t, method, path, body)
	if taken != allowed {
		b.t.Errorf("%s of %.200s is %d, and allowed by the document: %v", a.of, fmt.Sprint(body), a.status, allowed)
	}
}

// terms are one field of a coupon each, at the edge of what it may be. Where a field
// depends on another, that one fits.
func terms() []object {
	selected := func(ids ...any) object { return object{"appliesTo": "SPECIFIC", "planIds": ids} }
	points := func(n int64) object { return object{"distribution": "POINTS_REDEEMABLE", "pointsRequired": n} }
	changes := []object{
		selected("plus"), selected(nil), selected(""), selected(strings.Repeat("ü", 256)),
		selected(slices.Repeat([]any{"plus"}, 10_000)...), selected(slices.Repeat([]any{"plus"}, 10_001)...),
		points(1_000_000_000_000), points(1_000_000_000_001),
	}
	for field, values := range map[string][]any{
		"name":              {nil, "", strings.Repeat("ü", 255), strings.Repeat("ü", 256)},
		"description":       {nil, strings.Repeat("ü", 2_000), strings.Repeat("ü", 2_001)},
		"appliesTo":         {nil, "", "all"},
		"planIds":           {nil, []string{}, "plus"},
		"deviceIds":         {nil, []string{}, "watch"},
		"accessoryIds":      {nil, []string{}, "case"},
		"distribution":      {nil, "", "general"},
		"allowedUserEmails": {nil, "", []string{}, []any{nil}},
		"pointsRequired":    {nil, 0, -1, "5", json.Number("0.0")},
		"maxUses":           {nil, 0, 1, "1", 1.5, json.Number("1.0"), json.Number("1e0")},
		"maxUsesPerUser":    {nil, 0, 1, "1", 1.5, json.Number("10e-1"), json.Number("15e-1")},
		"minPurchase":       {nil, "", 0, "1e1", "1,50", true, strings.Repeat("0", 62) + ".5", strings.Repeat("0", 63) + ".5"},
		"startsAt":          {nil, "", "2026-11-20", "2026-02-30", "20.11.2026", "2026-11-20T12:00:00+01:00", "2026-11-20T12:00:00"},
		"expiresAt":         {nil, "", "2026-12-31", "2026-12-31T12:00:00Z", "2026-12-31 12:00:00Z", 5},
	} {
		for _, value := range values {
			changes = append(changes, object{field: value})
		}
	}
	return changes
}

// TestTheDocumentTellsWhatADraftMayBe: null, empty values, letter case and bounds.
func TestTheDocumentTellsWhatADraftMayBe(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	for i, change := range append(
		terms(),
		object{"code": nil}, object{"code": ""}, object{"discountType": nil}, object{"discountType": "percentage"},
		object{"discountValue": nil}, object{"discountValue": ""}, object{"discountValue": 12.5}, object{"discountValue": "12.50"},
		object{"currency": nil}, object{"currency": ""}, object{"currency": "usd"}, object{"currency": "EURO"},
		object{"id": "cpn_1"}, object{"active": true}, object{"revision": 1},
	) {
		draft := object{"code": fmt.Sprint("DRAFT-", i), "name": "Draft", "discountType": "PERCENTAGE", "discountValue": "10"}
		admin.agrees("POST", "/admin/coupon", "", with(draft, change))
	}
}

// TestTheDocumentTellsWhatAChangeMayBe: the same for a coupon that there is.
func TestTheDocumentTellsWhatAChangeMayBe(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	id := admin.creates(object{"code": "CHANGED"}).text("id")
	plain := object{"appliesTo": nil, "planIds": nil, "distribution": nil, "pointsRequired": nil}
	for _, change := range append(
		terms(),
		object{}, object{"code": "changed"}, object{"code": nil}, object{"discountType": nil}, object{"discountValue": "10.0"}, object{"discountValue": nil},
		object{"currency": "eur"}, object{"currency": nil}, object{"revision": nil}, object{"revision": "1"}, object{"revision": json.Number("1.5")}, object{"active": true},
	) {
		admin.agrees("PATCH", "/admin/coupon/{id}", id, change)
		admin.patch("/admin/coupon/"+id, plain).is(http.StatusOK)
	}
	for _, change := range []object{{"active": true}, {"active": false}, {"active": nil}, {"active": "true"}, {}, {"active": true, "revision": 1}} {
		admin.agrees("PATCH", "/admin/coupon/{id}/status", id, change)
	}
}

// TestACouponIsCopied: what an answer tells of a coupon's terms makes another one.
func TestACouponIsCopied(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	original := admin.creates(object{"code": "ORIGINAL"})
	draft := object{"code": "COPY"}
	for _, field := range []string{
		"name", "discountType", "discountValue", "currency", "description", "appliesTo", "planIds", "deviceIds", "accessoryIds", "distribution",
		"allowedUserEmails", "pointsRequired", "maxUses", "maxUsesPerUser", "minPurchase", "startsAt", "expiresAt",
	} {
		draft[field] = original.value(field)
	}
	admin.post("/admin/coupon", draft).is(http.StatusCreated)
}

// TestTheDocumentTellsWhatACartMayBe: with each call that takes one.
func TestTheDocumentTellsWhatACartMayBe(t *testing.T) {
	t.Parallel()
	ann := newWorld(t).as(t, "ann")
	plan, watch := []object{line("plan", "basic", 1)}, []object{line("device", "watch", 1)}
	totals := object{"subtotal": "9.99", "discount": "0", "shipping": 0, "total": 9.99}
	for _, cart := range []object{
		{"lines": plan},
		{"lines": nil},
		{"lines": []object{}},
		{},
		{"lines": plan, "couponCode": nil},
		{"lines": plan, "couponCode": ""},
		{"lines": plan, "couponCode": 5},
		{"lines": plan, "shippingOptionId": nil},
		{"lines": plan, "shippingOptionId": ""},
		{"lines": plan, "shippingOptionId": 5},
		{"lines": []object{line("plan", "", 1)}},
		{"lines": []object{line("Plan", "basic", 1)}},
		{"lines": []object{line("shipping", "pickup", 1)}},
		{"lines": []object{line("plan", "basic", 0)}},
		{"lines": []object{line("plan", "basic", 10_000)}},
		{"lines": []object{{"kind": "plan", "itemId": "basic", "quantity": "1"}}},
		{"lines": []object{{"kind": "plan", "itemId": "basic", "quantity": json.Number("1.0")}}},
		{"lines": []object{{"kind": "plan", "itemId": "basic", "quantity": json.Number("1.5")}}},
		{"lines": []object{{"kind": "plan", "itemId": "basic"}}},
		{"lines": slices.Repeat(plan, 101)},
		{"lines": []any{nil}},
		{"lines": plan, "currency": "EUR"},
	} {
		ann.agrees("POST", "/payment/quote", "", cart)
		ann.agrees("POST", "/payment/cart-checkout", "", with(cart, object{"expected": totals}))
		ann.agrees("POST", "/payment/payment-link", "", with(cart, object{"mode": "subscription"}))
	}
	ann.agrees("POST", "/payment/quote", "", object{"lines": watch})
	ann.agrees("POST", "/payment/quote", "", object{"lines": watch, "shippingOptionId": "pickup"})
	for _, change := range []object{{}, {"total": nil}, {"total": ""}, {"total": "9,99"}, {"total": "9.990"}, {"total": true}, {"tax": "0"}} {
		ann.agrees("POST", "/payment/cart-checkout", "", object{"lines": plan, "expected": with(totals, change)})
	}
	for _, checkout := range []object{{"lines": plan}, {"lines": plan, "expected": nil}, {"lines": plan, "expected": object{}}} {
		ann.agrees("POST", "/payment/cart-checkout", "", checkout)
	}
}

// TestTheDocumentTellsWhatAPaymentLinkMayBe: each mode has its own fields.
func TestTheDocumentTellsWhatAPaymentLinkMayBe(t *testing.T) {
	t.Parallel()
	ann := newWorld(t).as(t, "ann")
	plan := []object{line("plan", "basic", 1)}
	product := object{"mode": "product", "amount": "80.00", "currency": "EUR"}
	for _, change := range []object{
		{},
		{"mode": nil},
		{"mode": "Product"},
		{"mode": "subscription"},
		{"amount": 80, "currency": "jpy"},
		{"amount": nil},
		{"amount": ""},
		{"currency": nil},
		{"currency": ""},
		{"currency": "EURO"},
		{"couponCode": nil},
		{"couponCode": ""},
		{"couponCode": 5},
		{"lines": plan},
		{"shippingOptionId": "pickup"},
		{"expected": object{}},
	} {
		ann.agrees("POST", "/payment/payment-link", "", with(product, change))
	}
	subscription := object{"mode": "subscription", "lines": plan}
	for _, change := range []object{{}, {"amount": "80"}, {"currency": "EUR"}, {"expected": object{}}} {
		ann.agrees("POST", "/payment/payment-link", "", with(subscription, change))
	}
}

// faulty sends a body whose faults are these and no other.
func (b *browser) faulty(method, path string, body object, want map[string]string) {
	b.t.Helper()
	a := b.do(method, path, body).refused(http.StatusUnprocessableEntity, "invalid_input")
	if diff := cmp.Diff(want, a.fields()); diff != "" {
		b.t.Errorf("%s of %v (-want +got):\n%s", a.of, body, diff)
	}
}

// lacking is the body in which a field is not given: it is absent, or null.
func lacking(body object, field string) []object {
	absent := with(body, nil)
	delete(absent, field)
	return []object{absent, with(body, object{field: nil})}
}

// TestWhatIsNotGivenIsRequired: contract section 7, of every call that needs a field.
func TestWhatIsNotGivenIsRequired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, ann := w.as(t, "admin"), w.as(t, "ann")
	draft := object{"code": "DRAFT", "name": "Draft", "discountType": "PERCENTAGE", "discountValue": "10"}
	status := "/admin/coupon/" + admin.creates(object{"code": "SWITCHED"}).text("id") + "/status"
	totals := object{"subtotal": "229.00", "discount": "0", "shipping": "0", "total": "229.00"}
	checkout := object{"lines": []object{line("device", "watch", 1)}, "shippingOptionId": "pickup", "expected": totals}
	for _, call := range []struct {
		by           *browser
		method, path string
		body         object
		fields       []string
	}{
		{admin, "POST", "/admin/coupon", draft, []string{"code", "name", "discountType", "discountValue"}},
		{admin, "PATCH", status, object{"active": true}, []string{"active"}},
		{ann, "POST", "/payment/quote", object{"lines": []object{}}, []string{"lines"}},
		{ann, "POST", "/payment/cart-checkout", checkout, []string{"lines", "shippingOptionId", "expected"}},
		{ann, "POST", "/payment/payment-link", object{"mode": "subscription", "lines": []object{line("plan", "basic", 1)}}, []string{"mode", "lines"}},
		{ann, "POST", "/payment/payment-link", object{"mode": "product", "amount": "80.00", "currency": "EUR"}, []string{"mode", "amount", "currency"}},
		{w.browser(t), "POST", "/login", object{"email": "ann@example.org", "password": "wrong"}, []string{"email", "password"}},
	} {
		for _, field := range call.fields {
			for _, body := range lacking(call.body, field) {
				call.by.faulty(call.method, call.path, body, map[string]string{field: "required"})
			}
		}
	}
	for field := range totals {
		for _, lack := range lacking(totals, field) {
			ann.faulty("POST", "/payment/cart-checkout", with(checkout, object{"expected": lack}), map[string]string{"expected." + field: "required"})
		}
	}
}

// TestWhatALineDoesNotGiveIsRequired: the same of the lines of a cart. What is given
// and wrong keeps its own code.
func TestWhatALineDoesNotGiveIsRequired(t *testing.T) {
	t.Parallel()
	ann := newWorld(t).as(t, "ann")
	plan := line("plan", "basic", 1)
	totals := object{"subtotal": "9.99", "discount": "0", "shipping": "0", "total": "9.99"}
	for path, rest := range map[string]object{
		"/payment/quote": {}, "/payment/cart-checkout": {"expected": totals}, "/payment/payment-link": {"mode": "subscription"},
	} {
		for field := range plan {
			for _, lack := range lacking(plan, field) {
				ann.faulty("POST", path, with(rest, object{"lines": []object{plan, lack}}), map[string]string{"lines[1]." + field: "required"})
			}
		}
		ann.faulty("POST", path, with(rest, object{"lines": []object{plan, {}}}), map[string]string{
			"lines[1].kind": "required", "lines[1].itemId": "required", "lines[1].quantity": "required",
		})
		ann.faulty("POST", path, with(rest, object{"lines": []object{plan, line("", "basic", 1)}}), map[string]string{"lines[1].kind": "unknown"})
		ann.faulty("POST", path, with(rest, object{"lines": []object{plan, line("plan", "gold", 0)}}), map[string]string{
			"lines[1].itemId": "unknown", "lines[1].quantity": "too_small",
		})
	}
	ann.faulty("POST", "/payment/payment-link", object{"mode": "", "lines": []object{plan}}, map[string]string{"mode": "unknown"})
	ann.faulty("POST", "/payment/cart-checkout", object{"lines": []object{plan}, "expected": "9.99"}, map[string]string{"expected": "malformed"})
}

// TestWhatCannotBeReadHidesNothingElse: contract section 6, an error lists every
// offending field. What depends on a value that could not be read is not told.
func TestWhatCannotBeReadHidesNothingElse(t *testing.T) {
	t.Parallel()
	ann := newWorld(t).as(t, "ann")
	plan, watch := line("plan", "basic", 1), line("device", "watch", 1)
	lines := func(all ...any) object { return object{"lines": all} }
	for _, row := range []struct {
		body object
		want map[string]string
	}{
		{lines(line("foo", "x", 1), line("device", "nope", 0)), map[string]string{
			"lines[0].kind": "unknown", "lines[1].itemId": "unknown", "lines[1].quantity": "too_small",
		}},
		{lines(plan, object{"kind": "plan", "itemId": "gold", "quantity": "1", "price": 5}), map[string]string{
			"lines[1].itemId": "unknown", "lines[1].quantity": "malformed", "lines[1].price": "unknown",
		}},
		{lines(nil, 5, line("plan", "basic", 0)), map[string]string{
			"lines[0]": "malformed", "lines[1]": "malformed", "lines[2].quantity": "too_small",
		}},
		{with(lines(line("foo", "x", 1)), object{"shippingOptionId": "pickup"}), map[string]string{"lines[0].kind": "unknown"}},
		{with(lines(line("foo", "x", 1), plan), object{"shippingOptionId": "never"}), map[string]string{
			"lines[0].kind": "unknown", "shippingOptionId": "unknown",
		}},
	} {
		ann.faulty("POST", "/payment/quote", row.body, row.want)
	}
	ann.faulty("POST", "/payment/payment-link", with(lines(line("foo", "x", 1), watch), object{"mode": "subscription"}), map[string]string{
		"lines[0].kind": "unknown", "shippingOptionId": "required",
	})
	ann.faulty("POST", "/payment/cart-checkout", with(lines(plan), object{"expected": object{"subtotal": "1.234", "discount": true}}), map[string]string{
		"expected.subtotal": "too_many_decimals", "expected.discount": "malformed", "expected.shipping": "required", "expected.total": "required",
	})
}

// TestEveryParameterIsJudged: contract section 6: every offending field is named, those of
// an address and of headers as well.
func TestEveryParameterIsJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, ann := w.as(t, "admin"), w.as(t, "ann")
	admin.loose, ann.loose = true, true
	long := strings.Repeat("%D0%96", 256)
	many := make([]object, 101)
	for i := range many {
		many[i] = line("device", "watch", 1)
	}
	ann.header = http.Header{"Idempotency-Key": {"a", "b"}}
	for name, test := range map[string]struct {
		answer answer
		want   map[string]string
	}{
		"a page and a search": {admin.get("/admin/coupon/all?page=0&search=" + long), map[string]string{"page": "too_small", "search": "too_long"}},
		"a search":            {admin.get("/admin/coupon/all?search=" + long), map[string]string{"search": "too_long"}},
		"numbers of any size": {
			admin.get("/admin/coupon/all?page=99999999999999999999&pageSize=-99999999999999999999"),
			map[string]string{"page": "too_large", "pageSize": "too_small"},
		},
		"lines and shipping": {
			ann.post("/payment/quote", object{"lines": many, "shippingOptionId": "none"}),
			map[string]string{"lines": "too_long", "shippingOptionId": "unknown"},
		},
		"half of a surrogate pair": {
			ann.post("/payment/quote", `{"lines":[{"kind":"device","itemId":"\ud800","quantity":0}]}`),
			map[string]string{"lines[0].itemId": "malformed", "lines[0].quantity": "too_small"},
		},
		"two keys": {
			ann.post("/payment/cart-checkout", object{"lines": many[:1], "shippingOptionId": "none"}),
			map[string]string{"Idempotency-Key": "malformed", "shippingOptionId": "unknown", "expected": "required"},
		},
	} {
		require.Equal(t, test.want, test.answer.refused(http.StatusUnprocessableEntity, "invalid_input").fields(), name)
	}
	code := strings.Repeat("Ж", coupon.MaxCodeLength)
	admin.creates(object{"code": code})
	require.Len(t, admin.get("/admin/coupon/all?search="+url.QueryEscape(code)).is(http.StatusOK).list("items"), 1)
}

// TestAClientsFaultIsNoFailure: what a file cannot be asked for is no failure of the
// service.
func TestAClientsFaultIsNoFailure(t *testing.T) {
	t.Parallel()
	b := newWorld(t).browser(t)
	b.loose = true
	for status, header := range map[int]http.Header{
		http.StatusRequestedRangeNotSatisfiable: {"Range": {"bytes=9999999-"}},
		http.StatusPreconditionFailed:           {"If-Match": {`"x"`}},
	} {
		b.header = header
		b.get("/docs/docs.css").refused(status, "bad_request")
	}
}

// TestADateThatSaysNever: the last date that there is can be the expiry.
func TestADateThatSaysNever(t *testing.T) {
	t.Parallel()
	c := newWorld(t).as(t, "admin").creates(object{"code": "NEVER", "expiresAt": "9999-12-31"})
	require.Equal(t, "9999-12-31T23:59:59.999999Z", c.text("expiresAt"))
}
