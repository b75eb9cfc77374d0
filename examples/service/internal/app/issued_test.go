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
