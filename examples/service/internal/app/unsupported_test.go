package app_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// tiers is 5 % off two devices and 15 % off three. Such a discount has no discountValue.
func tiers(code string) object {
	return object{
		"code": code, "name": "Tiers", "discountType": "TIERED", "appliesTo": "PRODUCT", "maxUsesPerUser": nil,
		"tierBasis": "QUANTITY", "tiers": []object{{"from": 2, "percent": "5"}, {"from": 3, "percent": "15"}},
	}
}

// TestADiscountThatTheProcessorCannotExpress: the coupon is active without a mirror, its JSON says
// so, and it can be bought with. Every answer of the test is held to the OpenAPI document.
func TestADiscountThatTheProcessorCannotExpress(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		ann, admin := w.as(t, "ann"), w.as(t, "admin")
		objects := len(w.Simulator.Fake().Coupons())
		created := admin.post("/admin/coupon", tiers("TIERS")).is(http.StatusCreated)
		at := "/admin/coupon/" + created.text("id")
		for _, shown := range []answer{
			created, admin.get(at).is(http.StatusOK), admin.patch(at, object{"name": "Three"}).is(http.StatusOK),
			admin.patch(at+"/status", object{"active": true}).is(http.StatusOK),
		} {
			require.Equal(t, true, shown.value("mirrorUnsupported"))
			require.Equal(t, true, shown.value("active"))
			require.Empty(t, shown.text("processorCouponId"))
			require.NotContains(t, string(shown.body), "discountValue")
		}
		listed := admin.get("/admin/coupon/all?search=TIERS").is(http.StatusOK)
		require.Equal(t, true, listed.value("items.0.mirrorUnsupported"))
		require.Len(t, w.Simulator.Fake().Coupons(), objects)
		require.NotContains(t, string(admin.creates(object{"code": "SIMPLE"}).body), "mirrorUnsupported")

		require.NotContains(t, string(ann.get("/payment/apply-coupon/TIERS").is(http.StatusOK).body), "discountValue")
		cart := object{
			"lines":            []object{line("accessory", "charger", 3)},
			"shippingOptionId": "express", "couponCode": "TIERS",
		}
		bought := ann.checkout(cart).is(http.StatusCreated)
		require.Equal(t, "17.96", bought.text("quote.discount")) // 15 % of 119.70
		ann.pays(bought)
		order := ann.get("/order/" + bought.text("orderId")).is(http.StatusOK)
		require.Equal(t, "TIERED", order.text("coupon.discountType"))
		require.Equal(t, 1, admin.get(at).number("usedCount"))

		cart["lines"] = []object{line("accessory", "charger", 1)}
		short := ann.checkout(cart)
		short.refused(http.StatusUnprocessableEntity, "minimum_quantity_not_met")
		require.Equal(t, 1, short.number("params.missingQuantity"))
		admin.delete(at).is(http.StatusNoContent)
	})
}

// TestTheDocumentKnowsWhichDiscountsHaveAValue: all but the tiered ones.
func TestTheDocumentKnowsWhichDiscountsHaveAValue(t *testing.T) {
	t.Parallel()
	d, err := described()
	require.NoError(t, err)
	value := object{"code": "TEN", "name": "Ten", "discountType": "PERCENTAGE", "discountValue": "10"}
	without := maps.Clone(value)
	delete(without, "discountValue")
	for name, test := range map[string]struct {
		draft object
		valid bool
	}{
		"a percentage": {value, true}, "a percentage without a value": {without, false}, "tiers": {tiers("TIERS"), true},
		"neither type nor value": {object{"code": "TEN", "name": "Ten"}, false},
	} {
		text, err := json.Marshal(test.draft)
		require.NoError(t, err)
		if err := d.valid([]string{"components", "schemas", "CouponDraft"}, text); (err == nil) != test.valid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, schema := range []string{"Discount", "Coupon", "ListedCoupon", "Snapshot", "AppliedCoupon"} {
		for kind, valid := range map[string]bool{"TIERED": true, "CHEAPEST_UNITS": false} {
			err := d.valid([]string{"components", "schemas", schema, "else"}, []byte(`{"discountType":"`+kind+`"}`))
			require.Error(t, err, schema)
			err = d.valid([]string{"components", "schemas", schema, "if"}, []byte(`{"discountType":"`+kind+`"}`))
			require.Equal(t, valid, err == nil, "%s of type %s", schema, kind)
		}
	}
}
