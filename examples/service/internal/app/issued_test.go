package app_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
)

// TestCodesOfACoupon: administrators read the codes of a coupon, narrowed and by pages.
func TestCodesOfACoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	id := admin.creates(object{"code": "PLAIN"}).text("id")
	_, err := w.Service.AddCodes(t.Context(), id, coupon.Batch{ID: "spring"}, []coupon.CodeDraft{
		{Code: "ONE", Owner: coupon.OwnerEmail("ann@example.org"), MaxUses: coupon.Set(1)}, {Code: "TWO"},
	})
	require.NoError(t, err)
	_, err = w.Service.UpdateCode(t.Context(), "two", coupon.CodePatch{Active: coupon.Set(false)})
	require.NoError(t, err)
	path := "/admin/coupon/" + id + "/codes"
	keys := func(query string) (keys []string) {
		for _, item := range admin.get(path + query).is(http.StatusOK).list("items") {
			keys = append(keys, item.(map[string]any)["code"].(string))
		}
		return keys
	}
	require.Equal(t, []string{"ONE", "PLAIN", "TWO"}, keys(""))
	require.Equal(t, []string{"ONE", "TWO"}, keys("?batch=spring&unused=true"))
	require.Equal(t, []string{"ONE"}, keys("?owner=email:ann@example.org"))
	require.Equal(t, []string{"TWO"}, keys("?state=inactive"))
	first := admin.get(path + "?pageSize=1").is(http.StatusOK)
	require.Equal(t, "ONE", first.text("next"))
	require.Equal(t, "email:ann@example.org", first.text("items.0.owner"))
	require.Equal(t, []string{"PLAIN", "TWO"}, keys("?after=ONE"))
	admin.get("/admin/coupon/cpn_none/codes").refused(http.StatusNotFound, "coupon_not_found")
	admin.get(path + "?state=pending").is(http.StatusUnprocessableEntity)
	admin.get(path + "?unused=perhaps").is(http.StatusUnprocessableEntity)
	w.as(t, "ann").get(path).is(http.StatusForbidden)
	require.Equal(t, "code_changed", admin.get("/admin/coupon/"+id+"/history").is(http.StatusOK).text("items.0.kind"))
}

// TestACouponWithoutACode: a request that leaves the code out is refused, unless it says that the coupon
// has none. Customers come by the codes of batches alone.
func TestACouponWithoutACode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, ann := w.as(t, "admin"), w.as(t, "ann")
	draft := object{"name": "For members", "discountType": "PERCENTAGE", "discountValue": "10"}
	for _, forgotten := range []object{draft, with(draft, object{"code": ""}), with(draft, object{"code": nil}), with(draft, object{"withoutCode": false})} {
		a := admin.post("/admin/coupon", forgotten).refused(http.StatusUnprocessableEntity, "invalid_input")
		require.Equal(t, map[string]string{"code": "required"}, a.fields())
	}
	a := admin.post("/admin/coupon", with(draft, object{"code": "TEN", "withoutCode": true})).refused(http.StatusUnprocessableEntity, "invalid_input")
	require.Equal(t, map[string]string{"withoutCode": "not_allowed"}, a.fields())
	admin.post("/admin/coupon/preview", draft).is(http.StatusOK)
	admin.post("/admin/coupon/preview", with(draft, object{"withoutCode": true})).is(http.StatusOK)

	made := admin.post("/admin/coupon", with(draft, object{"withoutCode": true})).is(http.StatusCreated)
	id := made.text("id")
	require.NotContains(t, string(made.body), `"code"`)
	listed := admin.get("/admin/coupon/all?search=members").is(http.StatusOK)
	require.Equal(t, id, listed.text("items.0.id"))
	require.Equal(t, id, admin.get("/admin/coupon/"+id).is(http.StatusOK).text("id"))
	admin.patch("/admin/coupon/"+id, object{"name": "For friends"}).is(http.StatusOK)
	require.Empty(t, admin.get("/admin/coupon/"+id+"/codes").is(http.StatusOK).list("items"))
	_, err := w.Service.AddCodes(t.Context(), id, coupon.Batch{ID: "spring"}, []coupon.CodeDraft{{Code: "MINE"}})
	require.NoError(t, err)
	cart := object{"lines": []object{line("plan", "basic", 1)}}
	require.Equal(t, "MINE", ann.post("/payment/quote", with(cart, object{"couponCode": "mine"})).is(http.StatusOK).text("coupon.code"))
	ann.checkout(with(cart, object{"couponCode": id})).refused(http.StatusNotFound, "coupon_not_found")
	ann.checkout(with(cart, object{"couponCode": "mine"})).is(http.StatusCreated)
}
