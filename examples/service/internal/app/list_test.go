package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/app"
)

// codes returns the codes of a list of coupons.
func (b *browser) codes(query string) []string {
	b.t.Helper()
	found := []string{}
	for _, item := range b.get("/admin/coupon/all?" + query).is(http.StatusOK).list("items") {
		found = append(found, item.(map[string]any)["code"].(string))
	}
	return found
}

// A coupon is found by the last day on which it is valid, in the time zone of the shop.
func TestACouponIsFoundByItsLastDay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Los_Angeles", "Pacific/Auckland"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(name)
			require.NoError(t, err)
			admin := newWorld(t, func(c *app.Config) { c.Location = zone }).as(t, "admin")
			made := admin.creates(object{"code": "LASTDAY", "startsAt": "2026-12-01", "expiresAt": "2026-12-31"})
			midnight := time.Date(2027, 1, 1, 0, 0, 0, 0, zone)
			require.Equal(t, midnight.UTC().Format(time.RFC3339), made.text("expiresAt"))
			admin.creates(object{"code": "LASTNOON", "expiresAt": midnight.Add(-12 * time.Hour).Format(time.RFC3339)})
			for query, want := range map[string][]string{
				"expiresUntil=2026-12-31":                                       {"LASTNOON", "LASTDAY"},
				"expiresFrom=2026-12-31":                                        {"LASTNOON", "LASTDAY"},
				"expiresFrom=2026-12-31&expiresUntil=2026-12-31":                {"LASTNOON", "LASTDAY"},
				"expiresFrom=2027-01-01":                                        {},
				"expiresUntil=2026-12-30":                                       {},
				"startsFrom=2026-12-01&startsUntil=2026-12-01":                  {"LASTDAY"},
				"startsUntil=2026-11-30":                                        {},
				"expiresUntil=" + midnight.UTC().Format("2006-01-02T15:04:05Z"): {"LASTNOON"},
				"expiresFrom=" + midnight.UTC().Format("2006-01-02T15:04:05Z"):  {"LASTDAY"},
			} {
				require.ElementsMatch(t, want, admin.codes("search=LAST&"+query+"&pageSize=50"), query)
			}
		})
	}
}

// The list of what can be used now leaves out what customers cannot use, and counts the rest.
func TestCouponsThatCanBeUsedNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, ann := w.as(t, "admin"), w.as(t, "ann")
	for code, terms := range map[string]object{
		"NOW-PLAIN": {}, "NOW-OFF": {}, "NOW-LATER": {"startsAt": "2026-12-01"}, "NOW-ENDS": {"expiresAt": "2026-11-20T13:00:00Z"}, "NOW-ONCE": {"maxUses": 1},
		"NOW-SPENT": {"discountType": "FIXED_AMOUNT", "discountValue": "5", "budget": object{"EUR": "5"}},
		"NOW-SOME":  {"discountType": "FIXED_AMOUNT", "discountValue": object{"EUR": "5", "USD": "5"}, "budget": object{"EUR": "5", "USD": "50"}},
		"NOW-LEFT":  {"discountType": "FIXED_AMOUNT", "discountValue": "5", "budget": object{"EUR": "9"}},
	} {
		admin.creates(with(object{"code": code}, terms))
	}
	all := []string{"NOW-PLAIN", "NOW-OFF", "NOW-ENDS", "NOW-ONCE", "NOW-SPENT", "NOW-SOME", "NOW-LEFT"}
	require.ElementsMatch(t, all, admin.codes("search=NOW-&usable=true"))
	admin.patch("/admin/coupon/"+admin.get("/admin/coupon/NOW-OFF").text("id")+"/status", object{"active": false}).is(http.StatusOK)
	for _, code := range []string{"NOW-ONCE", "NOW-SPENT", "NOW-SOME", "NOW-LEFT"} {
		ann.pays(ann.checkout(object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup", "couponCode": code}).is(http.StatusCreated))
	}
	w.clock.advance(time.Hour)
	require.ElementsMatch(t, []string{"NOW-PLAIN", "NOW-SOME", "NOW-LEFT"}, admin.codes("search=NOW-&usable=true"))
	page := admin.get("/admin/coupon/all?search=NOW-&usable=true&sort=code&pageSize=2&page=2").is(http.StatusOK)
	require.Equal(t, []any{3, "NOW-SOME", "all", false}, []any{page.number("total"), page.text("items.0.code"), page.text("sortedWithin"), page.value("atLeast")})
	require.Empty(t, admin.codes("usable=true&state=inactive"))
	require.Equal(t, []string{"NOW-LEFT"}, admin.codes("search=left&usable=true&type=FIXED_AMOUNT"))
	admin.get("/admin/coupon/all?usable=1").refused(http.StatusUnprocessableEntity, "invalid_input")
}

// The usage of a coupon, and the list, tell its budgets, what is spent of each and what is left.
func TestTheUsageTellsWhatIsSpentOfABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, ann := w.as(t, "admin"), w.as(t, "ann")
	id := admin.creates(object{"code": "SPEND", "discountType": "FIXED_AMOUNT", "discountValue": object{"EUR": "5", "USD": "6"}, "budget": object{"EUR": "20", "USD": "24"}}).text("id")
	ann.pays(ann.checkout(object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup", "couponCode": "SPEND"}).is(http.StatusCreated))
	usage := admin.get("/admin/coupon/" + id + "/usage").is(http.StatusOK)
	require.Equal(t, []any{
		object{"currency": "EUR", "amount": "20.00", "spent": "5.00", "left": "15.00"}, object{"currency": "USD", "amount": "24.00", "spent": "0.00", "left": "24.00"},
	}, usage.list("budgets"))
	listed := admin.get("/admin/coupon/all?search=spend").is(http.StatusOK)
	require.Equal(t, usage.list("budgets"), listed.list("items.0.budgets"))
	require.NotContains(t, string(admin.get("/admin/coupon/all?search=summer10").is(http.StatusOK).body), "budgets")
	plain := admin.get("/admin/coupon/" + admin.get("/admin/coupon/SUMMER10").text("id") + "/usage").is(http.StatusOK)
	require.Empty(t, plain.list("budgets"))
	admin.delete("/admin/coupon/" + id).is(http.StatusNoContent)
	require.Empty(t, admin.get("/admin/coupon/"+id+"/usage").is(http.StatusOK).list("budgets"))
}

// A quote tells the terms of the coupons that apply, and of no other.
func TestAQuoteTellsTheTermsOfItsCoupons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.combinable(t)
	admin := w.as(t, "admin")
	admin.creates(object{"code": "BIG", "group": "big", "minPurchase": "5000"})
	admin.creates(object{"code": "FOUR", "group": "four", "discountType": "FIXED_AMOUNT_PER_UNIT", "discountValue": "1", "maxUnits": 4})
	quote := w.as(t, "ann").post("/payment/quote", object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup", "codes": []string{"FOUR", "BIG", "HELLO"}}).is(http.StatusOK)
	terms := map[string]any{}
	for _, each := range quote.list("coupons") {
		code := each.(map[string]any)
		terms[code["code"].(string)] = code["terms"]
	}
	require.Nil(t, terms["BIG"])
	require.Equal(t, "HELLO", terms["HELLO"].(map[string]any)["code"])
	require.EqualValues(t, 4, terms["FOUR"].(map[string]any)["maxUnits"])
}
