package app_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// sends sends a form as a browser without scripts does.
func (b *browser) sends(path string, form url.Values) answer {
	b.t.Helper()
	loose := *b
	loose.loose, loose.csrf = true, ""
	loose.header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	return loose.do("POST", path, form.Encode())
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// couponPage opens the form of a type and returns its fields, filled in.
func (b *browser) couponPage(kind string, fields map[string]string) (path string, form url.Values) {
	b.t.Helper()
	path = "/admin/coupons/new?type=" + kind
	loose := *b
	loose.loose = true
	page := string(loose.get(path).is(http.StatusOK).body)
	token := csrfField.FindStringSubmatch(page)
	require.NotEmpty(b.t, token, page)
	form = url.Values{"csrf": {html.UnescapeString(token[1])}, "discountType": {kind}, "maxUsesPerUser": {"1"}, "currency": {"EUR"}}
	for name, value := range fields {
		require.Contains(b.t, page, `name="`+name+`"`)
		form.Set(name, value)
	}
	return path, form
}

// TestACouponIsCreatedWithoutScripts: issue 41; the type is chosen first, then every term of it.
func TestACouponIsCreatedWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	admin.loose = true
	types := string(admin.get("/admin/coupons/new").is(http.StatusOK).body)
	for _, kind := range []string{"PERCENTAGE", "FIXED_AMOUNT", "FIXED_AMOUNT_PER_UNIT", "FIXED_UNIT_PRICE", "CHEAPEST_UNITS", "BUY_X_GET_Y", "TIERED"} {
		require.Contains(t, types, `href="/admin/coupons/new?type=`+kind+`"`)
	}
	require.Contains(t, string(admin.get("/admin/coupons/new?type=NONE").is(http.StatusOK).body), "type=TIERED")

	path, form := admin.couponPage("TIERED", map[string]string{
		"code": "steps", "name": "Steps", "tierBasis": "AMOUNT", "tiers[0].from": "50", "tiers[0].percent": "5", "tiers[2].from": "100", "tiers[2].amount": "15",
		"maxDiscount": "12", "appliesTo": "SPECIFIC", "planIds": "plus\r\nbasic\r\n", "kinds": "plan", "customerTags.any": "customer\r\nvip", "firstOrder": "true",
		"schedule.timeZone": "Europe/Berlin", "schedule.hours[0].day": "MONDAY", "schedule.hours[0].from": "09:00", "schedule.hours[0].until": "24:00",
		"periodLimits[0].per": "CUSTOMER", "periodLimits[0].period": "DAY", "periodLimits[0].maxUses": "3", "periodLimits[0].timeZone": "UTC", "periodLimits[1].timeZone": "UTC",
		"budget": "EUR 500\r\nUSD 600", "minPurchase": "10", "minPurchases": "USD 11", "minQuantity": "2", "group": "spring", "maxUses": "9", "maxUsesPerUser": "",
		"startsAt": "2027-01-01", "expiresAt": "2027-12-31", "description": "By hand",
	})
	require.NotContains(t, form, "discountValue")
	require.Equal(t, "/admin/coupons?search=STEPS", admin.sends(path, form).is(http.StatusSeeOther).header.Get("Location"))
	want := `{"code":"STEPS","name":"Steps","discountType":"TIERED","tierBasis":"AMOUNT","tiers":[{"from":"50","percent":"5"},{"from":"100","amount":"15"}],
		"maxDiscount":"12","appliesTo":"SPECIFIC","planIds":["basic","plus"],"kinds":["plan"],"customerTags":{"any":["customer","vip"]},"firstOrder":true,
		"schedule":{"timeZone":"Europe/Berlin","hours":[{"day":"MONDAY","from":"09:00","until":"24:00"}]},
		"periodLimits":[{"per":"CUSTOMER","period":"DAY","timeZone":"UTC","maxUses":3}],"budget":{"EUR":"500","USD":"600"},"minPurchase":"10","minPurchases":{"USD":"11"},
		"minQuantity":2,"group":"spring","maxUses":9,"maxUsesPerUser":null,"startsAt":"2027-01-01","expiresAt":"2027-12-31","description":"By hand","currency":"EUR"}`
	strict := w.as(t, "admin")
	byForm := strict.get("/admin/coupon/STEPS").is(http.StatusOK)
	strict.delete("/admin/coupon/" + byForm.text("id")).is(http.StatusNoContent)
	byAPI := strict.post("/admin/coupon", want).is(http.StatusCreated)
	for _, field := range []string{
		"discountType", "tierBasis", "tiers", "maxDiscount", "appliesTo", "kinds", "customerTags", "firstOrder", "schedule", "periodLimits",
		"budget", "minPurchase", "minPurchases", "minQuantity", "group", "maxUses", "maxUsesPerUser", "startsAt", "expiresAt", "description",
	} {
		require.Equal(t, byAPI.value(field), byForm.value(field), field)
	}
	require.ElementsMatch(t, byAPI.list("planIds"), byForm.list("planIds"))
}

// TestAFormWithoutScriptsShowsItsFaults: each at its field, beside what was entered.
func TestAFormWithoutScriptsShowsItsFaults(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	path, form := admin.couponPage("BUY_X_GET_Y", map[string]string{
		"code": "summer10", "name": "<b>Bold</b>", "discountValue": "50", "buyQuantity": "two", "getQuantity": "1", "maxDiscounts": "XXX 5", "group": "kept",
		"buys.appliesTo": "SPECIFIC", "planIds": "gone", "appliesTo": "SUBSCRIPTION", "schedule.hours[0].day": "MONDAY",
	})
	form.Set("surprise", "1")
	page := string(admin.sends(path, form).is(http.StatusUnprocessableEntity).body)
	for _, shown := range []string{
		`id="error-buyQuantity"`, `id="error-maxDiscounts">XXX: `, `aria-describedby="error-buyQuantity f-buy-hint" aria-invalid="true"`, `value="two"`, `value="kept"`,
		`id="error-planIds">Entry 1: `, `value="&lt;b&gt;Bold&lt;/b&gt;"`, `<option value="MONDAY" selected>`, `surprise: `, `<details open>`,
		`id="error-schedule.hours[0].from"`,
	} {
		require.Contains(t, page, shown)
	}
	require.NotContains(t, page, "<b>Bold")
	for _, name := range []string{"buyQuantity", "maxDiscounts", "planIds", "surprise", "schedule.hours[0].day", "buys.appliesTo"} {
		form.Del(name)
	}
	form.Set("buyQuantity", "2")
	form.Set("appliesTo", "ALL")
	taken := string(admin.sends(path, form).is(http.StatusConflict).body)
	require.Contains(t, taken, `id="error-code">A coupon with this code exists already.`)
}

// TestAFormWithoutScriptsIsForAdministrators: with the token of their session.
func TestAFormWithoutScriptsIsForAdministrators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, ann, nobody := w.as(t, "admin"), w.as(t, "ann"), w.browser(t)
	path, form := admin.couponPage("PERCENTAGE", map[string]string{"code": "MINE", "name": "Mine", "discountValue": "10"})
	require.Equal(t, "/login?next=%2Fadmin%2Fcoupons%2Fnew", nobody.sends(path, form).is(http.StatusSeeOther).header.Get("Location"))
	ann.sends(path, form).page(http.StatusForbidden, "Administrators only")
	for _, token := range []string{"", "another"} {
		form.Set("csrf", token)
		require.Contains(t, string(admin.sends(path, form).is(http.StatusForbidden).body), "The coupon was not created.")
	}
	require.Equal(t, 0, admin.get("/admin/coupon/all?search=mine").number("total"))
}
