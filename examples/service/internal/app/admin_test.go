package app_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
)

func unseeded(c *app.Config) { c.Seed = false }

// TestACouponsLife: contract section 8, the calls of the administration.
func TestACouponsLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	created := admin.post("/admin/coupon", object{
		"code": " spring-15 ", "name": "Spring", "discountType": "PERCENTAGE", "discountValue": 12.5,
		"appliesTo": "PRODUCT", "deviceIds": []string{"watch"}, "maxUses": 5, "minPurchase": "20.00", "expiresAt": "2026-12-31",
	}).is(http.StatusCreated)
	at := "/admin/coupon/" + created.text("id")
	require.Equal(t, at, created.header.Get("Location"))
	for field, want := range map[string]any{
		"code": "SPRING-15", "discountValue": "12.5", "currency": "EUR", "distribution": "GENERAL", "active": true,
		"maxUses": 5.0, "maxUsesPerUser": 1.0, "minPurchase": "20.00", "usedCount": 0.0, "revision": 1.0,
		"expiresAt": "2027-01-01T00:00:00Z", "startsAt": nil, "pointsRequired": nil,
	} {
		if diff := cmp.Diff(want, created.value(field)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	require.NotEmpty(t, created.text("processorCouponId"))
	require.NotEmpty(t, created.text("promotionCodeId"))
	require.JSONEq(t, string(created.body), string(admin.get(at).is(http.StatusOK).body))

	edited := admin.patch(at, object{"name": "Spring again", "maxUses": nil, "revision": 1}).is(http.StatusOK)
	require.Equal(t, "Spring again", edited.text("name"))
	require.Nil(t, edited.value("maxUses"))
	require.Equal(t, 2, edited.number("revision"))
	admin.patch(at, object{"name": "Too late", "revision": 1}).refused(http.StatusConflict, "stale_revision")

	require.Equal(t, false, admin.patch(at+"/status", object{"active": false}).is(http.StatusOK).value("active"))
	w.as(t, "ann").get("/payment/apply-coupon/spring-15").refused(http.StatusNotFound, "coupon_not_found")
	require.Equal(t, true, admin.patch(at+"/status", object{"active": true}).is(http.StatusOK).value("active"))

	admin.delete(at).is(http.StatusNoContent)
	admin.get(at).refused(http.StatusNotFound, "coupon_not_found")
	admin.delete(at).refused(http.StatusNotFound, "coupon_not_found")
	admin.patch(at, object{"name": "Gone"}).refused(http.StatusNotFound, "coupon_not_found")
	admin.patch(at+"/status", object{"active": true}).refused(http.StatusNotFound, "coupon_not_found")
	admin.creates(object{"code": "SPRING-15"}) // a deleted code may be used again
}

// TestEveryFaultOfACouponIsNamed: spec 2.1, 8; contract section 8.
func TestEveryFaultOfACouponIsNamed(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	good := object{"code": "GOOD", "name": "Good", "discountType": "PERCENTAGE", "discountValue": "10"}
	for name, test := range map[string]struct {
		change object
		want   map[string]string
	}{
		"over 100 %":       {object{"discountValue": "100.01"}, map[string]string{"discountValue": "too_large"}},
		"nothing off":      {object{"discountValue": "0"}, map[string]string{"discountValue": "too_small"}},
		"too fine":         {object{"discountType": "FIXED_AMOUNT", "discountValue": "1.005"}, map[string]string{"discountValue": "too_many_decimals"}},
		"no code, no name": {object{"code": "", "name": " "}, map[string]string{"code": "required", "name": "required"}},
		"long code":        {object{"code": strings.Repeat("X", 256)}, map[string]string{"code": "too_long"}},
		"unknown field":    {object{"usedCount": 3}, map[string]string{"usedCount": "unknown"}},
		"addresses": {
			object{"distribution": "USER_SPECIFIC", "allowedUserEmails": "ann@example.org, nobody\nben@example.org,@"},
			map[string]string{"allowedUserEmails[1]": "malformed", "allowedUserEmails[3]": "malformed"},
		},
		"no addresses":     {object{"distribution": "USER_SPECIFIC"}, map[string]string{"allowedUserEmails": "required"}},
		"no points":        {object{"distribution": "POINTS_REDEEMABLE"}, map[string]string{"pointsRequired": "required"}},
		"nothing selected": {object{"appliesTo": "SPECIFIC"}, map[string]string{"appliesTo": "required"}},
		"wrong selection":  {object{"appliesTo": "SUBSCRIPTION", "deviceIds": []string{"watch"}}, map[string]string{"deviceIds": "not_allowed"}},
		"limits":           {object{"maxUses": 0, "maxUsesPerUser": -1}, map[string]string{"maxUses": "too_small", "maxUsesPerUser": "too_small"}},
		"whole numbers":    {object{"maxUses": json.Number("1e400"), "maxUsesPerUser": json.Number("1.5")}, map[string]string{"maxUses": "too_large", "maxUsesPerUser": "malformed"}},
		"another kind":     {object{"discountType": "HALF"}, map[string]string{"discountType": "unknown"}},
		"rules too":        {object{"code": 5, "name": "", "discountValue": "1000"}, map[string]string{"code": "malformed", "name": "required", "discountValue": "too_large"}},
	} {
		a := admin.post("/admin/coupon", with(good, test.change))
		a.refused(http.StatusUnprocessableEntity, "invalid_input")
		if diff := cmp.Diff(test.want, a.fields()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	created := admin.creates(object{"code": "FIXED"})
	locked := admin.patch("/admin/coupon/"+created.text("id"), object{"code": "OTHER", "discountType": "FIXED_AMOUNT", "discountValue": "9"})
	locked.refused(http.StatusUnprocessableEntity, "invalid_input")
	want := map[string]string{"code": "immutable", "discountType": "immutable", "discountValue": "immutable"}
	if diff := cmp.Diff(want, locked.fields()); diff != "" {
		t.Errorf("locked (-want +got):\n%s", diff)
	}
	nothing := admin.patch("/admin/coupon/"+created.text("id")+"/status", object{}).refused(http.StatusUnprocessableEntity, "invalid_input")
	require.Equal(t, map[string]string{"active": "required"}, nothing.fields())
	other := admin.patch("/admin/coupon/"+created.text("id")+"/status", object{"on": true}).refused(http.StatusUnprocessableEntity, "invalid_input")
	require.Equal(t, map[string]string{"on": "unknown", "active": "required"}, other.fields())
}

// TestInvalidTerms is the table of package coupon: every field by its path, all at once, with the
// bound that was broken, where a coupon is created and where it is previewed.
func TestInvalidTerms(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	text, err := os.ReadFile("../../../../coupon/testdata/invalid_terms.json")
	require.NoError(t, err)
	var table []struct {
		Name   string
		Terms  object
		Faults map[string][2]string
	}
	require.NoError(t, json.Unmarshal(text, &table))
	require.NotEmpty(t, table)
	for _, c := range table {
		want := map[string]string{}
		for field, fault := range c.Faults {
			want[field] = fault[0]
		}
		for _, path := range []string{"/admin/coupon", "/admin/coupon/preview"} {
			a := admin.post(path, with(c.Terms, object{"code": "BAD", "name": "Bad"})).refused(http.StatusUnprocessableEntity, "invalid_input")
			if diff := cmp.Diff(want, a.fields()); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", path, c.Name, diff)
			}
			for _, f := range a.list("errors") {
				fault := f.(map[string]any)
				require.Contains(t, fault["message"], c.Faults[fault["field"].(string)][1], "%s: %s: %s", path, c.Name, fault["field"])
			}
		}
	}
}

// TestTheList: spec 4.1; contract section 8.
func TestTheList(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		admin := w.as(t, "admin")
		before := admin.get("/admin/coupon/all").is(http.StatusOK).number("total")
		for i := range 25 {
			w.clock.advance(time.Second)
			admin.creates(object{"code": fmt.Sprintf("PAGE-%02d", i), "name": "100% of_it", "description": "Für Ümit"})
		}
		codes := func(query string) []string {
			t.Helper()
			var found []string
			for _, item := range admin.get("/admin/coupon/all?" + query).is(http.StatusOK).list("items") {
				found = append(found, item.(map[string]any)["code"].(string))
			}
			return found
		}
		all := admin.get("/admin/coupon/all").is(http.StatusOK)
		require.Equal(t, before+25, all.number("total"))
		require.Len(t, all.list("items"), 20)
		require.Equal(t, 1, all.number("page"))
		require.Equal(t, 20, all.number("pageSize"))
		require.Equal(t, []string{"PAGE-24", "PAGE-23"}, codes("pageSize=2"))
		require.Equal(t, []string{"PAGE-22", "PAGE-21"}, codes("page=2&pageSize=2"))
		require.Equal(t, []string{"PAGE-00", "PAGE-01"}, codes("pageSize=2&search=page-&sort=code"))
		require.Equal(t, []string{"PAGE-24", "PAGE-23"}, codes("pageSize=2&search=page-&sort=code&order=desc"))
		require.Len(t, codes("pageSize=100&search="+url.QueryEscape("0% OF_")), 25)
		require.Empty(t, codes("search="+url.QueryEscape("0%of")), "a % means itself")
		require.Len(t, codes("pageSize=100&search="+url.QueryEscape("für ü")), 25)
		require.Empty(t, codes("page=3&pageSize=100"))
		for query, field := range map[string]string{
			"page=0": "page", "pageSize=101": "pageSize", "pageSize=x": "pageSize", "sort=colour": "sort", "order=up": "order", "q=1": "q", "page=1&page=2": "page",
			"search=100%": "", "page=2;pageSize=5": "",
		} {
			a := admin.get("/admin/coupon/all?"+query).refused(http.StatusUnprocessableEntity, "invalid_input")
			require.Contains(t, a.fields(), field)
		}
	})
}

// TestEveryColumnSorts: the admin table's headings, in both directions, over all
// pages.
func TestEveryColumnSorts(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		admin := w.as(t, "admin")
		admin.creates(object{"code": "DATED", "name": "aardvark", "expiresAt": "2027-03-01", "discountType": "FIXED_AMOUNT", "discountValue": "3.50"})
		// key puts what is compared in the order of its text; the empty text is last.
		keys := map[string]func(c object) string{
			"code": func(c object) string { return c["code"].(string) },
			"name": func(c object) string { return strings.ToLower(c["name"].(string)) },
			"used": func(c object) string { return fmt.Sprintf("%09.0f", c["usedCount"]) },
			"points": func(c object) string {
				points, _ := c["pointsRequired"].(float64)
				return fmt.Sprintf("%09.0f", points)
			},
			"expires": func(c object) string {
				if c["expiresAt"] == nil {
					return "never"
				}
				return c["expiresAt"].(string)
			},
			"createdAt": func(c object) string { return c["createdAt"].(string) },
		}
		for _, sort := range []string{"code", "name", "discount", "scope", "used", "points", "expires", "status", "createdAt"} {
			read := func(query string) []any {
				return admin.get("/admin/coupon/all?sort=" + sort + query).is(http.StatusOK).list("items")
			}
			for _, order := range []string{"asc", "desc"} {
				all := read("&pageSize=100&order=" + order)
				paged := append(read("&pageSize=10&order="+order), read("&pageSize=10&page=2&order="+order)...)
				if diff := cmp.Diff(all, paged); diff != "" {
					t.Errorf("%s %s: pages differ from the whole (-want +got):\n%s", sort, order, diff)
				}
				key, known := keys[sort]
				if !known {
					continue // sorted by rank, not by text
				}
				for i := 1; i < len(all); i++ {
					before, after := key(all[i-1].(object)), key(all[i].(object))
					if order == "asc" && before > after || order == "desc" && before < after {
						t.Errorf("%s %s: %q stands before %q", sort, order, before, after)
					}
				}
			}
		}
	})
}

// TestManyCoupons: up to a thousand are sorted as a whole; of more, only the page is,
// and the answer says so, also where the store stops counting.
func TestManyCoupons(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		create := func(n int) {
			_, err := w.Service.Create(t.Context(), coupon.Draft{
				Code: fmt.Sprintf("CROWD%d", n), Name: "Crowd", DiscountType: pricing.Percentage, Percent: "10",
			})
			require.NoError(t, err)
		}
		for n := range 1_000 {
			create(n)
		}
		admin := w.as(t, "admin")
		sorted := admin.get("/admin/coupon/all?search=crowd&sort=code&page=50").is(http.StatusOK)
		require.Equal(t, 1_000, sorted.number("total"))
		require.Equal(t, "all", sorted.value("sortedWithin"))
		require.Equal(t, false, sorted.value("atLeast"))
		create(1_000)
		paged := admin.get("/admin/coupon/all?search=crowd&sort=code").is(http.StatusOK)
		require.Equal(t, "page", paged.value("sortedWithin"))
		if counted := paged.number("total"); paged.value("atLeast") != (counted == 1_000) || counted < 1_000 || counted > 1_001 {
			t.Errorf("total %d, at least: %v", counted, paged.value("atLeast"))
		}
		last := admin.get("/admin/coupon/all?search=crowd&page=51").is(http.StatusOK)
		require.Equal(t, 1_001, last.number("total"))
		require.Equal(t, false, last.value("atLeast"))
	})
}

// TestTheAllowListIsWhole: whatever a call answers with of one coupon, its allow-list
// is a list and is the whole one.
func TestTheAllowListIsWhole(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		admin := w.as(t, "admin")
		want := []any{"ann@example.org", "zoe@example.org"}
		c := admin.creates(object{"code": "CLUB", "distribution": "USER_SPECIFIC", "allowedUserEmails": "ann@example.org,zoe@example.org"})
		at := "/admin/coupon/" + c.text("id")
		for name, a := range map[string]answer{
			"create": c, "get": admin.get(at), "status": admin.patch(at+"/status", object{"active": false}), "update": admin.patch(at, object{"name": "Members"}),
		} {
			require.Equal(t, want, a.list("allowedUserEmails"), name)
		}
		general := admin.creates(object{"code": "ALL"})
		require.Equal(t, []any{}, general.list("allowedUserEmails"), "nobody is listed")
	})
}

// TestAListShowsNoAddresses: an allow-list may have a hundred thousand addresses; a
// list tells how many, and the coupon itself has them.
func TestAListShowsNoAddresses(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	c := admin.creates(object{"code": "CLUB", "distribution": "USER_SPECIFIC", "allowedUserEmails": "Zoe@example.org\nyves@example.org"})
	listed := admin.get("/admin/coupon/all?search=club").is(http.StatusOK)
	require.Equal(t, 2, listed.number("items.0.allowedUserCount"))
	require.NotContains(t, string(listed.body), "@")
	require.Equal(t, []any{"zoe@example.org", "yves@example.org"}, admin.get("/admin/coupon/"+c.text("id")).list("allowedUserEmails"))
}

// TestAHundredThousandAddresses: contract section 4.4. It is not parallel: under the
// race detector the half second that it takes becomes several, and a request that has
// to share them with all other tests may not be answered within its time.
func TestAHundredThousandAddresses(t *testing.T) {
	w := newWorld(t, func(c *app.Config) { c.Store = app.Memory })
	admin := w.as(t, "admin")
	var text strings.Builder
	for i := range 99_999 {
		fmt.Fprintf(&text, "customer-%d@example.org\n", i)
	}
	text.WriteString("ann@example.org")
	admin.loose = true // half a second of schema for one answer
	admin.creates(object{"code": "MANY", "distribution": "USER_SPECIFIC", "allowedUserEmails": text.String()})
	w.as(t, "ann").get("/payment/apply-coupon/MANY").is(http.StatusOK)
	w.as(t, "ben").get("/payment/apply-coupon/MANY").refused(http.StatusNotFound, "coupon_not_found")
}

// TestTheRedemptionsOfACoupon: of a coupon that there is not they are 404, as the coupon
// itself is; those of one that was deleted are kept and shown (contract section 4.3).
func TestTheRedemptionsOfACoupon(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		admin, ann := w.as(t, "admin"), w.as(t, "ann")
		unused := "/admin/coupon/" + admin.creates(object{"code": "UNUSED"}).text("id")
		used := "/admin/coupon/" + admin.creates(object{"code": "USED"}).text("id")
		bought := ann.checkout(object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "USED"}).is(http.StatusCreated)
		ann.onPaymentPage(bought.text("url"), "later")
		ann.reaches(bought.text("orderId"), "awaiting_payment")
		require.Equal(t, true, admin.get(used+"/redemptions").value("items.0.awaitingPayment"))
		ann.onPaymentPage(bought.text("url"), "arrives")
		ann.reaches(bought.text("orderId"), "paid")
		for _, at := range []string{"/admin/coupon/cpn_none", "/admin/coupon/USED"} { // an ID, and no code
			admin.get(at+"/redemptions").refused(http.StatusNotFound, "coupon_not_found")
			admin.get(at+"/usage").refused(http.StatusNotFound, "coupon_not_found")
		}
		require.Empty(t, admin.get(unused+"/redemptions").is(http.StatusOK).list("items"))
		require.Len(t, admin.get(unused+"/usage?days=7").is(http.StatusOK).list("days"), 7)
		for _, at := range []string{unused, used} {
			admin.delete(at).is(http.StatusNoContent)
		}
		admin.get(unused+"/redemptions").refused(http.StatusNotFound, "coupon_not_found")
		admin.get(unused+"/usage").refused(http.StatusNotFound, "coupon_not_found")
		kept := admin.get(used + "/redemptions").is(http.StatusOK)
		require.Equal(t, 1, kept.number("total"))
		require.Equal(t, "ann@example.org", kept.text("items.0.customerEmail"))
		require.Equal(t, bought.text("sessionId"), kept.text("items.0.sessionId"))
		require.Equal(t, bought.text("orderId"), kept.text("items.0.orderId"))
		require.Equal(t, false, kept.value("items.0.awaitingPayment"))
		require.Equal(t, 1, admin.get(used+"/usage?days=1").is(http.StatusOK).number("days.0.completed"))
	})
}

// TestGeneratedCodesAreLongAndDiffer: a generator for codes that nobody guesses, and that
// are found as people misread them.
func TestGeneratedCodesAreLongAndDiffer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, ann := w.as(t, "admin"), w.as(t, "ann")
	misread := strings.NewReplacer("0", "o", "1", "l", "5", "s")
	seen := map[string]bool{}
	for range 8 {
		code := admin.post("/admin/coupon/generate-code", nil).is(http.StatusOK).text("code")
		if len(code) < 12 || seen[code] {
			t.Errorf("code %q", code)
		}
		seen[code] = true
	}
	for code := range seen {
		require.Equal(t, code, admin.creates(object{"code": code}).text("code"))
		require.Equal(t, code, ann.get("/payment/apply-coupon/"+misread.Replace(code)).is(http.StatusOK).text("code"))
		require.Equal(t, code, admin.get("/admin/coupon/"+misread.Replace(code)).is(http.StatusOK).text("code"))
	}
}

// TestTheCatalogueIsSearched: the pickers of the panel.
func TestTheCatalogueIsSearched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	found := admin.get("/admin/catalog/search?kind=device&q=PHONE").is(http.StatusOK)
	require.Len(t, found.list("items"), 2)
	require.Equal(t, "phone-s", found.text("items.0.id"))
	require.Empty(t, admin.get("/admin/catalog/search?kind=plan&q=phone").is(http.StatusOK).list("items"))
	for query, want := range map[string]string{"": "required", "?kind=": "required", "?kind=shipping": "unknown", "?kind=Plan": "unknown"} {
		a := admin.get("/admin/catalog/search"+query).refused(http.StatusUnprocessableEntity, "invalid_input")
		require.Equal(t, map[string]string{"kind": want}, a.fields(), query)
	}
	catalog := w.browser(t).get("/catalog").is(http.StatusOK)
	require.Equal(t, "€", catalog.text("currencySymbol"))
	for _, kind := range []string{"plans", "devices", "accessories", "shippingOptions"} {
		require.NotEmpty(t, catalog.list(kind))
	}
}

// TestAnUnreachableProcessorIs503: the change is taken back, and can be repeated.
func TestAnUnreachableProcessorIs503(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	c := admin.creates(object{"code": "STEADY"})
	at := "/admin/coupon/" + c.text("id")
	fake := w.Simulator.Fake()
	down := fake.Inject(fakeprocessor.Fault{Kind: fakeprocessor.LostBefore, Times: -1})
	for _, a := range []answer{
		admin.post("/admin/coupon", object{"code": "NEW", "name": "New", "discountType": "PERCENTAGE", "discountValue": "1"}),
		admin.patch(at+"/status", object{"active": false}),
		admin.patch(at, object{"name": "Other"}),
		w.as(t, "ann").get("/payment/apply-coupon/STEADY"),
	} {
		a.refused(http.StatusServiceUnavailable, "processor_unavailable")
		require.NotEmpty(t, a.header.Get("Retry-After"))
	}
	down.Remove()
	after := admin.get(at).is(http.StatusOK)
	require.Equal(t, true, after.value("active"))
	require.Equal(t, "Test", after.text("name"))
	admin.creates(object{"code": "NEW"})

	_, err := fake.PlantForeignCode("FOREIGN")
	require.NoError(t, err)
	admin.post("/admin/coupon", object{"code": "FOREIGN", "name": "F", "discountType": "PERCENTAGE", "discountValue": "1"}).
		refused(http.StatusConflict, "code_taken")
}

// TestAProcessorThatRefusesIs502: every call that asks the processor tells that it was
// refused, as with credentials that were withdrawn: asking again later is no help.
func TestAProcessorThatRefusesIs502(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, admin := w.as(t, "ann"), w.as(t, "admin")
	at := "/admin/coupon/" + admin.creates(object{"code": "STEADY"}).text("id")
	held := ann.post("/points/redeem/POINTS25", nil).is(http.StatusCreated)
	plan := object{"lines": []object{line("plan", "family", 1)}}
	ann.checkout(with(plan, object{"couponCode": "POINTS25"})).is(http.StatusCreated) // a session to be ended
	w.Simulator.Fake().Inject(fakeprocessor.Fault{Kind: fakeprocessor.Refuse, Err: processor.ErrForbidden, Times: -1})
	totals := object{"subtotal": "49.00", "discount": "0", "shipping": "0", "total": "49.00"}
	for _, a := range []answer{
		admin.post("/admin/coupon", object{"code": "ODD", "name": "Odd", "discountType": "PERCENTAGE", "discountValue": "1"}),
		admin.patch(at, object{"name": "Other"}),
		admin.patch(at+"/status", object{"active": false}),
		admin.delete(at),
		ann.get("/payment/apply-coupon/SUMMER10"),
		ann.post("/payment/quote", with(plan, object{"couponCode": "SUMMER10"})),
		ann.post("/payment/cart-checkout", with(plan, object{"expected": totals})),
		ann.post("/payment/payment-link", with(plan, object{"mode": "subscription"})),
		ann.post("/points/redeem/POINTS25", nil),
		ann.delete("/points/reservation/" + held.text("id")),
	} {
		a.refused(http.StatusBadGateway, "processor_refused")
		require.Empty(t, a.header.Get("Retry-After"))
	}
}

// TestAnEmptyShop: without -seed there are no users, so nobody can sign in.
func TestAnEmptyShop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, unseeded)
	w.browser(t).post("/login", object{"email": "admin@example.org", "password": "admin-demo-1"}).
		refused(http.StatusUnauthorized, "wrong_password")
	require.Empty(t, w.browser(t).get("/catalog").is(http.StatusOK).list("plans"))
}

// TestOddCodes: whatever a code may hold can be asked for in a path.
func TestOddCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, ann := w.as(t, "admin"), w.as(t, "ann")
	for typed, key := range map[string]string{"half/50%": "HALF/50%", "straße": "STRASSE", "ｆｕｌｌ": "FULL", "a?b#c": "A?B#C", "x+y&z": "X+Y&Z"} {
		require.Equal(t, key, admin.creates(object{"code": typed}).text("code"))
		require.Equal(t, key, ann.get("/payment/apply-coupon/"+url.PathEscape(typed)).is(http.StatusOK).text("code"))
	}
}

// TestWhoChangedWhatIsLogged: which administrator did what to which coupon, also where
// nobody knows what has become of it, and neither what was refused nor what was typed.
func TestWhoChangedWhatIsLogged(t *testing.T) {
	t.Parallel()
	var log records
	w := newWorld(t, func(c *app.Config) { c.Logger, c.Deliver = slog.New(slog.NewJSONHandler(&log, nil)), time.Hour })
	ada, mod := w.as(t, "admin"), w.as(t, "mod")
	id := ada.creates(object{"code": "HIDDEN-CODE", "allowedUserEmails": "hidden@example.org", "distribution": "USER_SPECIFIC"}).text("id")
	at := "/admin/coupon/" + id
	mod.patch(at, object{"name": "Hidden name"}).is(http.StatusOK)
	ada.patch(at+"/status", object{"active": false}).is(http.StatusOK)
	mod.patch(at+"/status", object{"active": true}).is(http.StatusOK)
	ada.post(at+"/codes", object{"batch": object{"id": "hidden"}, "codes": []object{{"code": "HIDDEN-TWO", "owner": "email:hidden@example.org"}}}).is(http.StatusCreated)
	mod.patch(at+"/codes/hidden-two", object{"owner": "id:hidden"}).is(http.StatusOK)
	ada.patch(at+"/codes/hidden-two", object{"maxUses": 0}).is(http.StatusUnprocessableEntity)
	ada.get(at).is(http.StatusOK)
	ada.patch(at, object{"name": ""}).is(http.StatusUnprocessableEntity)
	ada.delete("/admin/coupon/cpn_none").is(http.StatusNotFound)
	w.as(t, "ann").delete(at).is(http.StatusForbidden)
	down := w.Simulator.Fake().Inject(fakeprocessor.Fault{Kind: fakeprocessor.LostBefore, Times: -1})
	mod.delete(at).refused(http.StatusServiceUnavailable, "processor_unavailable")
	mod.post("/admin/coupon", object{"code": "HIDDEN-TOO", "name": "New", "discountType": "PERCENTAGE", "discountValue": 5}).
		refused(http.StatusServiceUnavailable, "processor_unavailable")
	down.Remove()
	ada.delete(at).is(http.StatusNoContent)

	type change struct{ Who, What, Coupon, Outcome string }
	var got []change
	for text := range strings.Lines(log.String()) {
		var record struct {
			Msg string
			change
		}
		require.NoError(t, json.Unmarshal([]byte(text), &record), text)
		if record.Msg == "an administrator's change of a coupon" {
			got = append(got, record.change)
			require.NotContains(t, strings.ToLower(text), "hidden")
		}
	}
	want := []change{
		{"usr_admin", "create", id, "done"},
		{"usr_mod", "update", id, "done"},
		{"usr_admin", "switch off", id, "done"},
		{"usr_mod", "switch on", id, "done"},
		{"usr_admin", "add codes", id, "done"},
		{"usr_mod", "change a code", id, "done"},
		{"usr_mod", "delete", id, "processor_unavailable"},
		{"usr_mod", "create", "", "processor_unavailable"},
		{"usr_admin", "delete", id, "done"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheJournalNamesTheAdministrator: what the panel changes is recorded with the administrator's
// ID.
func TestTheJournalNamesTheAdministrator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.as(t, "admin").creates(object{"code": "NEW"})
	entries, err := w.Service.Journal(t.Context(), 0, store.MaxJournalLimit)
	require.NoError(t, err)
	var admins []string
	for _, e := range entries {
		if e.Kind == store.CouponCreated {
			admins = append(admins, e.By)
		}
	}
	require.NotEmpty(t, admins)
	require.NotEmpty(t, admins[len(admins)-1])
}
