package app_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestADraftIsPricedOnASampleCart: one draft of each type.
func TestADraftIsPricedOnASampleCart(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	// The sample cart has 1 Basic at 9.99, 2 Phone S at 349.00, 2 cases at 24.90, 2 chargers at
	// 39.90 and standard delivery at 4.90.
	for name, test := range map[string]struct {
		draft    object
		discount string
	}{
		"percentage":      {object{"discountType": "PERCENTAGE", "discountValue": "10", "maxDiscount": "50"}, "50.00"},
		"fixed amount":    {object{"discountType": "FIXED_AMOUNT", "discountValue": object{"EUR": "15", "USD": "16"}}, "15.00"},
		"per unit":        {object{"discountType": "FIXED_AMOUNT_PER_UNIT", "discountValue": "2", "appliesTo": "PRODUCT", "maxUnits": 3}, "6.00"},
		"unit price":      {object{"discountType": "FIXED_UNIT_PRICE", "discountValue": "20", "appliesTo": "SPECIFIC", "accessoryIds": []string{"case"}}, "9.80"},
		"cheapest units":  {object{"discountType": "CHEAPEST_UNITS", "discountValue": "50", "units": 2, "appliesTo": "PRODUCT"}, "24.90"},
		"buy and get":     {object{"discountType": "BUY_X_GET_Y", "discountValue": "100", "buyQuantity": 1, "getQuantity": 1, "kinds": []string{"accessory"}, "buys": object{"appliesTo": "PRODUCT", "kinds": []string{"device"}}}, "49.80"},
		"tiers":           {object{"discountType": "TIERED", "tierBasis": "AMOUNT", "tiers": []object{{"from": "100", "percent": "1"}, {"from": "500", "amount": "30"}}}, "30.00"},
		"other customers": {object{"discountType": "FIXED_AMOUNT", "discountValue": "5", "customerTags": object{"any": []string{"vip"}}, "firstOrder": true}, "5.00"},
		"for points":      {object{"discountType": "FIXED_AMOUNT", "discountValue": "5", "distribution": "POINTS_REDEEMABLE", "pointsRequired": 10}, "5.00"},
	} {
		a := admin.post("/admin/coupon/preview", test.draft).is(http.StatusOK)
		require.Equal(t, test.discount, a.text("quote.discount"), name)
		require.Empty(t, a.list("rejections"), name)
		require.Equal(t, "Basic", a.text("names.0.name"), name)
	}
	units := admin.post("/admin/coupon/preview?units=5", object{"discountType": "PERCENTAGE", "discountValue": "10"}).is(http.StatusOK)
	require.Equal(t, 5, units.number("quote.lines.1.quantity"))
	list := admin.get("/admin/coupon/all?search=preview").is(http.StatusOK)
	require.Zero(t, list.number("total"))
}

// TestAPreviewHasTheSelectedItems: the sample cart follows the scope, and the time the schedule.
func TestAPreviewHasTheSelectedItems(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin") // it is Friday noon
	a := admin.post("/admin/coupon/preview", object{
		"discountType": "FIXED_AMOUNT", "discountValue": "5", "appliesTo": "SPECIFIC", "planIds": []string{"family", "plus-yearly"}, "deviceIds": []string{"watch"},
		"schedule": object{"timeZone": "Europe/Berlin", "hours": []object{{"day": "MONDAY", "from": "09:00", "until": "10:00"}}},
	}).is(http.StatusOK)
	require.Equal(t, "5.00", a.text("quote.discount"))
	require.Equal(t, "2026-11-23T08:00:00Z", a.text("at"))
	for i, name := range []string{"Family", "Plus, yearly", "Watch", "Case"} {
		require.Equal(t, name, a.value("names").([]any)[i].(object)["name"])
	}
	later := admin.post("/admin/coupon/preview", object{"discountType": "PERCENTAGE", "discountValue": "5", "startsAt": "2027-01-01"}).is(http.StatusOK)
	require.Equal(t, "2027-01-01T00:00:00Z", later.text("at"))
	require.Empty(t, later.list("rejections"))
}

// The sample cart has what it must contain, and nothing that it must not. It is bought in this shop, for a
// country of the coupon.
func TestASampleCartMeetsTheConditionsOfTheCart(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	a := admin.post("/admin/coupon/preview", object{
		"discountType": "PERCENTAGE", "discountValue": "10", "appliesTo": "PRODUCT", "deviceIds": []string{"watch"}, "channels": []string{"web"}, "countries": []string{"AT"},
		"contains": object{"appliesTo": "SPECIFIC", "planIds": []string{"family"}}, "containsNot": object{"kinds": []string{"accessory"}},
	}).is(http.StatusOK)
	require.Empty(t, a.list("rejections"))
	require.NotEqual(t, "0.00", a.text("quote.discount"))
}

// TestAPreviewSaysWhyACouponIsRefused: rejections have sentences with their facts.
func TestAPreviewSaysWhyACouponIsRefused(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	for _, test := range []struct {
		draft             object
		code, explanation string
	}{
		{object{"discountValue": "10", "minPurchase": "5000"}, "minimum_purchase_not_met", "5000.00 EUR"},
		{object{"discountValue": "10", "minQuantity": 50}, "minimum_quantity_not_met", "50 units; 43 are missing"},
		{object{"discountValue": "10", "maxPurchase": "20"}, "maximum_purchase_exceeded", "at most 20.00 EUR"},
		{object{"discountValue": "10", "maxQuantity": 6}, "maximum_quantity_exceeded", "at most 6 units; 1 are too many"},
		{object{"discountValue": "10", "contains": object{"kinds": []string{"device"}, "quantity": 5}}, "required_items_missing", "5 units of certain items in the cart; 3 are missing"},
		{object{"discountValue": "10", "contains": object{"minPurchase": "5000"}}, "required_items_missing", "certain items for 5000.00 EUR in the cart; "},
		{object{"discountValue": "10", "channels": []string{"store"}}, "channel_not_allowed", "not valid in this shop"},
		{object{"discountValue": "10", "categories": []string{"books"}}, "no_eligible_items", "Nothing in the cart"},
		{object{"discountType": "FIXED_AMOUNT", "discountValue": "10", "currency": "USD"}, "currency_mismatch", "USD"},
	} {
		a := admin.post("/admin/coupon/preview", with(object{"discountType": "PERCENTAGE"}, test.draft)).is(http.StatusOK)
		require.Equal(t, test.code, a.text("rejections.0.code"))
		require.Contains(t, a.text("explanations.0"), test.explanation)
		require.Equal(t, "0.00", a.text("quote.discount"))
	}
}

// TestAPreviewNamesFaults: with the fields and codes of a creation, but without code and name.
func TestAPreviewNamesFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	for _, test := range []struct {
		draft object
		want  map[string]string
	}{
		{object{}, map[string]string{"discountType": "required", "discountValue": "required"}},
		{object{"discountType": "BUY_X_GET_Y", "discountValue": "50"}, map[string]string{"buyQuantity": "required", "getQuantity": "required"}},
		{object{"discountType": "TIERED", "tierBasis": "AMOUNT", "tiers": []object{{"from": "10", "percent": "5"}, {"from": "5", "percent": "10"}}}, map[string]string{"tiers[1].from": "mismatch"}},
		{object{"discountType": "PERCENTAGE", "discountValue": "much"}, map[string]string{"discountValue": "malformed"}},
		{object{"discountType": "PERCENTAGE", "discountValue": "5", "appliesTo": "SPECIFIC", "planIds": []string{"gone"}}, map[string]string{"planIds[0]": "unknown"}},
		{object{"discountType": "PERCENTAGE", "discountValue": "5", "code": "with space"}, map[string]string{"code": "malformed"}},
	} {
		a := admin.post("/admin/coupon/preview", test.draft).refused(http.StatusUnprocessableEntity, "invalid_input")
		if diff := cmp.Diff(test.want, a.fields()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.draft, diff)
		}
	}
	good := object{"discountType": "PERCENTAGE", "discountValue": "5"}
	for _, units := range []string{"0", "100", "x"} {
		admin.post("/admin/coupon/preview?units="+units, good).refused(http.StatusUnprocessableEntity, "invalid_input")
	}
	w.as(t, "ann").post("/admin/coupon/preview", good).refused(http.StatusForbidden, "administrator_required")
	w.browser(t).post("/admin/coupon/preview", good).refused(http.StatusUnauthorized, "user_required")
}
